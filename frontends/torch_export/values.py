"""Converts PyTorch's dtypes, tensors and weights to element types, tensor types and blobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch._subclasses.fake_tensor import FakeTensor
from xdsl.ir import Attribute

from flambeau.dialects.edge.layout import CHANNELS_LAST
from flambeau.dialects.ir.blobs import BlobAttr
from flambeau.dialects.ir.layout_attribute import LayoutAttr
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, element_of, from_torch_name, numpy_dtype, tensor
from flambeau.support.lazy import Array

if TYPE_CHECKING:
    from flambeau.dialects.ir.blobs import BlobStore
    from flambeau.frontends.torch_export.exported_symbols import Symbols

MEMORY_FORMATS = {
    torch.contiguous_format: "contiguous",
    torch.channels_last: "channels_last",
    torch.channels_last_3d: "channels_last_3d",
    torch.preserve_format: "preserve",
}


def element_type(dtype: torch.dtype) -> ElementType:
    """Returns the element type of a dtype. Raises TypeError for quantized and other dtypes that programs cannot hold."""
    row = from_torch_name(str(dtype))
    if row is None:
        raise TypeError(f"tensors of {dtype} are not supported")
    return row.element


def tensor_type_of(value: torch.Tensor, symbols: Symbols | None = None, *, layout: bool = False) -> Tensor:
    """Returns the type of a (fake) tensor.

    Args:
        value: the tensor; only its shape, dtype and strides matter.
        symbols: the symbols of the program, for a tensor of dynamic shape.
        layout: write the dim order of a dense permuted tensor (channels last) on the type.

    Raises:
        TypeError: the tensor is sparse or quantized, or its shape has no form in the IR.
    """
    if value.layout is not torch.strided:
        raise TypeError(f"{value.layout} tensors are not supported: use dense ones")
    shape = tuple(value.shape) if symbols is None else symbols.shape(value.shape)
    encoding: Attribute | None = None
    if layout and not value.is_contiguous() and (order := dense_order(value)) is not None:
        encoding = LayoutAttr.of(order)
    return tensor(element_type(value.dtype), shape, encoding)


def dense_order(value: torch.Tensor) -> tuple[int, ...] | None:
    """Returns the dimensions from the outermost to the innermost in memory; None if elements overlap or leave gaps."""
    if value.dim() == 4 and value.is_contiguous(memory_format=torch.channels_last):
        return CHANNELS_LAST  # the strides of dimensions of size 1 may differ, and are irrelevant
    order = sorted(range(value.dim()), key=lambda dim: (-value.stride(dim), dim))
    return tuple(order) if value.permute(order).is_contiguous() else None


def is_fake(value: torch.Tensor) -> bool:
    """Returns whether a tensor has no data, only a shape and a dtype."""
    return value.is_meta or isinstance(value, FakeTensor)


def array_of(value: torch.Tensor) -> Array:
    """Returns a numpy view of a tensor, whose dtype may be one of `ml_dtypes`.

    Raises TypeError for a tensor whose type programs cannot hold.
    """
    kind = tensor_type_of(value)
    return _bytes_of(value).view(numpy_dtype(element_of(kind))).reshape(tuple(value.shape))


def _bytes_of(value: torch.Tensor) -> Array:
    """Returns the elements of a tensor in row-major order; a view of its memory, unless the tensor is lazily conjugated or negated."""
    dense = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
    return cast("Array", dense.reshape(-1).view(torch.uint8).numpy())


class Weights:
    """A writer of tensors to a blob store. It copies no tensor, and hashes and stores a tensor with several names only once."""

    def __init__(self, blobs: BlobStore):
        self._blobs = blobs
        self._known: dict[tuple[Any, ...], BlobAttr] = {}
        # Addresses stay meaningful only while the tensors live.
        self._kept: list[torch.Tensor] = []

    def add(self, key: str, value: torch.Tensor) -> BlobAttr:
        """Returns the blob of a tensor's elements in row-major order. The store keeps a view: the tensor must not change from now on."""
        identity = self.identity(value)
        blob = self._known.get(identity)
        if blob is None:
            blob = self._blobs.add(key, memoryview(cast(Any, _bytes_of(value))))
            self._known[identity] = blob
            self._kept.append(value)
        return blob

    @staticmethod
    def identity(value: torch.Tensor) -> tuple[Any, ...]:
        """Returns a key that is equal for tensors with the same elements in the same memory, and for all empty tensors of a type."""
        if not value.numel():
            return (value.dtype, tuple(value.shape))
        return (value.data_ptr(), value.dtype, tuple(value.shape), value.stride(), value.is_conj(), value.is_neg())
