"""Layers of quantization: rounding to a number of levels, and conversion to other element types."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import i8
from xdsl.ir import Attribute

from flambeau.backends.openvino.dialect.layers import LayerOp, openvino
from flambeau.dialects.ir.tensor_types import Tensor, f32, numpy_dtype, shape_of, tensor, ui8
from flambeau.support.lazy import Array, np

DESTINATIONS: dict[str, Attribute] = {"f32": f32, "i8": i8, "u8": ui8}


@openvino(
    "FakeQuantize(Tensor data, float input_low, float input_high, float output_low, float output_high, *, int levels,"
    " str auto_broadcast='numpy') -> Tensor"
)
class FakeQuantizeLayerOp(LayerOp):
    """The input, limited to an interval, rounded to one of `levels` evenly spaced numbers in it, and mapped to another interval."""

    @staticmethod
    def infer(x: Tensor, /, input_low: float, input_high: float, levels: int, auto_broadcast: str) -> Tensor:
        if not input_low < input_high or levels < 2 or auto_broadcast != "numpy":
            raise ValueError(f"its limits {input_low} and {input_high}, its levels {levels} or its broadcast {auto_broadcast!r} are wrong")
        return tensor(f32, shape_of(x))

    @staticmethod
    def numpy(x: Array, /, input_low: float, input_high: float, output_low: float, output_high: float, levels: int) -> Array:
        low, high, least, most = (np.float32(item) for item in (input_low, input_high, output_low, output_high))
        steps = np.float32(levels - 1)
        rounded = np.rint((np.clip(x, low, high) - low) / (high - low) * steps)
        return (rounded / steps * (most - least) + least).astype(np.float32)


@openvino("Convert(Tensor data, *, str destination_type) -> Tensor")
class ConvertLayerOp(LayerOp):
    """The same numbers in another element type."""

    takes: ClassVar[frozenset[Attribute] | None] = frozenset(DESTINATIONS.values())

    @staticmethod
    def infer(x: Tensor, /, destination_type: str) -> Tensor:
        if destination_type not in DESTINATIONS:
            raise ValueError(f"destination_type is one of {', '.join(DESTINATIONS)}, not {destination_type!r}")
        return tensor(DESTINATIONS[destination_type], shape_of(x))

    @staticmethod
    def numpy(x: Array, /, destination_type: str) -> Array:
        whole = np.nan_to_num(x).astype(np.int64) if x.dtype.kind == "f" and destination_type != "f32" else x
        return whole.astype(numpy_dtype(DESTINATIONS[destination_type]))
