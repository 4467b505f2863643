"""Operators of torchvision in Python: its wheels have C++ operators for one build of PyTorch only.

`declare` must run before torchvision is imported, and `enable` after it. Exported programs then call `torchvision::nms` and
`torchvision::roi_align`, as with the operators in C++.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

import torch
from torch import Tensor

_library: Any = None


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The places of the boxes, best first, that overlap no better one that is kept by more than the threshold."""
    order = torch.argsort(scores, descending=True, stable=True)
    boxes = boxes[order]
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    kept = torch.ones_like(order, dtype=torch.bool)
    for place in range(len(order)):
        if kept[place]:
            after = boxes[place + 1 :]
            common = (torch.minimum(boxes[place, 2:], after[:, 2:]) - torch.maximum(boxes[place, :2], after[:, :2])).clamp(min=0).prod(1)
            kept[place + 1 :] &= ~(common / (areas[place] + areas[place + 1 :] - common) > iou_threshold)
    return order[kept]


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """As torchvision's, without its question whether there are boxes, which an export cannot answer: kinds are moved apart."""
    offsets = idxs.to(boxes) * (torch.nn.functional.pad(boxes.flatten(), (0, 1)).max() + 1)
    return torch.ops.torchvision.nms(boxes + offsets[:, None], scores, iou_threshold)


def nms_fake(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """As torchvision's, without its claim that two boxes at least are kept: it is an assertion of the exported program."""
    return dets.new_empty(cast(Any, torch.library).get_ctx().new_dynamic_size(), dtype=torch.long)


def decode(self: Any, rel_codes: Tensor, boxes: list[Tensor]) -> Tensor:
    """As torchvision's `BoxCoder`, without its question whether there are boxes."""
    return self.decode_single(rel_codes, torch.cat(boxes)).unflatten(1, (-1, 4))


def declare() -> None:
    """Declares the operators."""
    global _library  # what is declared lives as long as the library
    _library = torch.library.Library("torchvision", "DEF")
    _library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _library.define(
        "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, "
        "bool aligned) -> Tensor"
    )
    _library.impl("nms", nms, "CPU")


def enable() -> None:
    """Lets torchvision call them, and `roi_align` compute what torchvision's own Python does, without samples outside of the features.

    These count as 0 in its operator in C++ (vision::ops::roi_align_forward_kernel), which its Python leaves out.
    """
    library: Any = torch.library
    names = ("ops.boxes", "ops.roi_align", "_meta_registrations", "models.detection._utils")
    boxes, features, meta, coders = cast("list[Any]", [import_module(f"torchvision.{name}") for name in names])
    in_python, between = features._roi_align.__wrapped__, features._bilinear_interpolate

    def between_inside(features: Tensor, images: Tensor, y: Tensor, x: Tensor, *masks: Any) -> Tensor:
        height, width = features.shape[2:]
        down, across = (y >= -1) & (y <= height), (x >= -1) & (x <= width)
        return between(features, images, y, x, *masks) * down[:, None, :, None, :, None] * across[:, None, None, :, None, :]

    def roi_align(*given: Any) -> Tensor:
        return in_python(*given)

    _library.impl("roi_align", roi_align, "CPU")
    library.register_fake("torchvision::roi_align", meta.meta_roi_align)
    library.register_fake("torchvision::nms", nms_fake, allow_override=True)
    features._bilinear_interpolate = between_inside
    features._has_ops = lambda: True
    features._assert_has_ops = boxes._assert_has_ops = lambda: None
    boxes.batched_nms = batched_nms
    coders.BoxCoder.decode = decode
