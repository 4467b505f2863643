"""Boxes of detection models: which of them to keep, and the features inside of them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import f32, f64, i1, i64
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Block, SSAValue

from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.movement.shape import view
from flambeau.dialects.ir.detached_operations import detached_ops
from flambeau.dialects.ir.extents import differ, is_known, largest, unknown
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import require_same_element
from flambeau.dialects.schema.namespace import aten, torchvision
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

FLOATS = frozenset({f32, f64})


def _overlap(boxes: Sequence[SSAValue], others: Sequence[SSAValue], threshold: float) -> SSAValue:
    """Returns whether the intersections of boxes are more than `threshold` of their unions. A box is its four sides and its area."""

    def common(low: int, high: int) -> SSAValue:
        first, last = aten.maximum(boxes[low], others[low]), aten.minimum(boxes[high], others[high])
        return aten.clamp(aten.sub.Tensor(last, first), 0)

    both = aten.mul.Tensor(common(0, 2), common(1, 3))
    union = aten.sub.Tensor(aten.add.Tensor(boxes[4], others[4]), both)
    return aten.gt.Scalar(aten.div.Tensor(both, union), threshold)


def _kept(boxes: SSAValue, count: int, threshold: float) -> SSAValue:
    """Returns which of the boxes, best first, overlap none before them that is kept.

    Each round keeps the first box that is left, and leaves out those that it overlaps: memory is needed for one row of pairs.
    """
    left, top, right, bottom = (aten.select.int(boxes, 1, side) for side in range(4))
    area = aten.mul.Tensor(aten.sub.Tensor(right, left), aten.sub.Tensor(bottom, top))
    places = aten.arange.start_step(0, count)
    carried = [aten.full((count,), True, i1), aten.full((count,), False, i1), places, left, top, right, bottom, area]
    types = [value.type for value in carried]

    around = Block(arg_types=types)
    some = aten.any(around.args[0])
    around.add_ops([some.owner, found := ExtractOp(some, [], i1), scf.ConditionOp(found.result, *around.args)])

    again = Block(arg_types=types)
    candidates, kept, places, *sides = again.args
    first = aten.amin(aten.where.self(candidates, places, aten.full((), count, i64)), (0,), True)
    here = aten.eq.Tensor(places, first)
    near = _overlap([aten.index_select(side, 0, first) for side in sides], sides, threshold)
    candidates = aten.logical_and(candidates, aten.logical_not(aten.logical_or(near, here)))
    kept = aten.logical_or(kept, here)
    again.add_ops(list(detached_ops([candidates, kept])))
    again.add_op(scf.YieldOp(candidates, kept, places, *sides))
    return scf.WhileOp(carried, types, [around], [again]).results[1]


@torchvision("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
class NmsOp(SchemaOp):
    """The int64 indices of the boxes to keep, best score first: boxes that overlap no better kept box by an IoU above `iou_threshold`."""

    takes = FLOATS

    @staticmethod
    def infer(boxes: Tensor, scores: Tensor, /) -> Tensor:
        require_same_element(boxes, scores)
        if len(shape_of(boxes)) != 2 or differ(shape_of(boxes)[1], 4):
            raise ValueError(f"the boxes must have the shape [number, 4], got {list(shape_of(boxes))}")
        count = shape_of(boxes)[0]
        if len(shape_of(scores)) != 1 or differ(shape_of(scores)[0], count):
            raise ValueError(f"{count} boxes need as many scores, got scores of shape {list(shape_of(scores))}")
        return tensor(i64, (unknown(0, largest(count)),))

    @staticmethod
    def numpy(boxes: Array, scores: Array, /, iou_threshold: float) -> Array:
        order = len(scores) - 1 - np.argsort(scores[::-1], kind="stable")[::-1]  # NaN first, as PyTorch sorts
        corners, ends = boxes[:, :2], boxes[:, 2:]
        area = (ends - corners).prod(1)
        kept: list[int] = []
        left = np.ones(len(order), np.bool_)
        for place in order:
            if not left[place]:
                continue
            kept.append(int(place))
            common = np.clip(np.minimum(ends, ends[place]) - np.maximum(corners, corners[place]), 0, None).prod(1)
            with np.errstate(invalid="ignore", divide="ignore"):
                left &= ~(common / (area[place] + area - common) > iou_threshold)
        return np.array(kept, np.int64)

    @staticmethod
    def decompose(boxes: SSAValue, scores: SSAValue, /, iou_threshold: float) -> SSAValue:
        count = shape_of(boxes)[0]
        order = aten.argsort.stable(scores, stable=True, dim=0, descending=True)
        if is_known(count) and count == 0:
            return aten.masked_select(order, aten.full((0,), True, i1))
        kept = _kept(aten.index_select(boxes, 0, order), count, iou_threshold)
        return aten.masked_select(order, kept)


def _starts_and_steps(rois: SSAValue, side: int, scale: float, bins: int, aligned: bool) -> tuple[SSAValue, SSAValue]:
    """Returns, along one side of each box, its start on the features and the width of a bin."""
    first, last = (aten.mul.Scalar(aten.select.int(rois, 1, place), scale) for place in (side, side + 2))
    if aligned:
        first, last = (aten.sub.Scalar(edge, 0.5) for edge in (first, last))
    width = aten.sub.Tensor(last, first)
    return first, aten.div.Scalar(width if aligned else aten.clamp(width, 1), bins)


def _shares(start: SSAValue, step: SSAValue, bins: int, samples: int, size: int) -> SSAValue:
    """Returns the weight of each of `size` features in a row for each bin of each box: [boxes, bins, size]."""
    element = element_of(start)
    marks = aten.div.Scalar(aten.add.Scalar(aten.arange.start_step(0, bins * samples, dtype=element), 0.5), samples)
    at = aten.add.Tensor(aten.unsqueeze(start, 1), aten.mul.Tensor(aten.unsqueeze(step, 1), aten.unsqueeze(marks, 0)))
    inside = aten.logical_and(aten.ge.Scalar(at, -1), aten.le.Scalar(at, size))
    distance = aten.abs(aten.sub.Tensor(aten.unsqueeze(aten.clamp(at, 0, size - 1), 2), aten.arange.start_step(0, size, dtype=element)))
    share = aten.mul.Tensor(aten.clamp(aten.rsub.Scalar(distance, 1), 0), to_element(aten.unsqueeze(inside, 2), element))
    return aten.mean.dim(view(share, (shape_of(start)[0], bins, samples, size)), (2,))


@torchvision(
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, "
    "bool aligned) -> Tensor"
)
class RoiAlignOp(SchemaOp):
    """The features inside of boxes: each box is divided into bins, and a bin is the mean of `sampling_ratio`² interpolated samples.

    A row of `rois` is the index of the image and the corners of a box, which are multiplied by `spatial_scale`.
    """

    takes = FLOATS

    @staticmethod
    def infer(features: Tensor, rois: Tensor, /, pooled_height: int, pooled_width: int, sampling_ratio: int) -> Tensor:
        require_same_element(features, rois)
        if len(shape_of(features)) != 4:
            raise ValueError(f"the features must have 4 dimensions, got shape {list(shape_of(features))}")
        if len(shape_of(rois)) != 2 or differ(shape_of(rois)[1], 5):
            raise ValueError(f"the boxes must have the shape [number, 5], got {list(shape_of(rois))}")
        if sampling_ratio < 1:
            raise ValueError(f"sampling_ratio must be at least 1, got {sampling_ratio}: the boxes would decide how many samples there are")
        return tensor(element_of(features), (shape_of(rois)[0], shape_of(features)[1], pooled_height, pooled_width))

    @staticmethod
    def numpy(
        features: Array,
        rois: Array,
        /,
        spatial_scale: float,
        pooled_height: int,
        pooled_width: int,
        sampling_ratio: int,
        aligned: bool,
    ) -> Array:
        def shares(side: int, bins: int, size: int) -> Array:
            first, last = (rois[:, place].astype(np.float64) * spatial_scale - 0.5 * aligned for place in (side, side + 2))
            width = last - first if aligned else np.maximum(last - first, 1)
            marks = (np.arange(bins * sampling_ratio) + 0.5) / sampling_ratio
            at = (first[:, None] + (width / bins)[:, None] * marks)[..., None]
            share = np.maximum(1 - np.abs(np.clip(at, 0, size - 1) - np.arange(size)), 0) * ((at >= -1) & (at <= size))
            return share.reshape(len(rois), bins, sampling_ratio, size).mean(2)

        down, across = shares(2, pooled_height, features.shape[2]), shares(1, pooled_width, features.shape[3])
        images = features[rois[:, 0].astype(np.int64)]
        return (down[:, None] @ images @ across[:, None].swapaxes(2, 3)).astype(features.dtype)

    @staticmethod
    def decompose(
        features: SSAValue,
        rois: SSAValue,
        /,
        spatial_scale: float,
        pooled_height: int,
        pooled_width: int,
        sampling_ratio: int,
        aligned: bool,
    ) -> SSAValue:
        count = shape_of(rois)[0]
        images, channels, height, width = shape_of(features)
        down = _shares(*_starts_and_steps(rois, 2, spatial_scale, pooled_height, aligned), pooled_height, sampling_ratio, height)
        across = _shares(*_starts_and_steps(rois, 1, spatial_scale, pooled_width, aligned), pooled_width, sampling_ratio, width)
        rows = aten.transpose.int(features, 1, 2)  # [images, height, channels, width]
        if is_known(images) and images == 1:
            lines = aten.mm(view(down, (count * pooled_height, height)), view(rows, (height, channels * width)))
        else:
            rows = aten.index_select(rows, 0, to_element(aten.select.int(rois, 1, 0), i64))
            lines = aten.bmm(down, view(rows, (count, height, channels * width)))
        bins = aten.bmm(view(lines, (count, pooled_height * channels, width)), aten.transpose.int(across, 1, 2))
        return aten.transpose.int(view(bins, (count, pooled_height, channels, pooled_width)), 1, 2)
