"""Programs that call torchvision's operators on boxes: compiled for both targets, they compute what the operators in C++ do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

from flambeau import EdgeCompileConfig, Runtime, to_edge

NMS = "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
ROI_ALIGN = (
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, "
    "bool aligned) -> Tensor"
)
OPERATORS: Any = torch.ops


def numbers(x: Tensor) -> list[Any]:
    return cast(Any, x).tolist()


def nms(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    kept: list[int] = []
    for place in numbers(scores.argsort(descending=True, stable=True)):
        if all(overlap(numbers(boxes[place]), numbers(boxes[other])) <= threshold for other in kept):
            kept.append(place)
    return torch.tensor(kept, dtype=torch.int64)


def overlap(a: Sequence[float], b: Sequence[float]) -> float:
    common = max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


def roi_align(features: Tensor, rois: Tensor, scale: float, height: int, width: int, samples: int, aligned: bool) -> Tensor:
    found = torch.zeros(len(rois), features.shape[1], height, width)
    for box, row, column in product(range(len(rois)), range(height), range(width)):
        image, left, top, right, bottom = numbers(rois[box] * torch.tensor([1, *[scale] * 4]) - 0.5 * aligned)
        across, down = right - left, bottom - top
        if not aligned:
            across, down = max(across, 1), max(down, 1)
        for y, x in product(range(samples), range(samples)):
            at = top + (row + (y + 0.5) / samples) * down / height, left + (column + (x + 0.5) / samples) * across / width
            found[box, :, row, column] += sample(features[int(image + 0.5 * aligned)], *at) / samples**2
    return found


def sample(image: Tensor, y: float, x: float) -> Tensor:
    height, width = image.shape[1:]
    if y < -1 or y > height or x < -1 or x > width:
        return torch.zeros(len(image))
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    upper = image[:, top, left] * (1 - x + left) + image[:, top, right] * (x - left)
    lower = image[:, bottom, left] * (1 - x + left) + image[:, bottom, right] * (x - left)
    return upper * (1 - y + top) + lower * (y - top)


class Regions(nn.Module):
    """The features in the boxes that are kept."""

    def forward(self, boxes: Tensor, scores: Tensor, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        kept = OPERATORS.torchvision.nms(boxes, scores, 0.3)
        rois = torch.cat([torch.zeros(kept.shape[0], 1), boxes[kept]], 1)
        small = OPERATORS.torchvision.roi_align(features[:1], rois, 0.5, 3, 2, 2, False)
        rois = torch.cat([torch.arange(boxes.shape[0])[:, None] % 2, boxes], 1)
        return kept, small, OPERATORS.torchvision.roi_align(features, rois, 1.0, 2, 2, 3, True)


@pytest.fixture(scope="module", autouse=True)
def library() -> Any:
    found: Any = torch.library.Library("torchvision", "FRAGMENT")
    register: Any = cast(Any, torch.library).register_fake
    for schema, meaning in ((NMS, nms), (ROI_ALIGN, roi_align)):
        found.define(schema)
        found.impl(meaning.__name__, meaning, "CPU")

    def no_nms(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
        return boxes.new_empty(cast(Any, torch.library).get_ctx().new_dynamic_size(), dtype=torch.int64)

    def no_roi_align(features: Tensor, rois: Tensor, scale: float, height: int, width: int, *rest: Any) -> Tensor:
        return features.new_empty(rois.shape[0], features.shape[1], height, width)

    register("torchvision::nms", no_nms, lib=found)
    register("torchvision::roi_align", no_roi_align, lib=found)
    yield found
    found._destroy()


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
def test_boxes_are_kept_and_their_features_taken(target: str) -> None:
    def inputs(count: int) -> tuple[Tensor, Tensor, Tensor]:
        corners = torch.rand(count, 2) * 9
        return torch.cat([corners, corners + torch.rand(count, 2) * 6 + 0.1], 1), torch.randn(count), torch.randn(2, 3, 8, 7)

    cast(Any, torch).manual_seed(0)
    count = Dim("count", min=2, max=40)
    program = torch.export.export(Regions(), inputs(12), dynamic_shapes=({0: count}, {0: count}, None))
    edge = to_edge(program, compile_config=EdgeCompileConfig(target=target))
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for number in (12, 2, 40):
        given = inputs(number)
        for found, wanted in zip(method.execute(given), Regions()(*given), strict=True):
            torch.testing.assert_close(torch.as_tensor(found), wanted, rtol=1e-4, atol=1e-5)


def test_how_many_samples_there_are_is_not_left_to_the_boxes() -> None:
    class Adaptive(nn.Module):
        def forward(self, features: Tensor, rois: Tensor) -> Tensor:
            return OPERATORS.torchvision.roi_align(features, rois, 1.0, 2, 2, -1, False)

    program = torch.export.export(Adaptive(), (torch.randn(1, 2, 4, 4), torch.zeros(1, 5)))
    with pytest.raises(Exception, match="sampling_ratio must be at least 1, got -1"):
        to_edge(program)
