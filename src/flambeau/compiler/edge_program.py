"""The public API with ExecuTorch's names: `to_edge`, `to_edge_transform_and_lower`, `to_backend`, `to_executorch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.configs import EdgeCompileConfig, ExecutorchBackendConfig, external_of, full_name, operator_name, planned
from flambeau.compiler.etrecord import ETRecord, InstructionMaps, instruction_maps
from flambeau.compiler.lone_method import OnMethod
from flambeau.compiler.memory_report import MemoryReport, memory_reports, methods_of
from flambeau.compiler.notebook_view import program_html
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import print_module, write_module
from flambeau.passes.delegation.interface import backend_names, file_backends
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.delegation.report import DelegationInfo, delegation_info
from flambeau.passes.delegation.vetoes import Vetoes, method_of
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.pipelines import delegate, place
from flambeau.support.executorch_names import ExplainsMembers, explains_arguments, instead_of_object
from flambeau.support.files import replacing, write_bytes, write_files
from flambeau.support.tables import hint
from flambeau.support.unchanging_bytes import UnchangingBytes

AnyPartitioner: TypeAlias = str | Partitioner
"""A backend: its name, perhaps with options in braces, or a `Partitioner`."""
Passes: TypeAlias = str | Sequence[ModulePass] | Pipeline
"""The text of a pipeline, or passes, or a pipeline of them."""
Kept: TypeAlias = str | Sequence[str]
"""Operators to keep undelegated: paths of modules, such as `layers.0.attention`, or names of operators."""
Unless: TypeAlias = Callable[[SchemaOp], bool]
"""Whether to keep an operator undelegated."""

if TYPE_CHECKING:
    from torch.export import ExportedProgram


@dataclass(frozen=True, repr=False)
class ExecutorchProgramManager(ExplainsMembers):
    """A finished program: the bytes of a `.pte`, and the planned IR that was emitted.

    The bytes are those of the moment of `to_executorch`: what changes in the model afterwards does not change them.
    Those of a large program are in a temporary file, in the folder that `tempfile` chooses (`TMPDIR`). The IR names the model's weights.

    Attributes:
        content: the bytes of the `.pte`, perhaps in a temporary file.
        tensor_data: the bytes of the `.ptd` files of external constants, by file name without `.ptd`.
        edge: the program at the edge level, from which this program was compiled.
    """

    content: UnchangingBytes
    module: ModuleOp
    context: FlambeauContext
    tensor_data: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    edge: EdgeProgramManager | None = None

    @property
    def buffer(self) -> bytes:
        """The bytes of the `.pte`."""
        return self._buffer

    @cached_property
    def _buffer(self) -> bytes:
        return bytes(self.content)

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods."""
        return tuple(methods_of(self.module))

    @property
    def memory(self) -> dict[str, MemoryReport]:
        """The planned memory of each method."""
        return memory_reports(self.module, self.context)

    @cached_property
    def _maps(self) -> InstructionMaps:
        return instruction_maps(self.module)

    @property
    def debug_handle_map(self) -> dict[str, dict[int, list[int]]]:
        """The debug handles of each instruction, by method and number of the instruction; empty without `generate_etrecord=True`."""
        return self._maps.debug_handle_map

    @property
    def delegate_map(self) -> dict[str, dict[int, dict[str, Any]]]:
        """The backend and the operators of each call of a delegate, by method and number of the instruction."""
        return self._maps.delegate_map

    @property
    def instruction_id_to_num_outs_map(self) -> dict[str, dict[int, int]]:
        """The number of tensors that each instruction returns, by method and number of the instruction."""
        return self._maps.instruction_id_to_num_outs_map

    def get_etrecord(self) -> ETRecord:
        """Returns the record of the compilation. Raises ValueError without `to_edge(..., generate_etrecord=True)`."""
        if self.edge is None or self.edge.recorded is None:
            raise ValueError("there is no ETRecord: say to_edge(..., generate_etrecord=True)")
        return ETRecord(self.edge.recorded, self._maps)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the `.pte` file."""
        with replacing(path) as file:
            self.write_to_file(file)

    def write_to_file(self, file: IO[bytes]) -> None:
        """Writes the `.pte` to an open binary file."""
        self.content.write_to(file)

    def write_tensor_data_to_file(self, outdir: str | PathLike[str]) -> None:
        """Writes the `.ptd` files into a folder."""
        for name, data in self.tensor_data.items():
            write_bytes(Path(outdir) / f"{name}.ptd", data)

    def __str__(self) -> str:
        return print_module(self.module)

    def __repr__(self) -> str:
        return f"<program of {', '.join(self.methods)}: {len(self.content)} bytes>"

    def _repr_html_(self) -> str:
        """Returns HTML with the methods, their memory and the IR, for notebooks."""
        return program_html(self.module, self.memory, len(self.content))


class EdgeProgramManager(ExplainsMembers):
    """A program at the edge level: IR that can be printed and transformed by passes.

    Unlike in ExecuTorch, `to_executorch` does not change this program and may be called again.
    """

    def __init__(
        self,
        module: ModuleOp,
        context: FlambeauContext,
        options: PipelineOptions,
        recorded: Mapping[str, ExportedProgram] | None = None,
    ):
        self.module = module
        self.context = context
        self.options = options
        self.recorded = recorded
        """The programs as they were imported, for an ETRecord; None without `generate_etrecord=True`."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods."""
        return tuple(op.sym_name.data for op in self.module.body.block.ops if isinstance(op, FuncOp))

    @explains_arguments
    def transform(self, passes: Passes | Mapping[str, Passes]) -> EdgeProgramManager:
        """Returns a manager of the program after some passes, given as a pipeline, its text or a list of passes; or these by method.

        Raises PassError, PipelineError.
        """
        if isinstance(passes, Mapping):
            pipeline = Pipeline.of([OnMethod(name, tuple(_pipeline(items).elements)) for name, items in passes.items()])
        else:
            pipeline = _pipeline(passes)
        return _transformed(self, pipeline, verify_each=True)

    @explains_arguments
    def to_backend(
        self,
        partitioner: AnyPartitioner | Mapping[str, AnyPartitioner],
        no_delegate: Kept | Mapping[str, Kept] = (),
        unless: Unless | Mapping[str, Unless] | None = None,
    ) -> EdgeProgramManager:
        """Returns a manager of the program in which all operators that a backend supports are delegated to the backend.

        Args:
            partitioner: the name of a backend, perhaps with options, `"xnnpack{least=3}"`, or a `Partitioner`; or these by method.
            no_delegate: the operators to keep undelegated: paths of modules, such as `layers.0.attention`, or names of operators; or these
                by method.
            unless: returns whether to keep an operator undelegated; or a function of each method that keeps some.

        Raises:
            BackendError: there is no such backend.
            PassError: the backend cannot compile a partition, or a path or name in `no_delegate` matches nothing.
            ValueError: `unless` is for a method that the program has not.
        """
        return _delegated(self, _partitioners(partitioner), no_delegate, unless)

    def survey(self, backend: str | Partitioner) -> DelegationInfo:
        """Returns the operators that delegates have or `backend` would take, and why it refuses each other one; `str` gives a table.

        Raises BackendError for an unknown backend.
        """
        asked = _partitioner(backend)
        placed = _transformed(self, Pipeline.of(place(replace(self.options, backends=(asked,), no_delegate=()))))
        return delegation_info(placed.module, self.context, (asked,))

    def to_executorch(self, config: ExecutorchBackendConfig | None = None) -> ExecutorchProgramManager:
        """Returns the finished program, with the values that the model's parameters and buffers have now.

        They should be those of the export: `to_edge` refers to the model's own memory, and may have computed with its values already. From
        now on, the model may change.

        Raises PassError if the target lacks a kernel, ValueError for an unknown planner.
        """
        if not isinstance(cast(object, config), ExecutorchBackendConfig | None):
            raise TypeError(f"to_executorch takes a flambeau.ExecutorchBackendConfig, not {full_name(config)}")
        given = ExecutorchBackendConfig() if config is None else config
        options, by_method = planned(given, self.options, self.methods)
        compilation = Compilation(self.module.clone(), self.context, options, strip_debug=not given.emit_stacktrace, otherwise="edge")
        compilation.by_method, compilation.external = by_method, external_of(given)
        content = UnchangingBytes(compilation.emit_parts())
        tensor_data = {} if compilation.external is None else compilation.external.encoded()
        return ExecutorchProgramManager(content, compilation.module, self.context, tensor_data, self)

    @explains_arguments
    def save(self, path: str | PathLike[str], backend: str | None = None) -> None:
        """Writes the IR to `path` and the weights beside it; or the whole program as a file of a backend, by the suffix: `model.tflite`.

        Args:
            path: the file.
            backend: the backend, perhaps with options, where it makes files of this suffix.

        Raises:
            ValueError: for a `.pte`, which `to_executorch().save` writes, and for IR of a backend.
            ConversionError: lists the operators that the backend does not take. Nothing is written.
            BackendError: the backend makes no such files, or its format cannot hold the program.
        """
        suffix = Path(path).suffix[1:]
        if suffix == "pte":
            raise ValueError(f"{path}: save writes IR (.mlir); to_executorch().save writes a .pte")
        if suffix in file_backends():
            partitioner = Partitioner.of_file(suffix, () if backend is None else (backend,))
            whole = Compilation(self.module.clone(), self.context, replace(self.options, backends=()), otherwise="edge")
            write_files(path, whole.emit_file(partitioner))
            return
        if backend is not None:
            raise ValueError(
                f"{path} is IR, which is of no backend; there are files of backends by the suffixes .{', .'.join(file_backends())}"
            )
        write_module(self.module, self.context, Path(path))

    def __deepcopy__(self, memo: object) -> EdgeProgramManager:
        """Returns a manager of a copy of the IR. Weights and recorded programs, which do not change, are shared."""
        return EdgeProgramManager(self.module.clone(), self.context, self.options, self.recorded)

    def __str__(self) -> str:
        return print_module(self.module)

    def __repr__(self) -> str:
        return f"<edge program of {', '.join(self.methods)}>"

    def _repr_html_(self) -> str:
        """Returns HTML with the methods and the IR, for notebooks."""
        return program_html(self.module, {})


