"""Operators of torchvision in Python: its wheels have C++ operators for one build of PyTorch only.

`declare` must run before torchvision is imported. Where an operator is missing, torchvision's own Python computes `roi_align`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from control_flow_operators import loop
from torch import Tensor

_library: Any = None


def _overlaps(boxes: Tensor) -> Tensor:
    """The intersection of each two boxes over their union."""
    corner, end = torch.maximum(boxes[:, None, :2], boxes[None, :, :2]), torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    common = (end - corner).clamp(min=0).prod(-1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    return common / (area[:, None] + area[None, :] - common)


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor | None, iou_threshold: float) -> Tensor:
    """The boxes, best first, that overlap no better one of their kind by more than the threshold."""
    order = torch.argsort(scores, descending=True, stable=True)
    near = _overlaps(boxes[order]) > iou_threshold
    if idxs is not None:
        kinds = idxs[order]
        near = near & (kinds[:, None] == kinds[None, :])
    places = torch.arange(near.shape[0])

    def is_left(place: Tensor, kept: Tensor) -> Tensor:
        return place < torch.ones_like(places).sum()

    def step(place: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
        row = near.index_select(0, place[None])[0]
        return place + 1, kept & ~((places > place) & row & kept.index_select(0, place[None]))

    _, kept = loop(is_left, step, (torch.zeros((), dtype=torch.int64), torch.ones_like(places, dtype=torch.bool)))
    return order[kept]


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """As `batched_nms`, of boxes of one kind."""
    return batched_nms(boxes, scores, None, iou_threshold)


def declare() -> None:
    """Declares the operators, and lets torchvision call them."""
    global _library  # what is declared lives as long as the library
    _library = torch.library.Library("torchvision", "DEF")
    _library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    found: Any = import_module("torchvision.ops.boxes")
    found.nms, found.batched_nms = nms, batched_nms
