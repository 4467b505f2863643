"""Stage files: the module after each pass that changed it, in a folder that other runs can start from."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import SEEK_END
from pathlib import Path
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from flambeau.dialects.ir.blobs import BlobAttr
from flambeau.dialects.ir.symbols import symbol_name
from flambeau.dialects.ir.weight_files import WEIGHTS
from flambeau.dialects.ml_program.weights import weights_in
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.operation_text import PrintingOptions, operation_text
from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.manager.pipeline import Pipeline, pass_text
from flambeau.support.files import write_text
from flambeau.tools.instruments.dump_page import StepView, page
from flambeau.tools.instruments.module_changes import ModuleChanges
from flambeau.tools.instruments.snapshot import Snapshot

INDEX = "index.json"
PAGE = "index.html"
_STAGE = re.compile(r"(\d\d+_[\w.-]+)\.mlir")
_END = b"\n]\n"
_CHUNK = re.compile(r"chunk_\d\d+")


def chunk_folder(folder: Path, number: int) -> Path:
    """Returns the folder for the stages of one part of a split input."""
    return folder / f"chunk_{number:02d}"


def is_stage(path: Path, folder: Path) -> bool:
    """Returns whether `path` has the name and place of a stage of a run in `folder`, which new stages may overwrite."""
    place, around = path.resolve(), folder.resolve()
    in_chunk = _CHUNK.fullmatch(place.parent.name) is not None and place.parent.parent == around
    return _STAGE.fullmatch(place.name) is not None and (place.parent == around or in_chunk)


def remove_stages(folder: Path) -> None:
    """Removes the files of an earlier run from a folder: those in its index, the index and the page, also for parts of a split input.

    Nothing else is removed. Raises OSError.
    """
    for chunk in folder.glob("chunk_*"):
        if _CHUNK.fullmatch(chunk.name) and chunk.is_dir():
            remove_stages(chunk)
            _remove_if_empty(chunk)
    files = _listed(folder)
    if not files:
        return
    for file in files:
        (folder / file).unlink(missing_ok=True)
        (folder / WEIGHTS / Path(file).with_suffix(".safetensors")).unlink(missing_ok=True)
    _remove_if_empty(folder / WEIGHTS)
    for name in (INDEX, PAGE):
        (folder / name).unlink(missing_ok=True)


def _listed(folder: Path) -> list[str]:
    """Returns the stages that the index of a folder lists, even if it is truncated; empty for a folder without such an index."""
    try:
        first, *lines = (folder / INDEX).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
    found: list[str] = []
    for line in lines if first == "[" else ():
        try:
            record: object = json.loads(line.removesuffix(","))
        except ValueError:
            break
        file = cast("dict[str, object]", record).get("file") if isinstance(record, dict) else None
        if isinstance(file, str) and _STAGE.fullmatch(file):
            found.append(file)
    return found


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


@dataclass(eq=False)
class StageDump(Instrumentation):
    """An instrumentation that writes `00_input.mlir`, `01_decompose-aten.mlir` and so on, `index.json` and `index.html`.

    Every file is a whole module that parses. In the index, `file` is the file of the module after a step, and `rest` is the pipeline that
    leads from there to the same end; inside of a nested pipeline there is none.

    Attributes:
        folder: created if needed; files of an earlier run in it are removed.

    The index grows with each step, so that it is there if a pass ends the process.
    """

    folder: Path
    _records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _written: set[BlobAttr] = field(default_factory=set[BlobAttr])
    _runs: list[Pipeline] = field(default_factory=list[Pipeline])
    _places: list[tuple[int, tuple[int, ...]]] = field(default_factory=list[tuple[int, tuple[int, ...]]])
    """The run and the position in its pipeline after which each record was written."""
    _diffs: list[list[str] | None] = field(default_factory=list[list[str] | None])
    """The diff of each record to the previous one; None without changes."""
    _changes: ModuleChanges = field(default_factory=ModuleChanges)
    _module: ModuleOp | None = None
    _last: Snapshot | None = None
    """The snapshot of the module in the newest file, or of the function that the current pass runs on."""
    _around: int = -1
    """The number of operations outside of the operation that the current pass runs on, not counting the module."""
    _size: int = 0
    _file: str = ""
    _before: int = 0
    """The number of passes in earlier runs."""

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Writes the input; a further pipeline on the same module goes on where the one before it ended."""
        self._runs.append(pipeline)
        if module is self._module:
            self._before = len(self._records) - 1
            return
        self._make_folder()
        self._runs[:-1] = []
        self._records, self._places, self._diffs, self._before, self._module = [], [], [], 0, module
        self._changes = ModuleChanges()
        self._file = self._write("00_input", module, context)
        self._last = Snapshot(module, locations=True)
        self._size = _operations_in(module) - 1
        self._record({"step": 0, "pass": None, "op": None, "changed": True}, module, (-1,))

    def before_pass(self, step: PassStep) -> None:
        """Records the operation of the pass, without the IR around a function."""
        if step.op is not step.module or self._last is None:
            self._last = Snapshot(step.op, locations=True)
        self._around = -1 if step.op is step.module else self._size - _operations_in(step.op)

    def after_pass(self, step: PassStep) -> None:
        """Writes the module, if the pass changed it."""
        now = Snapshot(step.op, locations=True)
        changed = now != self._last
        self._last = now if step.op is step.module else None
        if changed:
            self._file = self._write(self._name(step), step.module, step.context)
            self._size = self._around + _operations_in(step.op)
        self._record(self._entry(step) | {"changed": changed}, step.module, step.position)

    def after_pass_failed(self, step: PassStep, error: Exception) -> None:
        """Writes the IR that the failed pass left, and the index."""
        self._file = self._write(f"{self._name(step)}.failed", step.module, step.context)
        self._size = _operations_in(step.module) - 1
        self._record(self._entry(step) | {"changed": True, "error": str(error)}, step.module, ())
        self._write_index()

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Writes the index."""
        self._write_index()

    def _entry(self, step: PassStep) -> dict[str, Any]:
        nested = None if step.op is step.module else symbol_name(step.op)
        return {"step": self._before + step.index + 1, "pass": pass_text(step.pass_), "path": list(step.path), "op": nested}

    def _name(self, step: PassStep) -> str:
        symbol = None if step.op is step.module else symbol_name(step.op)
        parts = [f"{self._before + step.index + 1:02d}", step.name, *([re.sub(r"[^\w.-]", "_", symbol)] if symbol else [])]
        return "_".join(parts)

    def _record(self, entry: dict[str, Any], module: ModuleOp, position: tuple[int, ...]) -> None:
        self._records.append(entry | {"operations": self._size, "file": self._file})
        self._places.append((len(self._runs) - 1, position))
        self._diffs.append(self._changes.since_last(module) if entry["changed"] else None)
        line = self._line(-1)
        with (self.folder / INDEX).open("r+b" if len(self._records) > 1 else "wb") as file:
            if len(self._records) > 1:
                file.seek(-len(_END), SEEK_END)
            file.write((",\n" if len(self._records) > 1 else "[\n").encode() + line.encode() + _END)

    def _rest(self, run: int, position: tuple[int, ...]) -> str | None:
        """Returns the pipeline of the passes after a position of a run, including later runs; None inside a nested pipeline."""
        if len(position) != 1:
            return None
        own, *others = self._runs[run:]
        elements = [*own.elements[position[0] + 1 :], *(element for other in others for element in other.elements)]
        return str(Pipeline(own.anchor, tuple(elements)))

    def _write(self, stem: str, module: ModuleOp, context: Context) -> str:
        (self.folder / f"{stem}.mlir").write_text(operation_text(module, PrintingOptions(locations=True)), encoding="utf-8")
        if isinstance(context, FlambeauContext):
            # Weights that the input lacks are also missing beside the stages.
            held = weights_in(module, context.blobs, held_only=True)
            new = [entry for entry in held if entry[0] not in self._written]
            if new:
                (self.folder / WEIGHTS).mkdir(exist_ok=True)
                context.blobs.save(self.folder / WEIGHTS / f"{stem}.safetensors", new)
                self._written.update(blob for blob, *_ in new)
        return f"{stem}.mlir"

    def _make_folder(self) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "this is a file, not a folder to write into", str(self.folder))
        self.folder.mkdir(parents=True, exist_ok=True)
        remove_stages(self.folder)
        for name in (INDEX, PAGE):
            if (path := self.folder / name).exists():
                raise FileExistsError(errno.EEXIST, "this exists and was not written by Flambeau: name another folder", str(path))

    def _line(self, index: int) -> str:
        return json.dumps(self._records[index] | {"rest": self._rest(*self._places[index])})

    def _write_index(self) -> None:
        records = ",\n".join(map(self._line, range(len(self._records))))
        (self.folder / INDEX).write_bytes(f"[\n{records}".encode() + _END)
        write_text(self.folder / PAGE, page("From pass to pass", list(self._views())))

    def _views(self) -> Iterator[StepView]:
        size = None
        for record, diff in zip(self._records, self._diffs, strict=True):
            title = f"{record['step']:02d} {record['pass'] or 'input'}" + (f" on @{record['op']}" if record["op"] else "")
            error: str | None = record.get("error")
            operations: int = record["operations"]
            added = 0 if size is None else operations - size
            yield StepView(f"{title}: {error}" if error else title, operations, added, record["file"], diff, error is not None)
            size = operations


def _operations_in(op: Operation) -> int:
    return sum(1 for _ in op.walk())
