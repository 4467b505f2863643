"""Weights outside the text: a store of named bytes, and the attribute that names one of them.

The text of a module holds `#flambeau.blob<"key", "digest">`; the bytes live in a `BlobStore` that belongs to the context and are saved
beside `model.mlir` as `model.safetensors` (`weights_beside`). A file is memory-mapped and its bytes are compared with the digest when they
are first used, so opening a module costs nothing that grows with its weights, and weights that do not belong to the text are an error, not
a wrong answer.
"""

import mmap
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from flambeau.support.files import replacing

if TYPE_CHECKING:
    from typing_extensions import Buffer

DATA_ALIGNMENT = 64
"""The bytes of a file that we write begin at a multiple of this; each entry then begins at a multiple of its element size."""

ELEMENT_SIZES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1,
    "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4,
    "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip
"""The dtype names of the safetensors format that we write, with bytes per element."""

WEIGHTS = "weights"
"""The folder beside modules that holds the weights that they share."""

_SUFFIX = ".safetensors"

MAXIMUM_HEADER = 100_000_000
"""The limit that the safetensors format puts on its header, in bytes."""


_METADATA, _OURS = "__metadata__", {"producer": "flambeau"}
"""How a file says that it was written here."""


class BlobError(ValueError):
    """Bytes that are missing, different from what the text says, or stored in a damaged file. One line, for people."""


def weights_beside(module_path: str | os.PathLike[str]) -> Path:
    """Where the weights of a module are: `model.safetensors` for `model.mlir`; for another name that name with `.safetensors` after it."""
    path = Path(module_path)
    return path.with_suffix(_SUFFIX) if path.suffix == ".mlir" else path.with_name(f"{path.name}{_SUFFIX}")


def takes_weights(module_path: str | os.PathLike[str]) -> bool:
    """Whether weights can be saved beside a module: not beside a device or a pipe."""
    path = Path(module_path)
    return path.is_file() or not path.exists()


def check_text_name(name: str | os.PathLike[str]) -> None:
    """Raises BlobError when a text is to have the name of a file of weights."""
    path = Path(name)
    if path.suffix == _SUFFIX:
        raise BlobError(f"{path} is where the weights go: name the IR {path.with_suffix('.mlir')}")


def check_beside(module_path: str | os.PathLike[str], source: str | os.PathLike[str] | None = None) -> None:
    """Sees whether a module may be written with its weights beside it, so that no other weights are lost.

    Args:
        module_path: the file of the text.
        source: what is read, whose weights are to stay unless it is `module_path` itself.

    Raises:
        BlobError: `module_path` is the name of a file of weights, or the weights would replace those of another module, or of others.
    """
    check_text_name(module_path)
    path = Path(module_path)
    if not takes_weights(path) or not (weights := weights_beside(path)).exists():
        return
    check_replaceable(weights)
    if source is not None and same_file(path, source):
        return
    others = [path.with_name(f"{path.name}.mlir")] if path.suffix != ".mlir" else []
    if source is not None and same_file(weights, weights_beside(source)):
        others.insert(0, Path(source))
    for other in others:
        if other.exists():
            raise BlobError(f"{weights} holds the weights of {other}: give what is to be written another name than {path}")


def files_beside(module_path: str | os.PathLike[str]) -> list[Path]:
    """The files in which the weights of a module are looked for, as far as they exist.

    They are the file beside it, or one that belongs to its name with `.mlir` in place of another suffix, or else all that is in the folder
    `weights`.
    """
    path = Path(module_path)
    for file in (weights_beside(path), path.with_suffix(_SUFFIX)):
        if file.exists() and file != path:
            return [file]
    return sorted((path.parent / WEIGHTS).glob(f"*{_SUFFIX}"))


