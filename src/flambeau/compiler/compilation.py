"""The compiler as a library: from a program at any stage to a later stage, or to the bytes of a .pte."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from flambeau.compiler.memory_report import DELEGATE_MEMORY, memory_reports, methods_of
from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.exec.instructions import DelegateCallOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.flambeau.weight_files import check_beside, takes_weights, weights_beside
from flambeau.dialects.ir.verify import ModuleVerifier
from flambeau.dialects.ml_program.weights import save_weights
from flambeau.dialects.schema.operators import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import print_module
from flambeau.passes.manager import Instrumentation, Pipeline
from flambeau.passes.manager.grammar import MODULE
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.pipelines import ROAD
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.emit import emit_pte
from flambeau.support.files import same_file, write_text

STAGES = tuple(stage.name for stage in ROAD)
"""The stages of a module, in order."""


class StageError(ValueError):
    """A stage that does not exist, or that a module has passed already."""


@dataclass(frozen=True)
class StageRecord:
    """What one stage took and left."""

    stage: str
    operations: int
    seconds: float


@dataclass
class Compilation:
    """A module on its way, with a record of each stage."""

    module: ModuleOp
    context: FlambeauContext
    options: PipelineOptions = field(default_factory=PipelineOptions)
    dump_dir: Path | None = None
    instrumentations: Sequence[Instrumentation] = ()
    extra: Mapping[str, Pipeline] = field(default_factory=dict[str, Pipeline])
    """Passes to run when a stage is reached, by stage."""
    records: list[StageRecord] = field(default_factory=list[StageRecord])
    verifier: ModuleVerifier = field(default_factory=ModuleVerifier)
    source: str | Path | None = None
    """The file that the module was read from, which stays."""
    unmeasured: str | None = None
    """Why our runtime could not say how much memory some method needs; None when it could, or was not asked yet."""

    def __post_init__(self) -> None:
        stage = stage_of(self.module)
        for named in self.extra:
            if named not in STAGES[STAGES.index(stage) :]:
                raise StageError(f"no passes can run at {named!r}: the program passes {', '.join(STAGES[STAGES.index(stage) :])}")
        self._reach(stage, [])

    @property
    def stage(self) -> str:
        """The stage that the module is at."""
        return self.records[-1].stage

    def to(self, stage: str) -> None:
        """Runs the passes up to `stage`. Raises StageError, and PassError when a pass cannot do its work."""
        if stage not in STAGES:
            raise StageError(f"there is no stage {stage!r}; there are {', '.join(STAGES)}")
        here, there = STAGES.index(self.stage), STAGES.index(stage)
        if there < here:
            raise StageError(f"the program is at stage {self.stage!r} already, which comes after {stage!r}")
        for following in ROAD[here + 1 : there + 1]:
            self._reach(following.name, following.passes(self.options))

    def emit(self) -> bytes:
        """The program as the bytes of a .pte file. Runs what passes are left."""
        self.to("planned")
        start = time.perf_counter()
        data = b"".join(emit_pte(self.module, self.context))
        measured, self.unmeasured = measure_scratch(self.module, self.context, data)
        if measured:
            data = b"".join(emit_pte(self.module, self.context))
        self.records.append(StageRecord("pte", count_operations(self.module), time.perf_counter() - start))
        return data

    def _reach(self, stage: str, passes: Sequence[ModulePass]) -> None:
        start = time.perf_counter()
        elements = (*passes, *(self.extra[stage].elements if stage in self.extra else ()))
        if elements:
            pipeline = Pipeline(MODULE, elements)
            with redirect_stdout(sys.stderr):  # what passes print is no part of what a command does
                pipeline.run(self.module, self.context, self.instrumentations, verifier=self.verifier)
        self.records.append(StageRecord(stage, count_operations(self.module), time.perf_counter() - start))
        if self.dump_dir is not None:
            self._dump(self.dump_dir / f"{stage}.mlir", changed=bool(elements))

    def _dump(self, path: Path, *, changed: bool) -> None:
        if self.source is not None and same_file(path, self.source):
            if changed:
                raise StageError(f"{path} is what is read, and is not written over: name another folder for the stages")
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        write_module(self.module, self.context, path)


def measure_scratch(module: ModuleOp, context: FlambeauContext, program: bytes) -> tuple[bool, str | None]:
    """Notes on each method how much memory our runtime's kernels and delegates need; returns whether anything was noted.

    A method that our runtime cannot load, for the lack of a backend, has no such figure; why comes second.
    """
    changed, why = False, None
    try:
        loaded = Runtime.get().load_program(program)
    except FlambeauError as error:
        return False, str(error)
    for method in methods_of(module).values():
        if method.scratch is not None:
            continue
        try:
            memory = loaded.metadata(method.sym_name.data).memory
        except FlambeauError as error:
            why = str(error)
            continue
        method.scratch = IntegerAttr(memory.scratch, i64)
        if any(isinstance(op, DelegateCallOp) for op in method.instructions):
            own = memory_reports(module, context)[method.sym_name.data].method
            method.attributes[DELEGATE_MEMORY] = IntegerAttr(memory.method - own, i64)
        changed = True
    return changed, why


def stage_of(module: ModuleOp) -> str:
    """The stage that a module is at, from what is in it. Raises StageError for a mixture."""
    methods = [op for op in module.body.block.ops if isinstance(op, MethodOp)]
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    if methods and functions:
        raise StageError("the module holds both functions and planned methods; lower the functions first")
    if methods:
        return "planned" if all(method.arena_sizes is not None for method in methods) else "exec"
    if any(isinstance(op, PartitionOp | PayloadOp) for op in module.body.block.ops):
        # Backends take operators of the edge level only, and may have taken every one.
        return "edge"
    levels = {op.level() for function in functions for op in function.walk() if isinstance(op, SchemaOp)} & {"aten", "core", "edge"}
    if len(levels) > 1:
        raise StageError(f"the module mixes the levels {' and '.join(sorted(levels))}; finish the conversion that was begun")
    return next(iter(levels), "aten")


def count_operations(module: ModuleOp) -> int:
    """The operations within functions or methods."""
    return sum(1 for item in module.body.block.ops if isinstance(item, FuncOp | MethodOp) for op in item.walk() if op is not item)


def write_module(module: ModuleOp, context: FlambeauContext, path: Path) -> None:
    """Writes `path`, with locations, and, unless it is a device, the weights beside it. Raises OSError, BlobError."""
    text = print_module(module, locations=True)
    check_beside(path)
    if takes_weights(path):
        save_weights(module, context.blobs, weights_beside(path))
    write_text(path, text)
