"""The folder `model.mlpackage`, its file of weights, and folders as one block of bytes, as ExecuTorch's runtime reads them.

A file of weights has a header of 64 bytes, the number of records and the version 2 (uint32 each). A record has a header of 64 bytes at a
multiple of 64: the word 0xDEADBEEF and the type of the elements (uint32 each), the number of bytes, where they are, and how many bits of
the last byte are not used (uint64 each).

A folder as bytes has the bytes of its files and, reversed, the text of a JSON that says where they are.
"""

from __future__ import annotations

import hashlib
import json
import struct
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import f16, i8
from xdsl.ir import Attribute

from flambeau.backends.coreml.specification import refused
from flambeau.dialects.ir.tensor_types import Tensor, element_of, f32, i32, nbytes, ui8

if TYPE_CHECKING:
    from typing_extensions import Buffer

ALIGNMENT = 64
MODEL = "Data/com.apple.CoreML/model.mlmodel"
WEIGHTS = "Data/com.apple.CoreML/weights/weight.bin"
STORED: dict[Attribute, int] = {f16: 1, f32: 2, ui8: 3, i8: 4, i32: 14}
"""The types of elements in a file of weights."""
STORED_SHORT: dict[Attribute, int] = {i8: 8, ui8: 11}
"""Integers of 4 bits, by what holds them elsewhere: two in a byte, the first one in its lower half."""

_FILE = struct.Struct("<II56x")
_RECORD = struct.Struct("<IIQQQ32x")
_SENTINEL = 0xDEADBEEF
_VERSION = 2
_FOLDER = "model.mlpackage"
_METADATA = "metadata.json"
_LONGEST = 1 << 16
"""The most bytes of the JSON of a folder."""


class Weights:
    """A file of weights that is written."""

    def __init__(self) -> None:
        self.pieces: list[Buffer] = []
        self.count = 0
        self.size = _FILE.size

    def add(self, element: int, data: memoryview, unused: int = 0) -> int:
        """Adds elements of a type of `STORED`, and returns where their record is."""
        start, place = self.size, self.size + _RECORD.size
        end = _aligned(place + len(data))
        self.pieces += [_RECORD.pack(_SENTINEL, element, len(data), place, unused), data, bytes(end - place - len(data))]
        self.count += 1
        self.size = end
        return start

    def whole(self) -> bytes:
        """Returns the bytes of the file."""
        return b"".join((_FILE.pack(self.count, _VERSION), *self.pieces))


