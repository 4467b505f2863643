"""Reads and writes reproducers: one file holds everything needed to reproduce the failure of a pass.

The file is a module that parses as any other, below a header of comments with the pipeline and the settings:

    // flambeau reproducer, version 1; flambeau-opt --run-reproducer FILE
    // error: "fold-constants: …"
    // pipeline: "builtin.module(fold-constants,cse)"
    // …
    // end of the header
    builtin.module { … }

Weights lie beside it in a `.safetensors` file, or stay where they are when they are large; where the failure does not need them, they are
left out.
"""

from __future__ import annotations

import json
import os
import platform
import re
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from flambeau.dialects.ir.blobs import BlobAttr
from flambeau.dialects.ir.weight_files import BlobError, check_beside, takes_weights, weights_beside
from flambeau.dialects.ml_program.weights import blobs_in, save_weights
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import print_module
from flambeau.passes.manager.pipeline import Pipeline
from flambeau.passes.manager.registry import PipelineError
from flambeau.plugins.loader import loaded_plugins
from flambeau.support.files import write_text

VERSION = 1
"""The version of the header."""

WEIGHTS_LIMIT = 64 * 2**20
"""The most bytes of weights that are saved beside a reproducer; larger weights are referred to by file."""

_FIRST = "// flambeau reproducer, version "
_TRACEBACK = "// | "
_LAST = "// end of the header"
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_LINE = re.compile(r"// (?P<key>[a-z-]+): (?P<value>.*)")


class ReproducerError(ValueError):
    """An error for a file that is not a reproducer, or is damaged. The message is one line for the user."""


def versions() -> dict[str, str]:
    """Returns the versions of Flambeau and its dependencies."""
    from importlib import metadata

    return {"flambeau": metadata.version("flambeau"), "xdsl": metadata.version("xdsl"), "python": platform.python_version()}


