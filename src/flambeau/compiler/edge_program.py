"""The public API with ExecuTorch's names: `to_edge`, `to_backend`, `to_executorch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from flambeau.backends.interface import find_backend
from flambeau.compiler.compilation import Compilation
from flambeau.compiler.memory_report import MemoryReport, memory_reports, methods_of
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import print_module, write_module
from flambeau.passes.analysis.backend_survey import Survey, survey
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.pipelines import delegate

if TYPE_CHECKING:
    from torch.export import ExportedProgram


@dataclass(frozen=True)
class EdgeCompileConfig:
    """The options for reaching the edge level.

    Attributes:
        target: what the program may use. `executorch`, the default, is what stock ExecuTorch runs.
        preserve_ops: operators to keep whole although they are not Core ATen, such as `hardswish`.
    """

    target: str = "executorch"
    preserve_ops: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExecutorchProgramManager:
    """A finished program: the bytes of a `.pte`, and the planned IR that they are."""

    buffer: bytes
    module: ModuleOp
    context: FlambeauContext = field(repr=False)

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods."""
        return tuple(methods_of(self.module))

    @property
    def memory(self) -> dict[str, MemoryReport]:
        """The planned memory of each method."""
        return memory_reports(self.module, self.context)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the `.pte` file."""
        Path(path).write_bytes(self.buffer)

    def write_to_file(self, file: IO[bytes]) -> None:
        """Writes the `.pte` to an open binary file."""
        file.write(self.buffer)

    def __str__(self) -> str:
        return print_module(self.module)


class EdgeProgramManager:
    """A program at the edge level, as IR that prints and that passes may change.

    Unlike ExecuTorch's, `to_executorch` leaves it as it is and may be called again.
    """

    def __init__(self, module: ModuleOp, context: FlambeauContext, options: PipelineOptions):
        self.module = module
        self.context = context
        self._options = options

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods."""
        return tuple(op.sym_name.data for op in self.module.body.block.ops if isinstance(op, FuncOp))

    def transform(self, passes: str | Sequence[ModulePass]) -> EdgeProgramManager:
        """A manager of the program after some passes: the text of a pipeline, or passes. Raises PassError, PipelineError."""
        module = self.module.clone()
        pipeline = Pipeline.parse(passes) if isinstance(passes, str) else Pipeline.of(passes)
        pipeline.run(module, self.context)
        return EdgeProgramManager(module, self.context, self._options)

    def to_backend(self, backend: str) -> EdgeProgramManager:
        """A manager of the program in which what `backend` takes is delegated to it. Raises BackendError when there is no such backend."""
        find_backend(backend)
        return self.transform(delegate(PipelineOptions(backends=(backend,))))

    def survey(self, backend: str) -> Survey:
        """What `backend` would take, and why not the rest; printable. Raises BackendError when there is no such backend."""
        return survey(self.module, backend)

    def to_executorch(self) -> ExecutorchProgramManager:
        """The finished program. Raises PassError when the target lacks a kernel."""
        compilation = Compilation(self.module.clone(), self.context, self._options)
        return ExecutorchProgramManager(compilation.emit(), compilation.module, self.context)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the IR to `path` and the weights beside it. Raises ValueError for a `.pte`, which `to_executorch().save` writes."""
        if Path(path).suffix == ".pte":
            raise ValueError(f"{path}: save writes IR (.mlir); to_executorch().save writes a .pte")
        write_module(self.module, self.context, Path(path))

    def __str__(self) -> str:
        return print_module(self.module)


def to_edge(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    compile_config: EdgeCompileConfig | None = None,
) -> EdgeProgramManager:
    """Brings exported programs to the edge level.

    Args:
        programs: a program, or several by method name.
        compile_config: the target, and what to keep whole.

    Raises:
        UnsupportedProgramError: lists everything that cannot be imported.
        PassError: lists the operators that have no form in Core ATen.
    """
    from flambeau.frontends.torch_export import import_program

    for program in programs.values() if isinstance(programs, Mapping) else [programs]:
        if not hasattr(program, "graph_signature"):
            raise TypeError(
                f"to_edge takes what torch.export.export(module, inputs) gives, or several by method name, not {type(program).__name__}"
            )
    config = compile_config or EdgeCompileConfig()
    context = FlambeauContext()
    module = import_program(programs, context)
    options = PipelineOptions(target=config.target, preserve=config.preserve_ops)
    compilation = Compilation(module, context, options)
    compilation.to("edge")
    return EdgeProgramManager(module, context, options)