def stored(file: memoryview, offset: int, kind: Tensor, *, is_short: bool = False) -> memoryview:
    """Returns the elements of a tensor in a file of weights. Raises BackendError where the file has none of this type there."""
    count = nbytes(kind)
    element = element_of(kind)
    wanted = (STORED_SHORT[element], -(-count // 2), count % 2 * 4) if is_short else (STORED.get(element), count, 0)
    if not _FILE.size <= offset <= len(file) - _RECORD.size or offset % ALIGNMENT or _FILE.unpack_from(file)[1] != _VERSION:
        raise refused(f"there is no weight at byte {offset} of {len(file)}")
    sentinel, number, size, place, unused = _RECORD.unpack_from(file, offset)
    if sentinel != _SENTINEL or (number, size, unused) != wanted or place + size > len(file):
        raise refused(f"the weight at byte {offset} is no {kind}")
    return file[place : place + size]


def package_files(model: bytes, weights: bytes) -> dict[str, bytes]:
    """Returns the files of a `.mlpackage` folder by their paths. Equal models have equal files."""
    digest = hashlib.sha256(model).hexdigest()
    entries = {
        str(uuid.uuid5(uuid.NAMESPACE_OID, f"{digest} {name}")): {
            "author": "com.apple.CoreML",
            "description": description,
            "name": name,
            "path": f"com.apple.CoreML/{name}",
        }
        for name, description in (("model.mlmodel", "CoreML Model Specification"), ("weights", "CoreML Model Weights"))
    }
    manifest = {"fileFormatVersion": "1.0.0", "itemInfoEntries": entries, "rootModelIdentifier": next(iter(entries))}
    return {"Manifest.json": json.dumps(manifest, indent=4).encode(), MODEL: model, WEIGHTS: weights}


def flattened(model: bytes, weights: bytes, inputs: Sequence[str], outputs: Sequence[str]) -> bytes:
    """Returns a model as ExecuTorch's runtime takes it, with the names of its inputs and outputs in their order."""
    digest = hashlib.sha256(model + weights).hexdigest()
    metadata = {"inputNames": list(inputs), "outputNames": list(outputs), "identifier": f"executorch_{digest[:32]}"}
    files = {f"{_FOLDER}/{path}": data for path, data in package_files(model, weights).items()}
    return _flat("lowered_module", files | {_METADATA: json.dumps(metadata).encode()})


def _flat(name: str, files: Mapping[str, bytes]) -> bytes:
    nodes: list[dict[str, Any]] = []
    pieces: list[bytes] = []
    size = 0

    def add(name: str, kind: int, offset: int, count: int, children: Mapping[str, int]) -> int:
        nodes.append({"name": name, "kind": kind, "dataRegion": {"offset": offset, "size": count}, "children": children})
        return len(nodes) - 1

    def add_folder(name: str, inside: Mapping[str, bytes]) -> int:
        nonlocal size
        children: dict[str, int] = {}
        for first in sorted({path.partition("/")[0] for path in inside}):
            if first in inside:
                size = _aligned(size)
                pieces.append(bytes(size - sum(map(len, pieces))) + inside[first])
                children[first] = add(first, 0, size, len(inside[first]), {})
                size += len(inside[first])
            else:
                within = {path.removeprefix(f"{first}/"): data for path, data in inside.items() if path.startswith(f"{first}/")}
                children[first] = add_folder(first, within)
        return add(name, 1, 0, 0, children)

    add_folder(name, files)
    return b"".join((*pieces, json.dumps({"nodes": nodes}).encode()[::-1]))


def unflattened(data: memoryview) -> Mapping[str, memoryview]:
    """Returns the files of a folder by their paths. Raises BackendError for bytes that are no folder."""
    nodes = _nodes(data)
    paths: list[dict[str, memoryview]] = []
    for number, node in enumerate(nodes):
        match node:
            case {"kind": 0, "dataRegion": {"offset": int(start), "size": int(size)}} if 0 <= start <= start + size <= len(data):
                paths.append({"": data[start : start + size]})
            case {"kind": 1, "children": {**children}}:
                inside: dict[str, memoryview] = {}
                for name, child in cast("dict[str, Any]", children).items():
                    if not isinstance(child, int) or not 0 <= child < number:
                        raise refused(f"its folder {number} has what follows it")
                    inside |= {f"{name}/{path}".rstrip("/"): file for path, file in paths[child].items()}
                paths.append(inside)
            case _:
                raise refused(f"entry {number} of its folder is neither a file in it nor a folder")
    return paths[-1]


def _nodes(data: memoryview) -> Sequence[Any]:
    tail = bytes(data[-_LONGEST:])[::-1]
    try:
        found, _ = json.JSONDecoder().raw_decode(tail.decode("latin-1"))
    except (ValueError, RecursionError):
        found = None
    match found:
        case {"nodes": [_, *_] as nodes}:
            return cast("list[Any]", nodes)
        case _:
            raise refused(f"its {len(data)} bytes do not end with the names of files")


def read_package(data: memoryview) -> tuple[memoryview, memoryview, Mapping[str, Any]]:
    """Returns the model, the weights, and the metadata of a payload. Raises BackendError for others."""
    files = unflattened(data)
    wanted = [f"{_FOLDER}/{MODEL}", f"{_FOLDER}/{WEIGHTS}", _METADATA]
    if missing := [path for path in wanted if path not in files]:
        raise refused(f"it has no file {missing[0]}")
    model, weights, metadata = (files[path] for path in wanted)
    try:
        said = json.loads(bytes(metadata))
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise refused(f"{_METADATA} is no JSON of names")
    return model, weights, cast("dict[str, Any]", said)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
