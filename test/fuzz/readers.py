"""The readers of files on damaged ETRecords, ETDumps, `.bpte` and `.ptd` files: each refuses in one line, with the documented error.

A case is a text: the kind of the file, and below it a line for each change.
"""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import torch

from flambeau import BundledProgram, ExecutorchBackendConfig, MethodTestCase, MethodTestSuite, to_edge
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.bundled_program import (
    BundledModule,
    BundleError,
    serialize_from_bundled_program_to_flatbuffer,
)
from flambeau.runtime.bundled_program.bundled_values import decode_value
from flambeau.runtime.etdump import ETDumpError, read_etdump
from flambeau.runtime.flat_tensor import FlatTensorError, link_files
from flambeau.runtime.inspector import Inspector, logged_calls
from flambeau.runtime.inspector.etrecord_reader import IDENTIFIER, PROGRAM, ETRecordError
from flambeau.runtime.pte import PteError, read_program
from fuzz.campaign import Campaign, Failure

_EDGES = (0, 1, 2, 3, 4, 5, 7, 8, 16, 64, 65, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 4, 2**32 - 1)
_WIDE = (2**62, 2**63 - 1, 2**63, 2**64 - 1)
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_VALUES = (
    "null",
    "true",
    "-1",
    "1.5",
    "1e999",
    "NaN",
    "1" + "0" * 30,
    "1" + "0" * 5000,
    '""',
    '"\\n"',
    '"-1"',
    '"x\\ny,z;"',
    '"\\ud800"',
    "[]",
    "{}",
)
_NESTED = ("[[[]]]", '{"0": {"0": 0}}', "[null, {}]", "[" * 100000, '{"name": 1, "delegate_map": []}')
_READ = (IDENTIFIER, "debug_handle_map", "delegate_map", "instruction_id_to_num_outs_map", f"{PROGRAM}/forward")
"""The parts of an ETRecord that are read."""


@dataclass(frozen=True)
class _Files:
    """Files of one model that are whole."""

    etrecord: bytes
    etdump: bytes
    values: bytes
    program: bytes
    bpte: bytes
    ptd: bytes


class _Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu() + x.sum()


@cache
def _files() -> _Files:
    x = torch.ones(2, 3)
    model = _Model().eval()
    edge = to_edge(torch.export.export(model, (x,)), generate_etrecord=True)
    delegated = edge.to_backend("elementwise").to_executorch()
    outside = edge.to_executorch(ExecutorchBackendConfig(external_constants=True))
    with TemporaryDirectory() as name:
        folder = Path(name)
        delegated.get_etrecord().save(folder / "etrecord")
        loaded = Runtime.get().load_program(delegated.buffer, enable_etdump=True, debug_buffer_size=1 << 16)
        method = loaded.load_method()
        for _ in range(2):
            method.execute([x.numpy()])
        loaded.write_etdump_result_to_file(folder / "etdump", folder / "values")
        record = io.BytesIO()
        with zipfile.ZipFile(folder / "etrecord") as whole, zipfile.ZipFile(record, "w") as part:
            for item in _READ:
                part.writestr(item, whole.read(item))
        etdump, values = (folder / "etdump").read_bytes(), (folder / "values").read_bytes()
    cases = [MethodTestCase([x], [model(x).detach()])]
    bundle = BundledProgram(edge.to_executorch(), [MethodTestSuite("forward", cases)])
    (ptd,) = outside.tensor_data.values()
    return _Files(record.getvalue(), etdump, values, outside.buffer, serialize_from_bundled_program_to_flatbuffer(bundle), ptd)


@cache
def _folder() -> TemporaryDirectory[str]:
    """A folder with the files that a damaged file is read with."""
    folder = TemporaryDirectory()
    (Path(folder.name) / "whole.etdump").write_bytes(_files().etdump)
    (Path(folder.name) / "whole.values").write_bytes(_files().values)
    return folder


# ---- Changes ----


def _structure(chosen: random.Random) -> list[str]:
    """Changes of an archive's parts."""
    lines: list[str] = []
    for _ in range(chosen.choice((1, 1, 2, 3))):
        name, other = chosen.choice(_READ), chosen.choice(_READ)
        match chosen.randrange(6):
            case 0:
                lines.append(f"exchange {name} {other}")
            case 1:
                lines.append(f"remove {name}")
            case 2:
                lines.append(f"pack {chosen.choice(_PACKINGS)}")
            case _:
                lines.append(f"json {name} {chosen.randrange(1 << 16)} {chosen.choice(_VALUES + _NESTED)}")
    return lines


def _bytes(chosen: random.Random) -> list[str]:
    """Changes of bytes, by their positions modulo the size of the file."""
    lines: list[str] = []
    for _ in range(chosen.choice((1, 1, 1, 2, 3, 8))):
        place = chosen.randrange(1 << 24)
        match chosen.randrange(8):
            case 0:
                lines.append(f"cut {place}")
            case 1:
                lines.append(f"drop {place} {chosen.randrange(1, 64)}")
            case 2:
                lines.append(f"copy {place} {chosen.randrange(1 << 24)} {chosen.randrange(1, 64)}")
            case 3:
                lines.append(f"set {place} {1} {chosen.randrange(256)}")
            case 4:
                lines.append(f"set {place & ~7} 8 {chosen.choice(_EDGES + _WIDE)}")
            case 5:
                lines.append(f"add {place & ~3} {chosen.choice((-64, -8, -4, 4, 8, 64))}")
            case _:
                lines.append(f"set {place & ~3} 4 {chosen.choice(_EDGES)}")
    return lines


