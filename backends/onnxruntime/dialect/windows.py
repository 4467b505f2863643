"""Pools of images, and images of another size."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.backends.onnxruntime.dialect.operators import Numbers, OnnxOp, onnx
from flambeau.backends.onnxruntime.dialect.products import symmetric
from flambeau.dialects.aten.images.pool import AvgPool2dOp, MaxPool2dWithIndicesOp
from flambeau.dialects.aten.images.upsample import UpsampleBilinear2dVecOp, UpsampleNearest2dVecOp
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import require_only, require_rank
from flambeau.support.lazy import Array

_POOL = "int[] kernel_shape, int[] pads, int[] strides"


def _require_windows(x: Tensor, auto_pad: str, ceil_mode: bool, *lists: Sequence[int]) -> None:
    require_rank("x", shape_of(x), 4)
    require_only("auto_pad", auto_pad, "NOTSET")
    require_only("ceil_mode", ceil_mode, False)
    if any(len(numbers) != 2 for numbers in lists):
        raise ValueError("each list of a window has a number for height and width")


@onnx(
    f"MaxPool(Tensor x, *, str auto_pad='NOTSET', bool ceil_mode=False, int[] dilations, {_POOL}, int storage_order=0) -> Tensor",
)
class MaxPoolOp(OnnxOp):
    """The largest element of each window."""

    @staticmethod
    def infer(
        x: Tensor,
        /,
        auto_pad: str,
        ceil_mode: bool,
        dilations: Numbers,
        kernel_shape: Numbers,
        pads: Numbers,
        strides: Numbers,
        storage_order: int,
    ) -> Tensor:
        padding = symmetric(pads)
        _require_windows(x, auto_pad, ceil_mode, kernel_shape, strides, padding, dilations)
        require_only("storage_order", storage_order, 0)
        return MaxPool2dWithIndicesOp.infer(x, kernel_shape, strides, padding, dilations, False)[0]

    @staticmethod
    def numpy(x: Array, /, dilations: Numbers, kernel_shape: Numbers, pads: Numbers, strides: Numbers) -> Array:
        return MaxPool2dWithIndicesOp.numpy(x, kernel_shape, strides, symmetric(pads), dilations, False)[0]


@onnx(
    "AveragePool(Tensor x, *, str auto_pad='NOTSET', bool ceil_mode=False, bool count_include_pad=False, "
    f"int[] dilations=[1, 1], {_POOL}) -> Tensor"
)
class AveragePoolOp(OnnxOp):
    """The mean of each window, without the padding unless `count_include_pad`."""

    @staticmethod
    def infer(
        x: Tensor, /, auto_pad: str, ceil_mode: bool, dilations: Numbers, kernel_shape: Numbers, pads: Numbers, strides: Numbers
    ) -> Tensor:
        padding = symmetric(pads)
        _require_windows(x, auto_pad, ceil_mode, kernel_shape, strides, padding)
        require_only("dilations", tuple(dilations), (1, 1))
        return AvgPool2dOp.infer(x, kernel_shape, strides, padding, False)

    @staticmethod
    def numpy(x: Array, /, count_include_pad: bool, kernel_shape: Numbers, pads: Numbers, strides: Numbers) -> Array:
        return AvgPool2dOp.numpy(x, kernel_shape, strides, symmetric(pads), False, count_include_pad, None)


@onnx("GlobalAveragePool(Tensor x) -> Tensor")
class GlobalAveragePoolOp(OnnxOp):
    """The mean of each channel of an image."""

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        shape = shape_of(x)
        if len(shape) < 3:
            raise ValueError(f"images have 3 dimensions or more, got {list(shape)}")
        return tensor(element_of(x), (*shape[:2], *(1,) * (len(shape) - 2)))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return x.mean(tuple(range(2, x.ndim)), keepdims=True, dtype="float32").astype(x.dtype)


@onnx(
    "Resize(Tensor x, float[]? roi=None, float[]? scales=None, int[]? sizes=None, *, "
    "str coordinate_transformation_mode='half_pixel', str mode='nearest', str nearest_mode='round_prefer_floor') -> Tensor"
)
class ResizeOp(OnnxOp):
    """Images of another size: copies of pixels, or interpolated between them."""

    @staticmethod
    def infer(
        x: Tensor,
        roi: tuple[float, ...] | None,
        scales: tuple[float, ...] | None,
        sizes: Numbers | None,
        /,
        coordinate_transformation_mode: str,
        mode: str,
        nearest_mode: str,
    ) -> Tensor:
        shape = shape_of(x)
        require_rank("x", shape, 4)
        require_only("roi", roi, None)
        require_only("scales", scales, None)
        if mode == "nearest":
            require_only("nearest_mode", nearest_mode, "floor")
        known = {"nearest": ("asymmetric",), "linear": ("align_corners", "pytorch_half_pixel")}
        if coordinate_transformation_mode not in known.get(mode, ()):
            raise ValueError(f"mode {mode!r} with the coordinates {coordinate_transformation_mode!r} is not supported here")
        if sizes is None or len(sizes) != 4 or min(sizes) < 1 or tuple(sizes[:2]) != shape[:2] or not all(map(is_known, shape)):
            raise ValueError(f"sizes {sizes} must be those of images of {list(shape[:2])} channels, of known sizes")
        return tensor(element_of(x), sizes)

    @staticmethod
    def numpy(x: Array, /, sizes: Numbers, coordinate_transformation_mode: str, mode: str) -> Array:
        if mode == "nearest":
            return UpsampleNearest2dVecOp.numpy(x, tuple(sizes[2:]), None)
        return UpsampleBilinear2dVecOp.numpy(x, tuple(sizes[2:]), coordinate_transformation_mode == "align_corners", None)
