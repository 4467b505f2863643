"""Compiles a module from its stage to a later stage, or to the bytes of a .pte."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from flambeau.compiler.called_kernels import computed_types
from flambeau.compiler.lone_method import OnMethod
from flambeau.compiler.scratch_memory import measure_scratch
from flambeau.compiler.stages import STAGES, StageError, count_operations, stage_of
from flambeau.dialects.exec.slots import TensorSlotOp
from flambeau.dialects.ir.tensor_types import dtype_of, tensor_type
from flambeau.dialects.ir.verify import ModuleVerifier
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import write_module
from flambeau.passes.delegation.lowering.whole_methods import convert_methods, take_methods
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.delegation.vetoes import Vetoes
from flambeau.passes.manager import Instrumentation, Pipeline
from flambeau.passes.manager.grammar import MODULE
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.pipelines import ROAD, Stage, place, planner_pass
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.runtime.emit import ExternalConstants, emit_pte
from flambeau.runtime.emit.c_program import c_interface, header_files, program_files, runtime_files, weights_blob
from flambeau.support.collector import collector_paused
from flambeau.support.files import same_file

_MOST_IN_A_FILE = 1 << 30
"""The most bytes of a constant of a backend's file that is made of other constants."""


@dataclass(frozen=True)
class StageRecord:
    """The duration of one stage in seconds, and the number of operations after the stage."""

    stage: str
    operations: int
    seconds: float


