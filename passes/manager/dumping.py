"""Stage files: the module after each pass that changed it, in a folder that other runs can start from."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ml_program.blobs import WEIGHTS, BlobAttr
from flambeau.dialects.printing import PrintingOptions, operation_text
from flambeau.dialects.registry import FlambeauContext
from flambeau.dialects.text import weights_in
from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.manager.pipeline import Pipeline, pass_text
from flambeau.passes.manager.printing import symbol_of
from flambeau.passes.manager.snapshot import Snapshot

INDEX = "index.json"


@dataclass(eq=False)
class StageDump(Instrumentation):
    """Writes `00_input.mlir`, `01_decompose-aten.mlir` and so on, none for a pass that changed nothing, and `index.json`.

    Every file is a whole module that parses. In the index, `file` names what holds the module after a step, and `rest` is the pipeline that
    leads from there to the same end; inside of a nested pipeline there is none.

    Attributes:
        folder: made when it does not exist; files of the same names are replaced.
    """

    folder: Path
    _records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _written: set[BlobAttr] = field(default_factory=set[BlobAttr])
    _pipeline: Pipeline | None = None
    _last: Snapshot | None = None
    _file: str = ""

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Writes the input."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._pipeline = pipeline
        self._records = []
        self._file = self._write("00_input", module, context)
        self._last = Snapshot(module, locations=True)
        self._record({"step": 0, "pass": None, "op": None, "changed": True, "rest": str(pipeline)}, module)

    def after_pass(self, step: PassStep) -> None:
        """Writes the module, if the pass changed it."""
        now = Snapshot(step.module, locations=True)
        changed = now != self._last
        self._last = now
        if changed:
            self._file = self._write(self._name(step), step.module, step.context)
        self._record(self._entry(step) | {"changed": changed, "rest": self._rest(step)}, step.module)

    def after_pass_failed(self, step: PassStep, error: Exception) -> None:
        """Writes what the pass left, and the index."""
        self._file = self._write(f"{self._name(step)}.failed", step.module, step.context)
        self._record(self._entry(step) | {"changed": True, "rest": None, "error": str(error)}, step.module)
        self._write_index()

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Writes the index."""
        self._write_index()

    def _entry(self, step: PassStep) -> dict[str, Any]:
        nested = None if step.op is step.module else symbol_of(step.op)
        return {"step": step.index + 1, "pass": pass_text(step.pass_), "path": list(step.path), "op": nested}

    def _name(self, step: PassStep) -> str:
        symbol = None if step.op is step.module else symbol_of(step.op)
        parts = [f"{step.index + 1:02d}", step.name, *([re.sub(r"[^\w.-]", "_", symbol)] if symbol else [])]
        return "_".join(parts)

    def _rest(self, step: PassStep) -> str | None:
        if self._pipeline is None or len(step.position) != 1:
            return None
        return str(Pipeline(self._pipeline.anchor, self._pipeline.elements[step.position[0] + 1 :]))

    def _record(self, entry: dict[str, Any], module: ModuleOp) -> None:
        self._records.append(entry | {"operations": sum(1 for _ in module.walk()) - 1, "file": self._file})

    def _write(self, stem: str, module: ModuleOp, context: Context) -> str:
        (self.folder / f"{stem}.mlir").write_text(operation_text(module, PrintingOptions(locations=True)), encoding="utf-8")
        if isinstance(context, FlambeauContext):
            # What the input did not bring is not there for the stages either.
            held = weights_in(module, context.blobs, held_only=True)
            new = [entry for entry in held if entry[0] not in self._written]
            if new:
                (self.folder / WEIGHTS).mkdir(exist_ok=True)
                context.blobs.save(self.folder / WEIGHTS / f"{stem}.safetensors", new)
                self._written.update(blob for blob, *_ in new)
        return f"{stem}.mlir"

    def _write_index(self) -> None:
        records = ",\n".join(json.dumps(record) for record in self._records)
        (self.folder / INDEX).write_text(f"[\n{records}\n]\n", encoding="utf-8")
