"""Makes in-place operators functional: finds the value of each node, and the cases that only PyTorch can resolve.

`torch.export` keeps in-place operators and mutable buffers. PyTorch's own functionalisation retraces the program, which costs more than the
rest of the import, so the common case is done here: an in-place operator whose operand no other live value aliases is its functional
variant, and later uses of the operand refer to the result. Writes through views, and writes that live aliases would see, need
`run_decompositions({})` first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import torch
from torch import fx
from torch._C import DispatchKey
from torch.fx.experimental.symbolic_shapes import statically_known_true

from flambeau.frontends.torch_export.exported_graph import FlatProgram, Overload, Step, nodes_in, schema_of

_functorch = cast(Any, torch)._C._functorch  # access to the tensors wrapped by `vmap` and `grad`


class Variable:
    """A holder of the IR value of a node. The result of an in-place operator shares the holder of its operand, and replaces the value.

    Holders are compared by identity.
    """

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None


@cache
def mutated_arguments(overload: Overload) -> tuple[int, ...]:
    """Returns the positions of the arguments that an operator writes."""
    arguments = schema_of(overload).arguments
    return tuple(index for index, argument in enumerate(arguments) if argument.alias_info is not None and argument.alias_info.is_write)


def argument(step: Step, index: int) -> Any:
    """Returns the argument at a position of the schema, passed by position or by name; None if it is not passed."""
    if index < len(step.args):
        return step.args[index]
    overload = cast(Overload, step.overload)
    return step.kwargs.get(schema_of(overload).arguments[index].name)


def only_metadata(overload: Overload) -> bool:
    """Returns whether an operator changes only the shape or history of its operand and no elements: `detach_`, `unsqueeze_`."""
    return torch.Tag.inplace_view in overload.tags


@cache
def is_in_place(overload: Overload) -> bool:
    """Returns whether an operator writes only its first argument and returns it: `relu_`, `__iand__`."""
    if not any(item.alias_info is not None for item in schema_of(overload).returns):
        return False
    base = overload.name().partition("::")[2].partition(".")[0]
    named = base.startswith("__i") if base.endswith("__") else base.endswith("_")
    return named and mutated_arguments(overload) == (0,)


def gives_written(step: Step) -> bool:
    """Returns whether a step calls an operator of a library other than ATen that returns an argument it writes."""
    overload = step.overload
    return overload is not None and overload.namespace != "aten" and schema_of(overload).is_mutable and _gives_alias(overload)


def meta_copy(value: Any) -> Any:
    """Returns a node's value as a tensor without data; other arguments unchanged."""
    if isinstance(value, fx.Node):
        return meta_copy(value.meta.get("val"))
    if isinstance(value, torch.Tensor):
        sizes, strides = ([_typical(number) for number in numbers] for numbers in (value.shape, value.stride()))
        return torch.empty_strided(sizes, strides, dtype=value.dtype, device="meta")
    if isinstance(value, tuple | list):
        return [meta_copy(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, torch.SymInt):
        return _typical(value)
    return "meta" if isinstance(value, torch.device) else value


def _typical(size: int | torch.SymInt) -> int:
    """Returns a size; for a dynamic one, the size of the example input."""
    if isinstance(size, int):
        return size
    hint: Any = cast(Any, size).node.hint
    return 2 if hint is None else int(hint)


def run_on_meta(overload: Overload, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Returns the results of an operator on tensors without data, or None if it does not run on them."""
    try:
        with torch.no_grad():
            return overload(*args, **kwargs)
    except (RuntimeError, NotImplementedError, TypeError, ValueError):
        return None


def updates_statistics(step: Step) -> bool:
    """Returns whether a step is a normalisation in training mode, which writes running statistics without declaring it in its schema."""
    overload = step.overload
    if overload is None or not _is_composite(overload):
        return False
    names = {item.name: index for index, item in enumerate(schema_of(overload).arguments)}
    flags = [names[name] for name in ("training", "train", "use_input_stats") if name in names]
    return "running_mean" in names and argument(step, names["running_mean"]) is not None and any(argument(step, flag) for flag in flags)


class Aliases:
    """The nodes that may share memory: every node has roots, and nodes with a common root may share."""

    def __init__(self, program: FlatProgram):
        self.variables: dict[fx.Node, Variable] = {}
        """The variable behind each node."""
        self.passed: set[fx.Node] = set()
        """The results that are the operand itself, such as the result of `dropout` in evaluation mode."""
        self._same: dict[object, set[object]] = {}
        """The roots of an operand, by the memory of a result that is this operand but that tracing made a new tensor."""
        self._passes: dict[tuple[Any, ...], bool] = {}
        self._roots: dict[fx.Node, set[object]] = {}
        self._families: dict[object, set[fx.Node]] = {}
        # In a program that this process exported, node values share memory like the program's values; a file loses this.
        self._values_tell = all(
            set(_memories(step.node)) <= set(_memories(step.args[0]))
            for step in program.steps
            if step.overload is not None and is_in_place(step.overload) and isinstance(step.args[0], fx.Node)
        )
        for node in program.placeholders:
            self._start(node, {node, *_memories(node)} if self._values_tell else {node})

    def _start(self, node: fx.Node, roots: set[object], variable: Variable | None = None) -> None:
        self.variables[node] = variable or Variable()
        self._roots[node] = roots
        for root in roots:
            self._families.setdefault(root, set()).add(node)

    def family(self, node: fx.Node) -> set[fx.Node]:
        """Returns the nodes that may share memory with `node`, including `node`."""
        return {other for root in self._roots[node] for other in self._families[root]}

    def add(self, step: Step) -> None:
        """Adds a step's result to its family."""
        overload = step.overload
        if overload is not None and is_in_place(overload) and isinstance(step.args[0], fx.Node):
            self._start(step.node, self._roots[step.args[0]], self.variables[step.args[0]])
        elif (same := self._passed_through(step)) is not None:
            self.passed.add(step.node)
            self._same.update((memory, self._roots[same]) for memory in _memories(step.node))
            self._start(step.node, self._roots[same], self.variables[same])
        elif self._values_tell:
            self._start(step.node, {root for memory in _memories(step.node) for root in self._same.get(memory, {memory})})
        else:
            self._start(step.node, self._shared(step) or {step.node})

    def _passed_through(self, step: Step) -> fx.Node | None:
        """Returns the operand that a composite operator without alias annotations returns unchanged; tracing makes it a new tensor."""
        first = step.args[0] if step.args else None
        if step.overload is None or not isinstance(first, fx.Node) or not _is_composite(step.overload):
            return None
        given, value = first.meta.get("val"), step.node.meta.get("val")
        if not isinstance(given, torch.Tensor) or not isinstance(value, torch.Tensor) or not _are_alike(given, value):
            return None
        # Extents and strides are irrelevant, so layers of one kind are tried once.
        key = (step.overload, _kind(step.args), _kind(tuple(sorted(step.kwargs.items()))))
        if key not in self._passes:
            args, kwargs = meta_copy(step.args), {key: meta_copy(item) for key, item in step.kwargs.items()}
            result = run_on_meta(step.overload, args, kwargs)
            self._passes[key] = isinstance(result, torch.Tensor) and _memory(result) == _memory(args[0])
        return first if self._passes[key] else None

    def _shared(self, step: Step) -> set[object]:
        """Returns the roots of the operands whose memory the result may share."""
        if step.overload is None:
            return {root for node in step.inputs() for root in self._roots[node]}
        if not (_gives_alias(step.overload) or _is_composite(step.overload)):
            return set()
        # A composite operator may return a view of its operand (`reshape`, `einsum`): running this call without data shows whether it does.
        roots: set[object] = set()
        args, kwargs = meta_copy(step.args), {key: meta_copy(item) for key, item in step.kwargs.items()}
        results = _tensors(run_on_meta(step.overload, args, kwargs))
        for given, copied in zip((*step.args, *step.kwargs.values()), (*args, *kwargs.values()), strict=True):
            if not results or shares_memory(results, copied):
                roots |= {root for node in nodes_in(given) for root in self._roots[node]}
        return roots


def _gives_alias(overload: Overload) -> bool:
    return any(item.alias_info is not None for item in schema_of(overload).returns)


@cache
def _is_composite(overload: Overload) -> bool:
    """Returns whether an operator is composed of other operators, with no alias of its result in its schema."""
    return has_kernel(overload, DispatchKey.CompositeImplicitAutograd) and not _gives_alias(overload)


def has_kernel(overload: Overload, key: DispatchKey) -> bool:
    """Returns whether PyTorch has a kernel of an operator for a dispatch key."""
    ask = torch._C._dispatch_has_kernel_for_dispatch_key  # pyright: ignore[reportPrivateUsage] # the only way to ask
    return ask(overload.name(), key.name)


def _kind(value: Any) -> Any:
    """Returns a description of an argument without its extents, which is equal for layers of the same kind."""
    if isinstance(value, fx.Node):
        value = value.meta.get("val")
    if isinstance(value, torch.Tensor):
        return value.dtype, value.dim()
    return tuple(_kind(item) for item in cast("Sequence[Any]", value)) if isinstance(value, tuple | list) else str(value)


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [found for item in cast("Sequence[Any]", value) for found in _tensors(item)] if isinstance(value, tuple | list) else []


def shares_memory(a: Any, b: Any) -> bool:
    """Returns whether a tensor of `a` and a tensor of `b` lie in the same memory."""
    return not {_memory(item) for item in _tensors(a)}.isdisjoint(_memory(item) for item in _tensors(b))


def _are_alike(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Returns whether two tensors have the same dtype, and the same shape for all dynamic sizes."""
    return a.dtype == b.dtype and a.dim() == b.dim() and all(statically_known_true(x == y) for x, y in zip(a.shape, b.shape, strict=True))


def _memories(node: fx.Node) -> list[object]:
    return [_memory(item) for item in _tensors(node.meta.get("val"))]


def _memory(value: torch.Tensor) -> int:
    while _functorch.is_functorch_wrapped_tensor(value):
        value = _functorch.get_unwrapped(value)
    return value.untyped_storage()._cdata  # pyright: ignore[reportPrivateUsage] # the identity of memory that has no address


@dataclass(frozen=True)
class Writes:
    """The effect of a program's in-place operators."""

    variables: dict[fx.Node, Variable]
    """The variable behind each node."""
    hidden: tuple[Step, ...]
    """The steps whose writes would not reach every alias if only variables got new values."""
    lost: tuple[Step, ...]
    """The hidden writes whose aliases PyTorch's functionalisation does not know either."""


def analyze_writes(program: FlatProgram) -> Writes:
    """Returns the variable behind each node of the program, and the writes that renaming variables cannot express."""
    if not any(_writes(step) for step in program.steps):
        nodes = (*program.placeholders, *(step.node for step in program.steps))
        return Writes({node: Variable() for node in nodes}, (), ())
    last_use = {node: index for index, step in enumerate(program.steps) for node in step.inputs()}
    last_use.update((node, len(program.steps)) for node in nodes_in(program.outputs))
    persistent = set(program.placeholders)
    aliases = Aliases(program)
    hidden: list[Step] = []
    lost: list[Step] = []
    for index, step in enumerate(program.steps):
        if _writes(step):
            overload = step.overload
            target = step.args[0] if step.args else None
            if overload is None or not is_in_place(overload) or not isinstance(target, fx.Node):
                hidden.append(step)
            else:
                variable = aliases.variables[target]
                family = aliases.family(target)
                others = {node for node in family if aliases.variables[node] is not variable}
                if only_metadata(overload):
                    seen = any(aliases.variables[node] is variable for node in persistent) and _shape(target) != _shape(step.node)
                else:
                    seen = any(last_use.get(node, -1) > index or node in persistent for node in others)
                if seen:
                    hidden.append(step)
                if not aliases.passed.isdisjoint(family):
                    lost.append(step)
        aliases.add(step)
    return Writes(aliases.variables, tuple(hidden), tuple(lost))


def _shape(node: fx.Node) -> Any:
    value = node.meta.get("val")
    return tuple(value.shape) if isinstance(value, torch.Tensor) else None


def _writes(step: Step) -> bool:
    overload = step.overload
    return overload is not None and (bool(mutated_arguments(overload)) or updates_statistics(step))
