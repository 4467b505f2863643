"""Images in another size."""

from __future__ import annotations

from flambeau.backends.vulkan.dialect.kernels import Dispatch, KernelOp, Numbers, elements, like, over, vulkan, word
from flambeau.dialects.aten.images.upsample import UpsampleBilinear2dVecOp, UpsampleNearest2dVecOp
from flambeau.dialects.ir.tensor_types import Tensor, shape_of
from flambeau.support.lazy import Array


class ResizeKernelOp(KernelOp):
    """A resize of the last two dimensions."""

    @staticmethod
    def infer(x: Tensor, /, size: Numbers) -> Tensor:
        if len(shape_of(x)) != 4 or len(size) != 2 or min(size) < 1:
            raise ValueError(f"the image {list(shape_of(x))} cannot have the size {list(size)}")
        return like(x, (*shape_of(x)[:2], *size))

    def resized(self, is_bilinear: bool, aligns_corners: bool) -> list[Dispatch]:
        """Returns the dispatch of a resize."""
        x, count = self.operands[0], elements(self.result)
        old, new = shape_of(x)[2:], shape_of(self.result)[2:]
        less = int(aligns_corners)
        steps = [word((a - less) / (b - less) if b > less else 0) for a, b in zip(old, new, strict=True)]
        return [Dispatch("resize", (int(is_bilinear), less), (count, *old, *new, *steps), (x, self.result), over(count))]


@vulkan("resize_nearest(Tensor x, *, int[] size) -> Tensor")
class ResizeNearestKernelOp(ResizeKernelOp):
    """Each element is the nearest one before it."""

    @staticmethod
    def numpy(x: Array, /, size: Numbers) -> Array:
        return UpsampleNearest2dVecOp.numpy(x, size, None)

    def dispatches(self) -> list[Dispatch]:
        return self.resized(False, False)


@vulkan("resize_bilinear(Tensor x, *, int[] size, bool align_corners=False) -> Tensor")
class ResizeBilinearKernelOp(ResizeKernelOp):
    """Each element is interpolated between four; with `align_corners`, those in the corners stay."""

    @staticmethod
    def numpy(x: Array, /, size: Numbers, align_corners: bool) -> Array:
        return UpsampleBilinear2dVecOp.numpy(x, size, align_corners, None)

    def dispatches(self) -> list[Dispatch]:
        return self.resized(True, self.argument("align_corners"))
