"""Reads (by memory mapping) and writes safetensors files.

The `safetensors` package is not used: its reader copies the bytes or needs numpy, and its writer neither aligns the data nor replaces a
file atomically. The tests compare this module with it.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Sequence
from typing import cast

from flambeau.support.files import replacing

DATA_ALIGNMENT = 64
"""The data of a file that Flambeau writes begins at a multiple of this many bytes, and each entry at a multiple of its element size."""

MAXIMUM_HEADER = 100_000_000
"""The largest header that the safetensors format allows, in bytes."""

_METADATA, _OURS = "__metadata__", {"producer": "flambeau"}
"""The header entry that marks a file as written by Flambeau."""


class SafetensorsError(ValueError):
    """An error of a file that cannot be read or written, or is not well formed. The message is one line for users."""


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, memoryview]:
    """Returns the entries of a safetensors file, as views of the mapped file.

    Raises:
        SafetensorsError: the file cannot be read or is not well formed.
    """
    mapped, length, header = _map(path)
    data = mapped[8 + length :]
    views: dict[str, memoryview] = {}
    for key, entry in header.items():
        if key == _METADATA:
            continue
        offsets = cast(dict[str, object], entry).get("data_offsets") if isinstance(entry, dict) else None
        match offsets:
            case [int(start), int(end)] if 0 <= start <= end <= len(data):
                views[key] = data[start:end]
            case _:
                raise SafetensorsError(
                    f"{path} is damaged: the data_offsets of entry {key!r} must be within {len(data)} bytes, got {offsets!s:.40}"
                )
    return views


def is_ours(path: str | os.PathLike[str]) -> bool:
    """Returns whether a file was written by `write_safetensors`."""
    try:
        return _map(path)[2].get(_METADATA) == _OURS
    except SafetensorsError:
        return False


def _map(path: str | os.PathLike[str]) -> tuple[memoryview, int, dict[str, object]]:
    """Returns the bytes of a safetensors file, the length of its header, and the header. Raises SafetensorsError."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) if size else memoryview(b"")
    except OSError as error:
        raise SafetensorsError(f"cannot open weights {path}: {error.strerror}") from None
    length = int.from_bytes(mapped[:8], "little")
    if size < 8 or length > min(size - 8, MAXIMUM_HEADER):
        raise SafetensorsError(
            f"{path} is not a safetensors file: its header is cut off or too long: it takes {8 + length} of {size} bytes"
        )
    import json

    try:
        header = json.loads(bytes(mapped[8 : 8 + length]))
    except (ValueError, RecursionError):
        raise SafetensorsError(f"{path} is not a safetensors file: its header is not JSON") from None
    if not isinstance(header, dict):
        raise SafetensorsError(f"{path} is not a safetensors file: its header is not an object")
    return mapped, length, cast(dict[str, object], header)


def _element_size(dtype: str) -> int:
    """Returns the bytes of an element from the name of its format, such as `F32`, whose number counts bits; `BOOL` is one byte."""
    bits = re.search(r"\d+", dtype)
    return 1 if bits is None else int(bits[0]) // 8


def write_safetensors(path: str | os.PathLike[str], entries: Sequence[tuple[str, str, Sequence[int], memoryview]]) -> None:
    """Writes (key, dtype name, shape, bytes) entries without gaps, as the format demands; the first is aligned to `DATA_ALIGNMENT`.

    Raises:
        SafetensorsError: the bytes do not fill the shape, or the file cannot be written.
    """
    header: dict[str, object] = {_METADATA: _OURS}
    offset = 0
    # Entries with wider elements come first, so that each is aligned to its element size without gaps.
    ordered = sorted(entries, key=lambda entry: -_element_size(entry[1]))
    for key, dtype, shape, data in ordered:
        expected = _element_size(dtype)
        for extent in shape:
            expected *= extent
        if expected != len(data):
            raise SafetensorsError(f"the weights under {key!r} have {len(data)} bytes, but {dtype} of shape {list(shape)} takes {expected}")
        header[key] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    import json

    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % DATA_ALIGNMENT)
    try:
        with replacing(path) as file:
            file.write(len(text).to_bytes(8, "little"))
            file.write(text)
            for _, _, _, data in ordered:
                file.write(data)
    except OSError as error:
        raise SafetensorsError(f"cannot write weights {path}: {error.strerror}") from None
