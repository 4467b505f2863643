"""Lists the weights that a module refers to, and saves them as a safetensors file."""

from __future__ import annotations

from math import prod
from os import PathLike

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Operation

from flambeau.dialects.ir.blobs import BlobAttr, BlobStore
from flambeau.dialects.ir.tensor_types import dtype_of, element_of, shape_of
from flambeau.dialects.ir.weight_files import BlobError
from flambeau.dialects.ml_program.ops import GlobalOp


def blobs_in(op: Operation) -> list[BlobAttr]:
    """Returns the blobs in the properties of an operation and in dictionaries among them."""
    found: list[BlobAttr] = []
    for value in op.properties.values():
        items = value.data.values() if isinstance(value, DictionaryAttr) else (value,)
        found += [item for item in items if isinstance(item, BlobAttr)]
    return found


def weights_in(module: ModuleOp, blobs: BlobStore, *, held_only: bool = False) -> list[tuple[BlobAttr, str, tuple[int, ...]]]:
    """Returns the weights that `module` refers to, each with its safetensors dtype and shape.

    Args:
        module: the module.
        blobs: the store of its weights.
        held_only: leave out operations whose blobs are not in the store.

    Raises:
        BlobError: a payload is not in the store.
    """
    entries: list[tuple[BlobAttr, str, tuple[int, ...]]] = []
    for op in module.body.block.ops:
        if held_only and not all(blobs.holds(blob) for blob in blobs_in(op)):
            continue
        if isinstance(op, GlobalOp) and isinstance(op.value, BlobAttr):
            entries.append((op.value, dtype_of(element_of(op.type)).safetensors, shape_of(op.type)))
            continue
        for blob in blobs_in(op):
            entries.append((blob, "U8", (len(blobs.get(blob)),)))
    return entries


def check_weights(module: ModuleOp, blobs: BlobStore) -> None:
    """Raises BlobError, with the operation, for weights that are not in the store, or whose size differs from their global's."""
    for op in module.body.block.ops:
        for blob in blobs_in(op):
            try:
                found = len(blobs.get(blob))
            except BlobError as error:
                raise BlobError(str(error), op) from error
            if isinstance(op, GlobalOp) and found != (size := prod(shape_of(op.type)) * dtype_of(element_of(op.type)).size):
                name = f"@{op.sym_name.data}"
                raise BlobError(f"global {name} is {op.type}, which takes {size} bytes, but its weights {blob.key.data!r} have {found}", op)


def save_weights(module: ModuleOp, blobs: BlobStore, path: str | PathLike[str]) -> bool:
    """Saves the weights that `module` refers to as a safetensors file; returns whether there are any. Raises BlobError."""
    check_weights(module, blobs)
    entries = weights_in(module, blobs)
    if entries:
        blobs.save(path, entries)
    return bool(entries)
