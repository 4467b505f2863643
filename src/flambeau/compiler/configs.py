"""The configurations of compilation, with ExecuTorch's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

from flambeau.dialects.schema.operators import check_operator_name
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.pipelines import planner_pass
from flambeau.runtime.emit import ExternalConstants, ExternalFile, all_external
from flambeau.support.executorch_names import explains_arguments, instead_of_object
from flambeau.support.tables import hint

if TYPE_CHECKING:
    from torch._ops import OpOverload, OpOverloadPacket

_OWN_PLANNER = '@flambeau.planner("name") above a function gives one of your own a name'


@explains_arguments
@dataclass(frozen=True)
class EdgeCompileConfig:
    """The options for reaching the edge level.

    Attributes:
        target: the target, whose operators the program may use. `executorch`, the default, has the operators of stock ExecuTorch.
        preserve_ops: operators to keep whole although they are not Core ATen, such as `hardswish` or `torch.ops.aten.hardswish.default`.
        bounds: the greatest values of dynamic sizes that the export left unbounded, by the names of their `Dim`s: `{"seq": 512}`.
    """

    target: str = "executorch"
    preserve_ops: Sequence[str | OpOverload | OpOverloadPacket] = ()
    bounds: Mapping[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        given: Any = self.bounds
        if not isinstance(given, Mapping) or not all(_is_bound(*item) for item in cast("Mapping[Any, Any]", given).items()):
            raise ValueError(f"EdgeCompileConfig: bounds gives greatest values by name, as in {{'seq': 512}}, not {given!r}")


def _is_bound(name: object, most: Any) -> bool:
    return isinstance(name, str) and name.isidentifier() and isinstance(most, Integral) and str(most).isdecimal()


@explains_arguments
@dataclass(frozen=True)
class MemoryPlanningPass:
    """The memory planner, and the tensors that it plans.

    Attributes:
        memory_planning_algo: the planner, perhaps with other options of `plan-memory` in braces: `greedy`, `best{alignment=64}`.
        alloc_graph_input: whether inputs lie in an arena. If False, they are read from the caller's memory.
        alloc_graph_output: whether outputs lie in an arena. If False, they are written to the caller's memory.
    """

    memory_planning_algo: str = PipelineOptions.planner
    alloc_graph_input: bool = True
    alloc_graph_output: bool = True

    def __post_init__(self) -> None:
        if not isinstance(cast(object, self.memory_planning_algo), str):
            why = instead_of_object(self.memory_planning_algo, f"name one, such as {PipelineOptions.planner!r}; {_OWN_PLANNER}")
            raise TypeError(f"memory_planning_algo is the name of a planner, not {full_name(self.memory_planning_algo)}: {why}")


@explains_arguments
@dataclass(frozen=True)
class ExecutorchBackendConfig:
    """The options for reaching the finished program.

    Attributes:
        memory_planning_pass: a `MemoryPlanningPass`, or the name of its planner; or these by method.
        emit_stacktrace: whether the program contains the location in the model of each instruction, for errors at run time.
        external_constants: whether parameters and buffers that do not change lie in a `.ptd` file beside the program; or a function from a
            constant, which has a `name` in the model and `nbytes`, to the name of its file, or to None to keep it in the program.
    """

    memory_planning_pass: str | MemoryPlanningPass | Mapping[str, str | MemoryPlanningPass] = PipelineOptions.planner
    emit_stacktrace: bool = True
    external_constants: bool | ExternalFile = False

    def __post_init__(self) -> None:
        given: Any = self.memory_planning_pass
        for item in cast("Mapping[Any, Any]", given).values() if isinstance(given, Mapping) else (given,):
            if not isinstance(item, str | MemoryPlanningPass):
                why = instead_of_object(item, f'name one, such as "best", or give a flambeau.MemoryPlanningPass; {_OWN_PLANNER}')
                raise TypeError(f"memory_planning_pass is the name of a planner, not {full_name(item)}: {why}")


def planned(
    config: ExecutorchBackendConfig, options: PipelineOptions, methods: Sequence[str]
) -> tuple[PipelineOptions, dict[str, PipelineOptions]]:
    """Returns the options with the planner of a configuration, and those of each method if methods have their own.

    Raises TypeError, and ValueError for an unknown planner or method.
    """
    given = config.memory_planning_pass
    if not isinstance(given, Mapping):
        return _with_planner(options, given), {}
    if unknown := next((name for name in given if name not in methods), None):
        raise ValueError(f"memory_planning_pass is for a method {unknown!r}{hint(unknown, list(methods), listing=True)}")
    return options, {name: _with_planner(options, given.get(name, PipelineOptions.planner)) for name in methods}


def _with_planner(options: PipelineOptions, given: str | MemoryPlanningPass) -> PipelineOptions:
    planning = given if isinstance(given, MemoryPlanningPass) else MemoryPlanningPass(given)
    planner = planning.memory_planning_algo
    found = replace(options, planner=planner, alloc_graph_input=planning.alloc_graph_input, alloc_graph_output=planning.alloc_graph_output)
    try:
        planner_pass(found)
    except ValueError as error:
        raise ValueError(f"memory_planning_pass {planner!r}: {error}") from error
    return found


def external_of(config: ExecutorchBackendConfig) -> ExternalConstants | None:
    """Returns a collector of external constants, or None. Raises TypeError unless the argument is a bool or a function that names files."""
    given: object = config.external_constants
    if isinstance(given, bool):
        return ExternalConstants(all_external) if given else None
    if not callable(given):
        raise TypeError(f"external_constants is True, False, or a function that names the file of a constant, not {full_name(given)}")
    return ExternalConstants(given)


def operator_name(operator: Any) -> str:
    """Returns the operator's name, such as `add.Tensor`, for a name or a `torch.ops.aten` overload. Raises ValueError if unknown."""
    text: str = operator if isinstance(operator, str) else operator.name() if callable(getattr(operator, "name", None)) else str(operator)
    name = text.removeprefix("aten::").removeprefix("aten.")
    check_operator_name(name)
    return name


def full_name(given: object) -> str:
    """Returns the name of an object's class for messages, with the package if it is no builtin."""
    kind = type(given)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}'s {kind.__name__}"