@dataclass
class Compilation:
    """A module during its compilation, which changes in place, with a record of each stage."""

    module: ModuleOp
    context: FlambeauContext
    options: PipelineOptions = field(default_factory=PipelineOptions)
    dump_dir: Path | None = None
    instrumentations: Sequence[Instrumentation] = ()
    extra: Mapping[str, Pipeline] = field(default_factory=dict[str, Pipeline])
    """Additional passes by stage, which run when the module reaches the stage."""
    records: list[StageRecord] = field(default_factory=list[StageRecord])
    verifier: ModuleVerifier = field(default_factory=ModuleVerifier)
    source: str | Path | None = None
    """The file that the module was read from, which must not be overwritten; None if unknown."""
    external: ExternalConstants | None = None
    """The collector of constants that are written beside the .pte; None keeps all constants in the .pte."""
    strip_debug: bool = False
    """Whether the .pte or the file of a backend omits the location in the model of each instruction."""
    by_method: Mapping[str, PipelineOptions] = field(default_factory=dict[str, PipelineOptions])
    """The options of each method from `exec` on, where methods have their own; empty if all have `options`."""
    otherwise: str = "aten"
    """The stage of a module whose functions have no operators of a level."""
    unmeasured: str | None = None
    """Why Flambeau's runtime could not measure the memory of some method; None if it could, or before the measurement."""

    def __post_init__(self) -> None:
        stage = stage_of(self.module, self.otherwise)
        for named in self.extra:
            if named not in STAGES[STAGES.index(stage) :]:
                raise StageError(f"no passes can run at {named!r}: the program passes {', '.join(STAGES[STAGES.index(stage) :])}")
        self._reach(stage, [])

    @property
    def stage(self) -> str:
        """The current stage of the module. What was emitted from it is none."""
        return next(record.stage for record in reversed(self.records) if record.stage in STAGES)

    def to(self, stage: str) -> None:
        """Runs the passes up to `stage`. Raises StageError for an unknown or earlier stage, and PassError if a pass fails."""
        if stage not in STAGES:
            raise StageError(f"there is no stage {stage!r}; there are {', '.join(STAGES)}")
        here, there = STAGES.index(self.stage), STAGES.index(stage)
        if there < here:
            raise StageError(f"the program is at stage {self.stage!r} already, which comes after {stage!r}")
        for following in ROAD[here + 1 : there + 1]:
            self._reach(following.name, self._passes(following))

    def _passes(self, stage: Stage) -> Sequence[ModulePass]:
        if not self.by_method or stage.name not in STAGES[-2:]:
            return stage.passes(self.options)
        if stage.name != STAGES[-1]:
            return [OnMethod(name, stage.passes(options)) for name, options in self.by_method.items()]
        # A planner sees the other methods too, because methods share the memory of their state.
        planners = [planner_pass(options, methods=(name,)) for name, options in self.by_method.items()]
        return [*planners, *Pipeline.parse("verify-plan").passes()]

    def emit(self) -> bytes:
        """Returns the program as the bytes of a .pte file, after running the remaining passes."""
        return b"".join(self.emit_parts())

    @collector_paused()
    def emit_parts(self) -> list[bytes | memoryview]:
        """Returns the parts of a .pte file without copies of weights, after running the remaining passes.

        Their concatenation is the file.
        """
        self.to(STAGES[-1])
        start = time.perf_counter()
        self.unmeasured = measure_scratch(self.module, self.context)
        parts = emit_pte(self.module, self.context, strip_debug=self.strip_debug, external=self.external)
        self.records.append(StageRecord("pte", count_operations(self.module), time.perf_counter() - start))
        return parts

    @collector_paused()
    def emit_c(self, program: str, weights: str = "array", *, with_runtime: bool = True) -> dict[str, bytes]:
        """Returns the program as C, after running the remaining passes: the files by their path in the program's folder.

        `program` is an identifier of C, and `weights` says in which form its weights are. Without `with_runtime`, what the library
        has is left out. The module stays as it is.
        """
        self.to(STAGES[-1])
        start = time.perf_counter()
        self.unmeasured = measure_scratch(self.module, self.context)
        module = self.module.clone()
        is_blob = weights == "blob"
        passes = f"fuse-loops,convert-exec-to-emitc{{program={program} blob={str(is_blob).lower()}}}"
        Pipeline.parse(passes).run(module, self.context)
        blob = weights_blob(module, self.context.blobs) if is_blob else None
        header = c_interface(self.module, program, None if blob is None else len(blob))
        files = program_files(module, self.context.blobs, program, header, weights)
        if blob is not None:
            files[f"{program}_weights.bin"] = blob
        if with_runtime:
            dtypes = {dtype_of(tensor_type(op.slot).element_type).name for op in self.module.walk() if isinstance(op, TensorSlotOp)}
            files |= runtime_files(module, program, weights, computed_types(dtypes))
        else:
            files |= header_files(module)
        self.records.append(StageRecord("c", count_operations(module), time.perf_counter() - start))
        return files

    @collector_paused()
    def emit_file(self, partitioner: Partitioner) -> bytes | Mapping[str, bytes]:
        """Returns the whole program as a file or a folder of a backend, `Partitioner.of_file`, after the passes up to the edge level.

        Raises ConversionError that lists what the backend does not take, OperationError, BackendError, and PassError if a pass fails.
        """
        self.to("edge")
        start = time.perf_counter()
        file = partitioner.backend.file
        assert file is not None
        # What stays of constants alone has no place in a file, so that they are folded, whatever their size.
        self._run(Pipeline.of(place(replace(self.options, backends=(partitioner,)), most_folded=_MOST_IN_A_FILE)))
        constants = ModuleConstants(self.context, self.module)
        methods = take_methods(self.module, partitioner, Vetoes(self.options.no_delegate))
        convert_methods(methods, constants, partitioner)
        self._run(Pipeline.parse("cse,strip-debuginfo" if self.strip_debug else "cse"))
        data = file.encode(methods, constants, partitioner.options)
        count = sum(len(method.partition.body.block.ops) for method in methods)
        self.records.append(StageRecord(file.suffix, count, time.perf_counter() - start))
        return data

    def _reach(self, stage: str, passes: Sequence[ModulePass]) -> None:
        start = time.perf_counter()
        others = self.extra[stage].elements if stage in self.extra else ()
        elements = (*passes, *others)
        # A plan that came with the input, or that other passes may have changed, has not been verified yet.
        others_plan = stage == STAGES[-1] and (not passes or stage in self.extra)
        if elements or others_plan:
            pipeline = Pipeline(MODULE, (*elements, *(Pipeline.parse("verify-plan").elements if others_plan else ())))
            self._run(pipeline, each=bool(others))
        self.records.append(StageRecord(stage, count_operations(self.module), time.perf_counter() - start))
        if self.dump_dir is not None:
            self._dump(self.dump_dir / f"{stage}.mlir", changed=bool(elements))

    def _run(self, pipeline: Pipeline, *, each: bool = False) -> None:
        """Runs passes. Those of a stage are tried together; those that a user adds, or that something watches, are verified one by one."""
        with redirect_stdout(sys.stderr):  # the output of passes is not part of a command's output
            each = each or bool(self.instrumentations)
            pipeline.run(self.module, self.context, self.instrumentations, verify_each=each, verify_last=True, verifier=self.verifier)

    def _dump(self, path: Path, *, changed: bool) -> None:
        if self.source is not None and same_file(path, self.source):
            if changed:
                raise StageError(f"refusing to overwrite the input {path}: name another folder for the stages")
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        write_module(self.module, self.context, path)