def seeds() -> dict[str, str]:
    """Returns the seed of Python's string hashes, on which the order of sets depends."""
    return {"PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "random")}


@dataclass(frozen=True)
class Reproducer:
    """The content of the header. The settings of a run are a header without a pipeline."""

    pipeline: str = ""
    """The pipeline to run, in canonical form, from the failing pass on."""
    error: str = ""
    """The failure to reproduce; empty in a reproducer that was asked for without a failure."""
    note: str = ""
    """Notes for the person who runs it."""
    verify_each: bool = True
    allow_unregistered: bool = False
    debug_counters: str = ""
    verify_roundtrip: bool = False
    check_semantics: str = ""
    """The value of `--check-semantics`; empty if results are not compared."""
    inputs: str = ""
    """The file with the inputs for `--check-semantics`."""
    seed: int = 0
    """The seed of made-up inputs."""
    plugins: Mapping[str, str] = field(default_factory=dict[str, str])
    """The plug-ins to load first: path -> digest of their content."""
    weights: tuple[str, ...] = ()
    """Weight files; relative to the folder of the reproducer."""
    relative: Mapping[str, str] = field(default_factory=dict[str, str])
    """The relative path of each file with an absolute name, from the folder of the reproducer, in case both were moved."""
    versions: Mapping[str, str] = field(default_factory=versions)
    seeds: Mapping[str, str] = field(default_factory=seeds)
    last_action: str = ""
    """The last attempt to rewrite before the failure."""
    traceback: tuple[str, ...] = ()
    """The lines of the Python traceback of the failure."""

    def header(self) -> str:
        """Returns the header's text."""
        lines = [f"{_FIRST}{VERSION}; flambeau-opt --run-reproducer FILE"]
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "traceback":
                lines += [f"{_TRACEBACK}{line}" for line in self.traceback]
            elif item.name == "pipeline" or value != ({} if item.default is MISSING else item.default):
                lines.append(f"// {item.name.replace('_', '-')}: {_dump(value)}")
        return "\n".join([*lines, _LAST, ""])

    def find(self, name: str, folder: Path) -> Path:
        """Returns the path of a file named in the header of a reproducer in `folder`: the absolute path, else the relative one."""
        path, moved = folder / name, folder / self.relative.get(name, name)
        return moved if moved.exists() and not path.exists() else path

    def is_error(self, error: str) -> bool:
        """Returns whether an error is that of the reproducer, except for parts that differ between runs."""
        return without_addresses(error) == without_addresses(self.error)

    @staticmethod
    def parse(text: str, file: str) -> Reproducer:
        """Reads the header of a file's text. Raises ReproducerError."""
        lines = text.split("\n")
        if not lines[0].startswith(_FIRST):
            raise ReproducerError(f"{file} is not a reproducer: it does not begin with {_FIRST!r}")
        version = lines[0].removeprefix(_FIRST).partition(";")[0]
        if version != str(VERSION):
            raise ReproducerError(f"{file} is a reproducer of version {version!r}; this program reads version {VERSION}")
        if _LAST not in lines:
            raise ReproducerError(f"{file} is damaged: the line {_LAST!r} is missing")
        kinds = {item.name.replace("_", "-"): item for item in fields(Reproducer) if item.name != "traceback"}
        found: dict[str, Any] = {}
        traceback: list[str] = []
        for number, line in enumerate(lines[1 : lines.index(_LAST)], 2):
            if line.startswith(_TRACEBACK):
                traceback.append(line.removeprefix(_TRACEBACK))
                continue
            match = _LINE.fullmatch(line)
            if match is None or match["key"] not in kinds:
                raise ReproducerError(f"{file}:{number} is damaged: this is not a line of a reproducer's header")
            item = kinds[match["key"]]
            value = _load(match["value"], str(item.type))
            if value is None or item.name in found:
                raise ReproducerError(f"{file}:{number} is damaged: {match['key']!r} has no such value, or has one already")
            found[item.name] = value
        if "pipeline" not in found:
            raise ReproducerError(f"{file} is damaged: its header names no pipeline")
        return Reproducer(**found, traceback=tuple(traceback))


def without_addresses(message: str) -> str:
    """Returns a message without the parts that differ between runs."""
    return _ADDRESS.sub("", message)


def relative_names(names: Iterable[str], folder: Path) -> dict[str, str]:
    """Returns the paths of absolute names relative to a folder, if they share more with it than the root."""
    start = os.path.abspath(folder)
    found: dict[str, str] = {}
    for name in filter(os.path.isabs, names):
        try:
            if os.path.dirname(common := os.path.commonpath([name, start])) != common:
                found[name] = os.path.relpath(name, start)
        except ValueError:
            pass  # they are on different drives
    return found


def is_reproducer(path: str | os.PathLike[str]) -> bool:
    """Returns whether a file begins as a reproducer. Raises OSError."""
    with open(path, "rb") as file:
        return file.read(len(_FIRST)) == _FIRST.encode()


def _dump(value: object) -> str:
    if isinstance(value, Mapping):
        value = dict(cast("Mapping[str, str]", value))
    return json.dumps(value, ensure_ascii=False)


def _load(text: str, kind: str) -> object:
    """Returns the value of a JSON text; None if it is not of the type in a field's annotation."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match kind, value:
        case ("str", str()) | ("bool", bool()):
            return value
        case "int", int() if not isinstance(value, bool):
            return value
        case "tuple[str, ...]", list() if all(isinstance(item, str) for item in cast("list[object]", value)):
            return tuple(cast("list[str]", value))
        case "Mapping[str, str]", dict() if all(isinstance(item, str) for item in cast("dict[str, object]", value).values()):
            return cast("dict[str, str]", value)
        case _:
            return None


def read_reproducer(path: str | os.PathLike[str]) -> Reproducer:
    """Returns the header of a reproducer. Raises ReproducerError, OSError."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ReproducerError(f"{path} is not a reproducer: it is not text") from None
    return Reproducer.parse(text, str(path))


def with_plugins(settings: Reproducer) -> Reproducer:
    """Returns the settings of a run, with the currently loaded plug-ins."""
    loaded = loaded_plugins()
    return replace(
        settings,
        plugins={str(plugin.path): plugin.digest for plugin in loaded if plugin.path is not None},
        versions={**settings.versions, **{plugin.name: plugin.digest for plugin in loaded if plugin.path is None}},
    )


@dataclass
class Case:
    """A module and the pipeline to run on it."""

    text: str
    pipeline: Pipeline
    last_action: str = ""
    weights: tuple[str, ...] = ()
    """The files that hold the weights which the case needs."""


def write_reproducer(
    path: str | os.PathLike[str],
    module: ModuleOp,
    pipeline: Pipeline,
    context: Context,
    settings: Reproducer | None = None,
) -> None:
    """Writes the files needed to run `pipeline` over `module` again, whether it fails or not.

    Raises:
        OSError: the file cannot be written.
        BlobError: the weights cannot be written.
    """
    case = Case(print_module(module, locations=True), pipeline)
    notes: list[str] = []
    case.weights = keep_weights(module, context, Path(path), notes)
    write_case(Path(path), case, settings or Reproducer(), notes)


def rest_of(pipeline: Pipeline, position: Sequence[int]) -> Pipeline:
    """Returns the pipeline from a place on."""
    index, *inner = position
    first = pipeline.elements[index]
    if inner and isinstance(first, Pipeline):
        first = rest_of(first, inner)
    return Pipeline(pipeline.anchor, (first, *pipeline.elements[index + 1 :]))


def blobs_of(module: Operation) -> list[BlobAttr]:
    """Returns the weights that a module names."""
    found: list[BlobAttr] = []
    for op in module.walk():
        found += blobs_in(op)
    return found


def write_case(path: Path, case: Case, settings: Reproducer, notes: Sequence[str], error: Exception | None = None) -> None:
    """Writes a reproducer, completely or not at all. Raises OSError."""
    notes = list(notes)
    try:
        Pipeline.parse(str(case.pipeline))
    except PipelineError as problem:
        notes.append(f"the pipeline cannot be read back: {problem}")
    reproducer = replace(
        settings,
        pipeline=str(case.pipeline),
        error="" if error is None else str(error),
        note="; ".join(notes),
        weights=case.weights,
        relative=relative_names((*settings.plugins, settings.inputs, *case.weights), path.parent),
        last_action=case.last_action,
        traceback=() if error is None else tuple("".join(traceback.format_exception(error)).splitlines()),
    )
    write_text(path, reproducer.header() + case.text)


def keep_weights(module: ModuleOp, context: Context, path: Path, notes: list[str]) -> tuple[str, ...]:
    """Saves the weights of a module beside the reproducer `path`, or, if they are large, names the files that hold them.

    Raises BlobError when they would replace others.
    """
    named = list(dict.fromkeys(blobs_of(module)))
    if not named or not isinstance(context, FlambeauContext):
        return ()
    blobs = context.blobs
    try:
        size = sum(len(blobs.get(blob)) for blob in named)
    except BlobError as error:
        notes.append(f"weights are missing: {error}")
        return ()
    if size <= WEIGHTS_LIMIT and takes_weights(path):
        check_beside(path)
        beside = weights_beside(path)
        save_weights(module, blobs, beside)
        return (beside.name,)
    origins = [blobs.origin(blob) for blob in named]
    if None in origins:
        why = "were too large to be kept" if takes_weights(path) else "cannot be kept beside a device"
        notes.append(f"{size // 2**20} MiB of weights {why}, and are in no file")
    return tuple(sorted({str(origin.resolve()) for origin in origins if origin is not None}))
