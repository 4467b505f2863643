"""Backends of vendors whose compilers read TFLite models: a table of limits, and a frame around the model.

Without the vendor's converter a payload is *interchange*: in the frame that the vendor's runtime reads stands the TFLite model, which no
device executes. With it, a payload holds what the converter makes of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from flambeau.backends.litert import LiteRtOptions
from flambeau.backends.litert.decode import decoded
from flambeau.backends.litert.encode import encode_model
from flambeau.backends.litert.legality import is_of_pixels, table
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import Check, OperatorTable, Rule
from flambeau.passes.delegation.interface import BackendError, BackendOptions, Encoded, RefusedError
from flambeau.passes.delegation.normalized import dim_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.vendor_tools.tool import Tool

Encode = Callable[[PartitionOp, ModuleConstants, BackendOptions], Encoded]
Decode = Callable[[memoryview, Mapping[str, memoryview], BlobStore], ModuleOp]
OPERATORS = (
    "add.Tensor avg_pool2d cat clamp constant_pad_nd convolution hardtanh linear max_pool2d_with_indices mean.dim mul.Tensor permute_copy "
    "relu sigmoid slice_copy.Tensor _softmax sub.Tensor tanh view_copy"
).split()
"""The operators that the compilers of all vendors have."""
_SIZED = ("upsample_bilinear2d", "upsample_nearest2d", "pixel_shuffle", "pixel_unshuffle")
_IMAGES = frozenset(("convolution", "avg_pool2d", "max_pool2d_with_indices", "mean", *_SIZED))


def of_one_image(op: SchemaOp) -> str | None:
    """Images of a batch of 1."""
    batch = shape_of(op.operands[0])[0] if op.schema.base in _IMAGES else 1
    return None if batch == 1 else f"it is of {batch} images, and the compiler takes one"


def _is_of_plain_images(op: SchemaOp) -> str | None:
    """Of images, without groups or with one for each channel."""
    groups, shape = op.argument("groups"), shape_of(op.operands[0])
    if len(shape) != 4:
        return "it is not of images"
    return None if groups in (1, shape[1]) else f"it has {groups} groups of {shape[1]} channels"


def is_not_transposed(op: SchemaOp) -> str | None:
    """Not transposed."""
    return "it is transposed" if op.argument("transposed") else None


def _is_of_pixels(op: SchemaOp) -> str | None:
    """Over height and width of images."""
    return None if is_of_pixels(op) else "it is not over height and width of images"


def _is_of_rows(op: SchemaOp) -> str | None:
    """Along the last dimension."""
    return None if dim_of(op) == len(shape_of(op.operands[0])) - 1 else "it is not along the last dimension"


def _is_of_each(op: SchemaOp) -> str | None:
    """In steps of one."""
    return None if op.argument("step") == 1 else f"it takes every {op.argument('step')}th entry"


_CHECKS: dict[str, Check] = {
    "convolution": _is_of_plain_images,
    "mean.dim": _is_of_pixels,
    "_softmax": _is_of_rows,
    "slice_copy.Tensor": _is_of_each,
}
"""What no vendor's table says more about."""


def narrowed(names: Collection[str], checks: Mapping[str, Sequence[Check]], most_dimensions: int) -> OperatorTable:
    """Returns what TFLite has between integers of some operators, of one image, with more checks of each.

    Args:
        names: the operators of the vendor's compiler.
        checks: the vendor's limits, by operators.
        most_dimensions: of tensors.
    """
    whole = table(LiteRtOptions(precision="int8"))

    def rule(name: str, own: Rule) -> Rule:
        common = (_CHECKS[name],) if name in _CHECKS else ()
        return replace(own, checks=(*own.checks, *common, *checks.get(name, ())))

    kept = {name: rule(name, own) for name, own in whole.integers.items() if name in names or name.startswith("quantized_decomposed.")}
    tensors = replace(whole.tensors, rank=(1, most_dimensions), static=True)
    return replace(whole, integers=kept, in_parts={}, tensors=tensors, checks=(of_one_image,))


Frame = Callable[[bytes, int, int], bytes]
"""Makes a payload of the bytes of a model with so many inputs and outputs. Raises BackendError."""
MODEL, COMPILED = "model.tflite", "compiled.bin"
"""The files that a converter reads and writes."""


@dataclass(frozen=True)
class Converter:
    """The vendor's compiler of models.

    Attributes:
        tool: the program.
        arguments: those of its command line, for the options of the backend: it reads MODEL and writes COMPILED. None where the options
            do not say what it needs to know.
        frame: makes a payload of what it wrote.
    """

    tool: Tool
    arguments: Callable[[Any], Sequence[str] | None]
    frame: Frame

    def is_used(self, options: BackendOptions) -> bool:
        """Returns whether payloads are compiled."""
        return self.arguments(options) is not None and self.tool.missing() is None


def framed(frame: Frame, converter: Converter | None = None) -> Encode:
    """Returns the `encode` of a backend, whose payloads are models in a frame, or what a converter makes of them.

    Raises RefusedError with the words of the converter.
    """

    def encode_framed(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
        counts = len(partition.function_type.inputs), len(partition.function_type.outputs)
        model = encode_model(partition, constants)
        if converter is None or not converter.is_used(options):
            return Encoded(frame(model, *counts))
        try:
            result = converter.tool.run(converter.arguments(options) or (), {MODEL: model}, [COMPILED])
            return Encoded(converter.frame(result.file, *counts), made_by=converter.tool.find().label)
        except BackendError as error:
            raise RefusedError({partition: str(error)}) from error

    return encode_framed


def unframed(identifier: str, model_of: Callable[[memoryview], memoryview]) -> Decode:
    """Returns the `decode` of a backend, from a function that finds the model in a payload, which raises BackendError and CompiledError."""

    def decode_framed(data: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore) -> ModuleOp:
        return decoded(model_of(data), (), blobs, identifier)

    return decode_framed
