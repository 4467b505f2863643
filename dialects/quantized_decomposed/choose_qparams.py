"""Scales and zero points that fit the content of a tensor."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64, i8, i64
from xdsl.ir import Attribute

from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.reductions.reduction import ExtremeOp
from flambeau.dialects.ir.tensor_types import Tensor, bf16, dtype_of, element_of, shape_of, tensor, ui8
from flambeau.dialects.quantized_decomposed.quantize import quantized_element, require_float, require_single
from flambeau.dialects.schema.namespace import quantized_decomposed
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

Pair = tuple[Array, Array]


def require_vectors(x: Tensor) -> None:
    """Raises ValueError unless there is a last dimension that has elements."""
    if not shape_of(x):
        raise ValueError("a tensor without dimensions has no vectors")
    ExtremeOp.infer(x, -1)


class ChooseQparamsOp(SchemaOp):
    """One scale (float64) and zero point (int64) for a tensor."""

    @staticmethod
    def infer(x: Tensor, /, quant_min: int, quant_max: int, dtype: Attribute) -> tuple[Tensor, Tensor]:
        require_single(x)
        ExtremeOp.infer(x)
        quantized_element(dtype)
        if quant_min >= quant_max:
            raise ValueError(f"quant_min {quant_min} must be smaller than quant_max {quant_max}")
        return tensor(f64, (1,)), tensor(i64, (1,))


@quantized_decomposed(
    "choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)",
    out="Tensor_out",
)
class ChooseQparamsTensorOp(ChooseQparamsOp):
    """The scale (float64) and zero point (int64) that map the range of a tensor, extended to include 0, to quant_min … quant_max."""

    @staticmethod
    def numpy(x: Array, /, quant_min: int, quant_max: int, eps: float) -> Pair:
        wide = widened(x)
        low, high = np.minimum(wide.min(), 0), np.maximum(wide.max(), 0)
        scale = np.maximum((high - low) / np.float32(quant_max - quant_min), np.float32(eps))
        zero_point = np.clip(quant_min - np.rint(low / scale), quant_min, quant_max)
        return np.asarray([scale], np.float64), np.asarray([zero_point]).astype(np.int64)


@quantized_decomposed(
    "choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)",
)
class ChooseQparamsSymmetricTensorOp(ChooseQparamsOp):
    """The scale (float64) that maps the largest magnitude of a tensor to half of quant_min … quant_max; the zero point is the middle."""

    @staticmethod
    def numpy(x: Array, /, quant_min: int, quant_max: int, eps: float, dtype: Attribute) -> Pair:
        wide = widened(x)
        largest = np.maximum(-np.minimum(wide.min(), 0), np.maximum(wide.max(), 0))
        scale = np.maximum(largest / np.float32((quant_max - quant_min) / 2), np.float32(eps))
        return np.asarray([scale], np.float64), np.asarray([128 if quantized_element(dtype) == ui8 else 0], np.int64)


@quantized_decomposed("choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
class ChooseQparamsPerTokenOp(SchemaOp):
    """For each vector along the last dimension, the scale that maps its largest magnitude to 127, and the zero point 0."""

    @staticmethod
    def infer(x: Tensor, /, dtype: Attribute) -> tuple[Tensor, Tensor]:
        require_float(x)
        require_vectors(x)
        if quantized_element(dtype) != i8:
            raise TypeError(f"it chooses for int8, not for {dtype_of(quantized_element(dtype)).torch}")
        element = bf16 if element_of(x) == bf16 else f64 if element_of(x) == f64 else f32
        result = tensor(element, (*shape_of(x)[:-1], 1))
        return result, result

    @staticmethod
    def numpy(x: Array, /) -> Pair:
        wide = x if x.dtype.name != "float16" else x.astype(np.float32)
        largest = np.abs(wide).max(axis=-1, keepdims=True)
        scales = (np.maximum(widened(largest), np.float32(1e-5)) / np.float32(127)).astype(wide.dtype)
        return scales, np.zeros_like(scales)


@quantized_decomposed(
    "choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
)
class ChooseQparamsPerTokenAsymmetricOp(SchemaOp):
    """For each vector along the last dimension, the scale (float64) and zero point (int64) that map its range, including 0, to int8."""

    @staticmethod
    def infer(x: Tensor, /) -> tuple[Tensor, Tensor]:
        require_float(x)
        require_vectors(x)
        shape = (*shape_of(x)[:-1], 1)
        return tensor(f64, shape), tensor(i64, shape)

    @staticmethod
    def numpy(x: Array, /) -> Pair:
        wide = widened(x)
        quant_min, quant_max = -128, 127
        low = np.minimum(wide.min(axis=-1, keepdims=True), 0)
        high = np.maximum(wide.max(axis=-1, keepdims=True), 0)
        scale = np.maximum((high - low) / wide.dtype.type(quant_max - quant_min), wide.dtype.type(2.0**-23))
        small: Array = low / scale
        large: Array = high / scale
        above = (quant_min + small) + (quant_max + large) > 0
        zero_point = np.where(above, quant_min - small, quant_max - large)
        return scale.astype(np.float64), np.rint(np.clip(zero_point, quant_min, quant_max)).astype(np.int64)