@explains_arguments
def to_edge(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    constant_methods: Mapping[str, object] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Compiles exported programs to the edge level.

    Args:
        programs: a program, or several by method name.
        constant_methods: further methods by name, which take no inputs and return these values: numbers, strings, tensors or lists of them.
        compile_config: the target, the operators to keep whole, and the bounds of sizes.
        generate_etrecord: whether `to_executorch().get_etrecord()` gives a record for the Inspector.

    Raises:
        ValueError: no program is given.
        UnsupportedProgramError: lists everything that cannot be imported.
        PassError: lists the operators that have no form in Core ATen.
    """
    return _to_edge(programs, constant_methods, compile_config, {} if generate_etrecord else None)


def _to_edge(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    constant_methods: Mapping[str, object] | None,
    compile_config: EdgeCompileConfig | None,
    recorded: dict[str, ExportedProgram] | None,
) -> EdgeProgramManager:
    """Returns a program at the edge level."""
    from flambeau.frontends.torch_export import export_constants, import_program

    named = dict(programs) if isinstance(programs, Mapping) else {"forward": programs}
    if not named:
        raise ValueError("to_edge takes at least one program, got none")
    for program in named.values():
        if not hasattr(program, "graph_signature"):
            raise TypeError(
                f"to_edge takes the result of torch.export.export(module, inputs), or several by method name, not {type(program).__name__}"
            )
    config = EdgeCompileConfig() if compile_config is None else compile_config
    for given, kind, name in ((constant_methods or {}, Mapping, "constant_methods"), (config, EdgeCompileConfig, "compile_config")):
        if not isinstance(cast(object, given), kind):
            wanted = "a flambeau.EdgeCompileConfig" if kind is EdgeCompileConfig else "a dict of values by method name"
            raise TypeError(f"to_edge: {name} is {wanted}, not {full_name(given)}")
    if both := named.keys() & (constant_methods or {}).keys():
        raise ValueError(f"to_edge: {', '.join(sorted(both))} is among programs and among constant_methods")
    context = FlambeauContext()
    module = import_program(named | export_constants(constant_methods or {}), context, recorded=recorded)
    options = PipelineOptions(target=config.target, preserve=tuple(map(operator_name, config.preserve_ops)))
    bounds = tuple(f"{name}:{most}" for name, most in config.bounds.items())
    Compilation(module, context, replace(options, bounds=bounds)).to("edge")
    return EdgeProgramManager(module, context, options, recorded and {name: recorded[name] for name in named})


@explains_arguments
def to_edge_transform_and_lower(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    transform_passes: Passes | Mapping[str, Passes] | None = None,
    partitioner: AnyPartitioner | Sequence[AnyPartitioner] | Mapping[str, AnyPartitioner | Sequence[AnyPartitioner]] | None = None,
    constant_methods: Mapping[str, object] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
    no_delegate: Kept | Mapping[str, Kept] = (),
    unless: Unless | Mapping[str, Unless] | None = None,
) -> EdgeProgramManager:
    """Applies `to_edge`, then `transform`, then `to_backend`.

    Args:
        programs: as for `to_edge`.
        transform_passes: as for `transform`.
        partitioner: the name of a backend, or a `Partitioner`, or a sequence of these in order of preference; or these by method.
        constant_methods: as for `to_edge`.
        compile_config: as for `to_edge`.
        generate_etrecord: as for `to_edge`.
        no_delegate: as for `to_backend`.
        unless: as for `to_backend`.
    """
    chosen = _partitioners(() if partitioner is None else partitioner)
    edge = _to_edge(programs, constant_methods, compile_config, {} if generate_etrecord else None)
    if transform_passes is not None:
        edge = edge.transform(transform_passes)
    return _delegated(edge, chosen, no_delegate, unless) if chosen else edge


def _delegated(
    edge: EdgeProgramManager, given: tuple[Partitioner, ...], kept: object, unless: Unless | Mapping[str, Unless] | None
) -> EdgeProgramManager:
    no_delegate = _texts(kept)
    keeps = _by_method(cast("Mapping[str, Unless]", unless), edge.methods) if isinstance(unless, Mapping) else unless
    chosen = tuple(item if keeps is None else item.keeping(keeps) for item in given)
    found = _transformed(edge, Pipeline.of(delegate(replace(edge.options, backends=chosen, no_delegate=no_delegate))))
    known = edge.options
    options = replace(known, backends=(*known.backends, *chosen), no_delegate=(*known.no_delegate, *no_delegate))
    return EdgeProgramManager(found.module, edge.context, options, edge.recorded)


def _transformed(edge: EdgeProgramManager, pipeline: Pipeline, *, verify_each: bool = False) -> EdgeProgramManager:
    """Returns a manager of the program after a pipeline; passes of users are verified one by one, the compiler's own together."""
    module = edge.module.clone()
    pipeline.run(module, edge.context, verify_each=verify_each, verify_last=True)
    return EdgeProgramManager(module, edge.context, edge.options, edge.recorded)


def _by_method(unless: Mapping[str, Unless], methods: Sequence[str]) -> Unless:
    """Returns what keeps the operators that the function of their method keeps. Raises ValueError for an unknown method."""
    if unknown := next((name for name in unless if name not in methods), None):
        raise ValueError(f"unless is for a method {unknown!r}{hint(unknown, list(methods), listing=True)}")
    return lambda op: (keeps := unless.get(method_of(op) or "")) is not None and keeps(op)


def _partitioners(given: object) -> tuple[Partitioner, ...]:
    """Returns one partitioner or backend's name, or several, or these by method, as partitioners. Raises as `_partitioner` does."""
    if isinstance(given, Mapping):
        by_method = cast("Mapping[str, object]", given)
        return tuple(item.with_options(methods=(name,)) for name, items in by_method.items() for item in _partitioners(items))
    return tuple(_partitioner(item) for item in cast("Sequence[object]", given if isinstance(given, list | tuple) else [given]))


def _partitioner(given: object) -> Partitioner:
    """Returns the partitioner for a backend's name; a `Partitioner` unchanged. Raises TypeError, and BackendError for an unknown name."""
    found = Partitioner(given) if isinstance(given, str) else given
    if not isinstance(found, Partitioner):
        listed = f"there are {', '.join(backend_names())}"
        why = instead_of_object(given, f"{listed}; several are handed over one after the other")
        raise TypeError(f"to_backend takes the name of a backend or a flambeau.Partitioner, not {full_name(given)}: {why}")
    return found


def _texts(given: object) -> tuple[str, ...]:
    """Returns one text, a list, tuple or set of texts, or these by method, as a tuple. Raises TypeError if an item is not a text."""
    if isinstance(given, Mapping):
        return tuple(f"{name}:{text}" for name, kept in cast("Mapping[str, object]", given).items() for text in _texts(kept))
    items = cast("Sequence[object]", given if isinstance(given, list | tuple | set | frozenset) else [given])
    if wrong := [item for item in items if not isinstance(item, str)]:
        raise TypeError(f"no_delegate is paths of modules and names of operators, as in ['softmax'], not {full_name(wrong[0])}")
    return cast("tuple[str, ...]", tuple(items))


@explains_arguments
def generate_etrecord(
    et_record: str | PathLike[str] | IO[bytes], edge_dialect_program: EdgeProgramManager, executorch_program: ExecutorchProgramManager
) -> None:
    """Writes the ETRecord of a program: `executorch_program.get_etrecord().save(et_record)`.

    Args:
        et_record: the path to write to, or an open binary file.
        edge_dialect_program: the program at the edge level, of `to_edge(..., generate_etrecord=True)`, or a `copy.deepcopy` of it.
        executorch_program: the result of `to_executorch()` of this program, or of one that was made of it.

    Raises:
        ValueError: the programs do not belong together, or `to_edge` was called without `generate_etrecord=True`.
    """
    edge = executorch_program.edge
    if edge is None or (edge is not edge_dialect_program and edge.recorded is not edge_dialect_program.recorded):
        raise ValueError("generate_etrecord: the finished program is not one that to_executorch of this edge program gave")
    executorch_program.get_etrecord().save(et_record)


@explains_arguments
def get_delegation_info(program: EdgeProgramManager) -> DelegationInfo:
    """Returns the numbers of operators that were and were not delegated to backends; `str` gives a table."""
    if not isinstance(cast(object, program), EdgeProgramManager):
        raise TypeError(f"get_delegation_info takes the flambeau.EdgeProgramManager of to_backend, not {full_name(program)}")
    return delegation_info(program.module, program.context, program.options.backends, Vetoes(program.options.no_delegate))


def _pipeline(passes: Passes) -> Pipeline:
    if isinstance(passes, Pipeline):
        return passes
    return Pipeline.parse(passes) if isinstance(passes, str) else Pipeline.of(_checked_passes(passes))


def _checked_passes(passes: Sequence[ModulePass]) -> Sequence[ModulePass]:
    given = cast(object, passes)
    items = cast("list[object]", [*passes]) if isinstance(given, list | tuple) else [given]
    wrong = next((item for item in items if not hasattr(item, "apply")), None)
    if wrong is None:
        return cast("list[ModulePass]", items)
    if isinstance(wrong, str):
        why = f"write the names in one text, {','.join(map(str, items))!r}"
    else:
        why = instead_of_object(
            wrong, "passes over torch.fx graphs do not run here; docs/tutorials/first_pass.md shows how to write one over IR"
        )
    given_text = f"a list of {full_name(wrong)}" if isinstance(given, list | tuple) else full_name(wrong)
    raise TypeError(
        f'transform takes the text of a pipeline, such as "canonicalize,cse", or a list of passes over IR, not {given_text}: {why}'
    )