def same_file(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether there is one file under both names."""
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


def digest_of(data: "Buffer") -> str:
    """The name of some bytes: 64 bits of BLAKE2b as 16 hexadecimal digits."""
    import hashlib

    return hashlib.blake2b(data, digest_size=8).hexdigest()


@irdl_attr_definition
class BlobAttr(ParametrizedAttribute):
    """`#flambeau.blob<"key", "digest">`: bytes that the context's `BlobStore` holds under `key` and whose `digest_of` is `digest`."""

    name = "flambeau.blob"
    key: StringAttr
    digest: StringAttr

    @classmethod
    def get(cls, key: str, digest: str) -> Self:
        """The attribute for a key and a digest."""
        return cls(StringAttr(key), StringAttr(digest))

    def verify(self) -> None:
        """A key is not empty; a digest is 16 lower-case hexadecimal digits."""
        if not self.key.data:
            raise VerifyException("the key of a blob must not be empty")
        if len(self.digest.data) != 16 or not set(self.digest.data) <= set("0123456789abcdef"):
            raise VerifyException(
                f"the digest of blob {self.key.data!r} must be 16 lower-case hexadecimal digits, not {self.digest.data!r}"
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
    """Bytes under a key. The digest of a mapped file's bytes is computed when first asked for."""

    data: memoryview
    origin: str
    known_digest: str | None = None

    def digest(self) -> str:
        if self.known_digest is None:
            self.known_digest = digest_of(self.data)
        return self.known_digest


@dataclass
class BlobStore:
    """The bytes that the `BlobAttr`s of a context's modules name: views, which whoever added them leaves unchanged from then on."""

    _entries: dict[str, list[_Entry]] = field(default_factory=dict[str, list[_Entry]])
    _missing: list[Path] = field(default_factory=list[Path])
    _files: list[Path] = field(default_factory=list[Path])
    """Those that are open."""

    def add(self, key: str, data: "Buffer", digest: str | None = None) -> BlobAttr:
        """Keeps a view of `data` (any C-contiguous buffer), whose `digest_of` may be known, under `key`.

        The same key may hold several contents, as when two models meet in one context; adding the same content again changes nothing.
        """
        view = _flat(data)
        if digest is None:
            digest = digest_of(view)
        entries = self._entries.setdefault(key, [])
        if all(entry.digest() != digest for entry in entries):
            entries.append(_Entry(view, "memory", digest))
        return BlobAttr.get(key, digest)

    def copy(self) -> "BlobStore":
        """A store of the same bytes, to which may be added without a change to this one."""
        return BlobStore({key: list(entries) for key, entries in self._entries.items()}, list(self._missing), list(self._files))

    def take(self, other: "BlobStore", blobs: Iterable[BlobAttr]) -> None:
        """Adds some of the bytes of another store. Raises BlobError when it does not hold them."""
        for blob in blobs:
            if not self.holds(blob):
                self._entries.setdefault(blob.key.data, []).append(other._entry(blob))
        self._files += [file for file in other._files if file not in self._files]

    def get(self, blob: BlobAttr) -> memoryview:
        """The bytes of `blob`: a flat read-only view of unsigned bytes.

        Raises:
            BlobError: nothing, or something else, is stored under the key.
        """
        return self._entry(blob).data

    def _entry(self, blob: BlobAttr) -> _Entry:
        key, digest = blob.key.data, blob.digest.data
        entries = self._entries.get(key, [])
        for entry in entries:
            if entry.digest() == digest:
                return entry
        if not entries:
            beside = "".join(f"; {path} does not exist" for path in self._missing)
            raise BlobError(
                f"no weights are stored under {key!r}: the .safetensors file that belongs to this module was not opened{beside}"
            )
        origin, other = entries[-1].origin, entries[-1].digest()
        raise BlobError(
            f"the weights under {key!r} in {origin} have digest {other}, but the module needs {digest}: use the file that was saved with it"
        )

    def origin(self, blob: BlobAttr) -> Path | None:
        """The file that holds the bytes of `blob`; None when they are in memory only, or absent."""
        for entry in self._entries.get(blob.key.data, []):
            if entry.digest() == blob.digest.data and entry.origin != "memory":
                return Path(entry.origin)
        return None

    def open(self, path: str | os.PathLike[str]) -> None:
        """Maps a safetensors file and adds all of its entries without reading their bytes.

        Raises:
            BlobError: the file cannot be read or is not a well-formed safetensors file.
        """
        for key, view in read_safetensors(path).items():
            self._entries.setdefault(key, []).append(_Entry(view, str(path)))
        self._files.append(Path(path))

    def open_beside(self, module_path: str | os.PathLike[str]) -> None:
        """Opens the weights of a module: its `files_beside`. Their absence is an error only once a weight is asked for."""
        files = files_beside(module_path)
        for file in files:
            self.open(file)
        if not files:
            self._missing.append(weights_beside(module_path))

    def holds(self, blob: BlobAttr) -> bool:
        """Whether the bytes of `blob` are here."""
        return any(entry.digest() == blob.digest.data for entry in self._entries.get(blob.key.data, []))

    def save(
        self, path: str | os.PathLike[str], entries: Iterable[tuple[BlobAttr, str, Sequence[int]]], *, over_opened: bool = False
    ) -> None:
        """Writes the named blobs as one safetensors file, in order of their keys.

        Args:
            path: replaced atomically, if Flambeau wrote it.
            entries: blob, safetensors dtype name (a key of `ELEMENT_SIZES`), shape.
            over_opened: replace even a file that the bytes are mapped from, as the module that it belongs to is replaced too.

        Raises:
            BlobError: a blob is absent, or one key stands for two contents, or the file cannot be written, or is someone else's, or is
                open.
        """
        check_replaceable(path)
        if not over_opened and any(same_file(path, file) for file in self._files):
            raise BlobError(f"{path} holds the weights of what was read: give what is to be written another name")
        chosen: dict[str, tuple[BlobAttr, str, Sequence[int]]] = {}
        for blob, dtype, shape in entries:
            known = chosen.setdefault(blob.key.data, (blob, dtype, shape))
            if known[0] != blob:
                raise BlobError(f"two different weights are both called {blob.key.data!r}: one file cannot hold both; give one another key")
        write_safetensors(path, [(key, dtype, shape, self.get(blob)) for key, (blob, dtype, shape) in sorted(chosen.items())])


def _flat(data: "Buffer") -> memoryview:
    view = memoryview(data)
    if not view.c_contiguous:
        raise BlobError("bytes to be stored must be contiguous")
    # An empty view of more than one dimension cannot be cast.
    return (view.cast("B") if view.nbytes else memoryview(b"")).toreadonly()


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, memoryview]:
    """The entries of a safetensors file as views of its mapping.

    Raises:
        BlobError: the file cannot be read or is not well formed.
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
                raise BlobError(f"{path} is damaged: entry {key!r} has no bytes within the file")
    return views


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raises BlobError when there is a file of weights that others wrote, such as a checkpoint: it is not to be lost."""
    if Path(path).is_file() and Path(path).stat().st_size:
        try:
            ours = _map(path)[2].get(_METADATA) == _OURS
        except BlobError:
            ours = False
        if not ours:
            raise BlobError(f"{path} exists and was not written by Flambeau: move it away, or give what is to be written another name")


def _map(path: str | os.PathLike[str]) -> tuple[memoryview, int, dict[str, object]]:
    """The bytes of a safetensors file, and its header: its length and what it says. Raises BlobError."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) if size else memoryview(b"")
    except OSError as error:
        raise BlobError(f"cannot open weights {path}: {error.strerror}") from None
    length = int.from_bytes(mapped[:8], "little")
    if size < 8 or length > min(size - 8, MAXIMUM_HEADER):
        raise BlobError(f"{path} is not a safetensors file: its header is cut off")
    import json

    try:
        header = json.loads(bytes(mapped[8 : 8 + length]))
    except (ValueError, RecursionError):
        raise BlobError(f"{path} is not a safetensors file: its header is not JSON") from None
    if not isinstance(header, dict):
        raise BlobError(f"{path} is not a safetensors file: its header is not an object")
    return mapped, length, cast(dict[str, object], header)


def write_safetensors(path: str | os.PathLike[str], entries: Sequence[tuple[str, str, Sequence[int], memoryview]]) -> None:
    """Writes (key, dtype name, shape, bytes) entries, back to back as the format demands, with the first at a multiple of `DATA_ALIGNMENT`.

    Raises:
        BlobError: the bytes do not fill the shape, or the file cannot be written.
    """
    header: dict[str, object] = {_METADATA: _OURS}
    offset = 0
    # Entries of wider elements first: each then starts at a multiple of its element size without gaps, which the format does not admit.
    ordered = sorted(entries, key=lambda entry: -ELEMENT_SIZES[entry[1]])
    for key, dtype, shape, data in ordered:
        expected = ELEMENT_SIZES[dtype]
        for extent in shape:
            expected *= extent
        if expected != len(data):
            raise BlobError(f"the weights under {key!r} have {len(data)} bytes, but {dtype} of shape {list(shape)} takes {expected}")
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
        raise BlobError(f"cannot write weights {path}: {error.strerror}") from None
