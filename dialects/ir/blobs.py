"""Weights outside the text: `BlobStore`, which holds bytes by key, and `#flambeau.blob`, the attribute that refers to them.

The text of a module contains `#flambeau.blob<"key", "digest">`. The bytes are in the `BlobStore` of the context, and in
`model.safetensors` beside `model.mlir` (`weights_beside`). A file is memory-mapped, and its bytes are compared with the digest on first
use. So the time to open a module does not depend on the size of its weights, and weights that do not belong to the text are an error.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.weight_files import BlobError, check_replaceable, files_beside, weights_beside
from flambeau.support.files import same_file
from flambeau.support.lazy import np
from flambeau.support.safetensors import SafetensorsError, read_safetensors, write_safetensors

if TYPE_CHECKING:
    from typing_extensions import Buffer

DIGEST_LENGTH = 16
"""Of a digest, in hexadecimal digits."""


def sha256_of(data: "Buffer") -> str:
    """Returns the SHA-256 of bytes, as 64 hexadecimal digits."""
    import hashlib

    return hashlib.sha256(data).hexdigest()


def digest_of(data: "Buffer") -> str:
    """Returns the digest of bytes in the text of a module: the first 16 digits of their SHA-256."""
    return sha256_of(data)[:DIGEST_LENGTH]


@irdl_attr_definition
class BlobAttr(ParametrizedAttribute):
    """`#flambeau.blob<"key", "digest">`: the bytes under `key` in the context's `BlobStore` whose `digest_of` is `digest`."""

    name = "flambeau.blob"
    key: StringAttr
    digest: StringAttr

    @classmethod
    def get(cls, key: str, digest: str) -> Self:
        """Returns the attribute for a key and a digest, as Python strings."""
        return cls(StringAttr(key), StringAttr(digest))

    def verify(self) -> None:
        """Checks that the key is not empty and that the digest is 16 lower-case hexadecimal digits."""
        if not self.key.data:
            raise VerifyException("the key of a blob must not be empty")
        if len(self.digest.data) != DIGEST_LENGTH or not set(self.digest.data) <= set("0123456789abcdef"):
            raise VerifyException(
                f"the digest of blob {self.key.data!r} must be {DIGEST_LENGTH} lower-case hexadecimal digits, not {self.digest.data!r}"
            )

    def print_parameters(self, printer: Printer) -> None:
        """Prints `<"key", "digest">`."""
        with printer.in_angle_brackets():
            printer.print_string_literal(self.key.data)
            printer.print_string(", ")
            printer.print_string_literal(self.digest.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[StringAttr]:
        """Parses `<"key", "digest">`."""
        with parser.in_angle_brackets():
            key = parser.parse_str_literal()
            parser.parse_punctuation(",")
            digest = parser.parse_str_literal()
        return StringAttr(key), StringAttr(digest)


@dataclass
class _Entry:
    """Bytes under a key. Their digest is computed on first use, unless known."""

    data: memoryview
    origin: str
    known_digest: str | None = None

    def digest(self) -> str:
        if self.known_digest is None:
            self.known_digest = digest_of(self.data)
        return self.known_digest


@dataclass
class BlobStore:
    """The bytes that the `BlobAttr`s of a context's modules refer to. They are views: do not change the bytes after you have added them."""

    _entries: dict[str, list[_Entry]] = field(default_factory=dict[str, list[_Entry]])
    _missing: list[str] = field(default_factory=list[str])
    """Why weights may be absent, for the error."""
    _files: list[Path] = field(default_factory=list[Path])
    """The open files."""
    _hashes: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    """The SHA-256 of buffers that were added, by their address and size: entries keep them, so nothing else gets their place."""

    def add(self, key: str, data: "Buffer", sha256: str | None = None) -> BlobAttr:
        """Adds a view of `data`, any C-contiguous buffer, under `key`. Give its `sha256` if you know it.

        One key may hold several contents, as when two models share a context; adding the same content again changes nothing.
        """
        view = _flat(data)
        sha256 = sha256 or self.sha256(view)
        digest = sha256[:DIGEST_LENGTH]
        entries = self._entries.setdefault(key, [])
        if all(entry.digest() != digest for entry in entries):
            entries.append(_Entry(view, "memory", digest))
            self._hashes[_place(view)] = sha256
        return BlobAttr.get(key, digest)

    def sha256(self, data: "Buffer") -> str:
        """Returns the `sha256_of` a C-contiguous buffer. One that was added is not read again."""
        view = _flat(data)
        return self._hashes.get(_place(view)) or sha256_of(view)

    def copy(self) -> "BlobStore":
        """Returns an independent store of the same bytes."""
        return BlobStore({key: list(entries) for key, entries in self._entries.items()}, list(self._missing), list(self._files))

    def take(self, other: "BlobStore", blobs: Iterable[BlobAttr]) -> None:
        """Adds the bytes of `blobs` from another store. Raises BlobError when it does not hold them."""
        for blob in blobs:
            if not self.holds(blob):
                self._entries.setdefault(blob.key.data, []).append(other._entry(blob))
        self._files += [file for file in other._files if file not in self._files]

    def get(self, blob: BlobAttr) -> memoryview:
        """Returns the bytes of `blob`: a flat read-only view of unsigned bytes.

        Raises:
            BlobError: the key is not in the store, or its bytes have another digest.
        """
        return self._entry(blob).data

    def _entry(self, blob: BlobAttr) -> _Entry:
        key, digest = blob.key.data, blob.digest.data
        entries = self._entries.get(key, [])
        for entry in entries:
            if entry.digest() == digest:
                return entry
        if not entries:
            beside = "".join(f"; {reason}" for reason in self._missing)
            raise BlobError(f"there are no weights under {key!r}: the .safetensors file that belongs to this module was not opened{beside}")
        origin, other = entries[-1].origin, entries[-1].digest()
        raise BlobError(
            f"the weights under {key!r} in {origin} have digest {other}, but the module needs {digest}: use the file that was saved with it"
        )

    def origin(self, blob: BlobAttr) -> Path | None:
        """Returns the file that contains the bytes of `blob`; None when they are only in memory, or absent."""
        for entry in self._entries.get(blob.key.data, []):
            if entry.digest() == blob.digest.data and entry.origin != "memory":
                return Path(entry.origin)
        return None

    def open(self, path: str | os.PathLike[str]) -> None:
        """Maps a safetensors file and adds its entries without reading their bytes.

        Raises:
            BlobError: the file cannot be read or is not a well-formed safetensors file.
        """
        try:
            entries = read_safetensors(path)
        except SafetensorsError as error:
            raise BlobError(str(error)) from None
        for key, view in entries.items():
            self._entries.setdefault(key, []).append(_Entry(view, str(path)))
        self._files.append(Path(path))

    def open_beside(self, module_path: str | os.PathLike[str]) -> None:
        """Opens the weights of a module: its `files_beside`. If there are none, `get` will raise an error."""
        files = files_beside(module_path)
        for file in files:
            self.open(file)
        if not files:
            self.note_absence(f"{weights_beside(module_path)} does not exist")

    def note_absence(self, reason: str) -> None:
        """Says why weights may be absent, as a clause for the error of `get`."""
        self._missing.append(reason)

    def holds(self, blob: BlobAttr) -> bool:
        """Returns whether the store has the bytes of `blob`."""
        return any(entry.digest() == blob.digest.data for entry in self._entries.get(blob.key.data, []))

    def save(
        self, path: str | os.PathLike[str], entries: Iterable[tuple[BlobAttr, str, Sequence[int]]], *, over_opened: bool = False
    ) -> None:
        """Writes blobs as one safetensors file, in order of their keys.

        Args:
            path: the file; an existing one is replaced atomically if Flambeau wrote it.
            entries: blob, safetensors dtype name, shape.
            over_opened: allow replacing a file that this store has open, because the module that it belongs to is replaced too.

        Raises:
            BlobError: a blob is absent, one key has two contents, or the file cannot be written, was not written by Flambeau, or is open.
        """
        check_replaceable(path)
        if not over_opened and any(same_file(path, file) for file in self._files):
            raise BlobError(f"{path} holds the weights of a module that was read: write to a file of another name")
        chosen: dict[str, tuple[BlobAttr, str, Sequence[int]]] = {}
        for blob, dtype, shape in entries:
            known = chosen.setdefault(blob.key.data, (blob, dtype, shape))
            if known[0] != blob:
                raise BlobError(f"two different weights have the key {blob.key.data!r}, which one file cannot hold: give one another key")
        written = [(key, dtype, shape, self.get(blob)) for key, (blob, dtype, shape) in sorted(chosen.items())]
        try:
            write_safetensors(path, written)
        except SafetensorsError as error:
            raise BlobError(str(error)) from None


def _place(view: memoryview) -> tuple[int, int]:
    return np.frombuffer(view, np.uint8).ctypes.data if view.nbytes else 0, view.nbytes


def _flat(data: "Buffer") -> memoryview:
    view = memoryview(data)
    if not view.c_contiguous:
        raise BlobError(
            f"the bytes of a blob must be C-contiguous, got shape {list(view.shape or ())} with strides {list(view.strides or ())}"
        )
    # Python cannot cast an empty view of more than one dimension.
    return (view.cast("B") if view.nbytes else memoryview(b"")).toreadonly()