def make(chosen: random.Random) -> str:
    """The kind of a file, and its changes."""
    _folder()  # which takes longer than a case may
    kind = chosen.choice(tuple(_CHECKS))
    lines = _structure(chosen) if kind == "etrecord" and chosen.random() < 0.7 else []
    if not lines or chosen.random() < 0.2:
        lines += _bytes(chosen)
    return "\n".join((kind, *lines))


def _replaced(tree: Any, number: int, value: object) -> Any:
    """A JSON value with another one in the place of the node of this number, modulo their count, in preorder."""

    def places(node: Any) -> list[tuple[Any, Any]]:
        if not isinstance(node, dict | list):
            return []
        items = list(cast("dict[Any, Any]", node).items() if isinstance(node, dict) else enumerate(cast("list[Any]", node)))
        return [(cast(Any, node), key) for key, _ in items] + [place for _, item in items for place in places(item)]

    found = places(tree)
    count = number % (len(found) + 1)
    if count == len(found):
        return value
    container, key = found[count]
    container[key] = value
    return tree


def _rebuilt(data: bytes, lines: list[list[str]]) -> bytes:
    """An archive after changes of its parts."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts: dict[str, Any] = {name: json.loads(file.read(name)) for name in file.namelist()}
    packing = zipfile.ZIP_STORED
    marks: dict[str, str] = {}
    for line in lines:
        match line:
            case ["exchange", one, other] if one in parts and other in parts:
                parts[one], parts[other] = parts[other], parts[one]
            case ["remove", name]:
                parts.pop(name, None)
            case ["pack", number]:
                packing = int(number)
            case ["json", name, number, value] if name in parts:
                # In the end, the mark becomes a text that no JSON value has, such as one of too many brackets.
                mark = f"<{len(marks)}>"
                marks[f'"{mark}"'] = value
                parts[name] = _replaced(parts[name], int(number), mark)
            case _:
                pass
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", packing) as file:
        for name, tree in parts.items():
            text = json.dumps(tree)
            for mark, value in marks.items():
                text = text.replace(mark, value)
            file.writestr(name, text)
    return result.getvalue()


def _damaged(data: bytes, lines: list[list[str]]) -> bytes:
    """A file after changes of its bytes."""
    found = bytearray(data)
    for line in lines:
        numbers = (
            [int(word) for word in line[1:] if word.lstrip("-").isdecimal()] if line[0] in ("cut", "drop", "copy", "set", "add") else []
        )
        if not numbers or not found:
            continue
        place = numbers[0] % len(found)
        match line[0], numbers[1:]:
            case "cut", []:
                del found[place:]
            case "drop", [count]:
                del found[place : place + count]
            case "copy", [to, count]:
                found[to % len(found) : to % len(found) + count] = found[place : place + count]
            case "set", [width, value]:
                found[place : place + width] = (value % 256**width).to_bytes(width, "little")
            case "add", [step]:
                word = int.from_bytes(found[place : place + 4], "little") + step
                found[place : place + 4] = (word % 2**32).to_bytes(4, "little")
            case _:
                pass
    return bytes(found)


# ---- Checks ----


def _inspected(etdump: Path, values: Path, etrecord: Path | None) -> None:
    inspector = Inspector(etdump_path=etdump, debug_buffer_path=values, etrecord=etrecord)
    inspector.save_data_to_tsv(io.StringIO())
    inspector.find_total_for_module("linear")


def _etrecord(file: Path, folder: Path) -> None:
    _inspected(folder / "whole.etdump", folder / "whole.values", file)


def _etdump(file: Path, folder: Path) -> None:
    _inspected(file, folder / "whole.values", None)
    for run in read_etdump(file.read_bytes()).run_data:
        logged_calls(run, _files().values)


def _bpte(file: Path, folder: Path) -> None:
    bundle = BundledModule(file).bundle
    for suite in bundle.method_test_suites:
        for case in suite.test_cases:
            for value in (*case.inputs, *case.expected_outputs):
                decode_value(value)
    read_program(bundle.program)


def _ptd(file: Path, folder: Path) -> None:
    link_files(_files().program, file)


_CHECKS: dict[str, tuple[Callable[[Path, Path], None], tuple[type[Exception], ...], bool]] = {
    "etrecord": (_etrecord, (ETRecordError,), True),
    "etdump": (_etdump, (ETDumpError,), False),
    "bpte": (_bpte, (BundleError, PteError, FlambeauError), False),
    "ptd": (_ptd, (FlatTensorError,), False),
}
"""For each kind of file, what reads it, the documented errors, and whether their messages name the file."""


def check(case: str) -> str:
    """Reads the damaged file."""
    kind, *rest = case.splitlines()
    if kind not in _CHECKS:
        return "no case"
    # The last word of a change in JSON may hold spaces.
    lines = [line.split(" ", 3 if line.startswith("json ") else -1) for line in rest]
    read, documented, is_named = _CHECKS[kind]
    data = bytes(getattr(_files(), kind))
    if kind == "etrecord":
        data = _rebuilt(data, lines)
    folder = Path(_folder().name)
    file = folder / f"damaged.{kind}"
    file.write_bytes(_damaged(data, lines))
    try:
        read(file, folder)
    except documented as error:
        if not str(error).isprintable():
            raise Failure("a message of several lines", f"{type(error).__name__}: {error!r}") from error
        if is_named and str(file) not in str(error):
            raise Failure("a message without the file", f"{type(error).__name__}: {error}") from error
        return f"{kind}: {type(error).__name__}"
    return f"{kind}: read"


CAMPAIGN = Campaign(make, check, limit=10)
