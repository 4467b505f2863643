"""Sample arguments of the operators on images and of the norms: bound arguments in schema order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_tensors import Sample, f32, floats, shapes

CONVOLUTION: dict[str, Samples] = {
    "convolution": lambda rng: [
        (f32(rng, 2, 3, 8, 7), f32(rng, 4, 3, 3, 2), f32(rng, 4), (2, 1), (1, 0), (1, 2), False, (0, 0), 1),
        (f32(rng, 2, 4, 8), f32(rng, 6, 2, 3), None, (2,), (1,), (1,), False, (0,), 2),
        (f32(rng, 1, 4, 5, 5), f32(rng, 4, 1, 3, 3), f32(rng, 4), (1, 1), (1, 1), (1, 1), False, (0, 0), 4),
        (f32(rng, 1, 2, 4, 5, 6), f32(rng, 3, 2, 2, 3, 2), None, (1, 2, 1), (0, 1, 1), (1, 1, 1), False, (0, 0, 0), 1),
        (f32(rng, 2, 4, 5, 6), f32(rng, 4, 3, 3, 2), f32(rng, 6), (2, 3), (1, 0), (1, 2), True, (1, 2), 2),
        (f32(rng, 1, 2, 5), f32(rng, 2, 3, 3), None, (1,), (2,), (1,), True, (0,), 1),
    ],
    "_convolution": floats(((2, 3, 8, 7), (4, 3, 3, 2), (4,), [2, 1], [1, 0], [1, 2], False, [0, 0], 1, False, False, True, True)),
    "conv1d": lambda rng: [
        (f32(rng, 2, 4, 8), f32(rng, 6, 2, 3), f32(rng, 6), (2,), (1,), (1,), 2),
        (f32(rng, 3, 8), f32(rng, 4, 3, 3)),
    ],
    "conv2d": lambda rng: [
        (f32(rng, 2, 3, 8, 7), f32(rng, 4, 3, 3, 2), f32(rng, 4), (2, 1), (1, 0), (1, 2)),
        (f32(rng, 2, 3, 8, 7), f32(rng, 4, 3, 3, 2)),
        (f32(rng, 4, 5, 6), f32(rng, 8, 1, 3, 3), None, (1, 1), (1, 1), (1, 1), 4),
    ],
    "conv3d": lambda rng: [
        (f32(rng, 1, 2, 4, 5, 6), f32(rng, 3, 2, 2, 3, 2), f32(rng, 3), (1, 2, 1), (0, 1, 1)),
        (f32(rng, 4, 7, 5, 6), f32(rng, 6, 2, 3, 2, 2), None, (2, 1, 1), (1, 0, 0), (2, 1, 1), 2),
    ],
    "conv1d.padding": lambda rng: [
        (f32(rng, 2, 3, 8), f32(rng, 4, 3, 4), f32(rng, 4), (1,), "same"),
        (f32(rng, 2, 3, 8), f32(rng, 4, 3, 3), None, (2,), "valid", (2,)),
    ],
    "conv2d.padding": lambda rng: [
        (f32(rng, 2, 3, 8, 7), f32(rng, 4, 3, 3, 2), f32(rng, 4), (1, 1), "same", (2, 1)),
        (f32(rng, 3, 8, 7), f32(rng, 4, 3, 3, 3), None, (1, 1), "same"),
    ],
    "conv3d.padding": lambda rng: [(f32(rng, 1, 2, 4, 5, 6), f32(rng, 3, 2, 2, 3, 2), None, (1, 1, 1), "same")],
    "conv_transpose1d": lambda rng: [(f32(rng, 2, 3, 5), f32(rng, 3, 4, 3), f32(rng, 4), (2,), (1,), (1,), 1, (1,))],
    "conv_transpose2d.input": lambda rng: [
        (f32(rng, 2, 4, 5, 6), f32(rng, 4, 3, 3, 2), f32(rng, 6), (2, 3), (1, 0), (1, 2), 2, (1, 2)),
        (f32(rng, 4, 5, 6), f32(rng, 4, 3, 2, 2), None, (2, 2)),
    ],
    "conv_transpose3d.input": lambda rng: [(f32(rng, 1, 2, 3, 2, 3), f32(rng, 2, 3, 2, 2, 2), None, (2, 1, 2))],
}


def batch_statistics(rng: np.random.Generator, *shape: int) -> Sample:
    """Returns an image batch with the weight, bias, mean and variance of its channels."""
    channels = shape[1]
    return f32(rng, *shape), f32(rng, channels), f32(rng, channels), f32(rng, channels), np.abs(f32(rng, channels)) + 0.5


NORM: dict[str, Samples] = {
    "native_layer_norm": lambda rng: [
        (f32(rng, 2, 3, 4), (4,), f32(rng, 4), f32(rng, 4), 1e-5),
        (f32(rng, 2, 3, 4), (3, 4), None, f32(rng, 3, 4), 1e-3),
        (f32(rng, 2, 4).astype(np.float16), (4,), f32(rng, 4).astype(np.float16), None, 1e-5),
        (f32(rng, 2, 4).astype(np.float16), (4,), f32(rng, 4), f32(rng, 4), 1e-5),
    ],
    "layer_norm": lambda rng: [
        (f32(rng, 2, 3, 4), (4,), f32(rng, 4), f32(rng, 4)),
        (f32(rng, 2, 3, 4), (3, 4), None, None, 1e-3),
        (f32(rng, 2, 4).astype(np.float16), (4,), f32(rng, 4).astype(np.float16), None),
    ],
    "rms_norm": lambda rng: [
        (f32(rng, 2, 3, 4), (4,), f32(rng, 4)),
        (f32(rng, 2, 3, 4), (3, 4), None, 1e-3),
        (f32(rng, 2, 4).astype(np.float16), (4,), f32(rng, 4).astype(np.float16)),
        (f32(rng, 2, 4).astype(np.float64), (4,)),
    ],
    "_fused_rms_norm": lambda rng: [
        (f32(rng, 2, 3, 4), (4,), f32(rng, 4), 1e-5),
        (f32(rng, 2, 4).astype(np.float16), (4,), None, None),
    ],
    "native_group_norm": lambda rng: [
        (f32(rng, 2, 6, 4, 3), f32(rng, 6), f32(rng, 6), 2, 6, 12, 3, 1e-5),
        (f32(rng, 2, 4, 5), None, None, 2, 4, 5, 4, 1e-3),
        (f32(rng, 2, 4, 5).astype(np.float16), f32(rng, 4).astype(np.float16), None, 2, 4, 5, 2, 1e-3),
    ],
    "group_norm": lambda rng: [(f32(rng, 2, 6, 4, 3), 3, f32(rng, 6), f32(rng, 6)), (f32(rng, 2, 4), 2, None, None, 1e-3)],
    "_native_batch_norm_legit_no_training": lambda rng: [
        (*batch_statistics(rng, 2, 3, 4, 5), 0.1, 1e-5),
        (f32(rng, 2, 3), None, None, f32(rng, 3), np.abs(f32(rng, 3)), 0.1, 1e-3),
    ],
    "_native_batch_norm_legit.no_stats": lambda rng: [
        (f32(rng, 2, 3, 4, 5), f32(rng, 3), f32(rng, 3), True, 0.1, 1e-5),
        (f32(rng, 4, 3), None, None, True, 0.1, 1e-3),
    ],
    "batch_norm": lambda rng: [
        (*batch_statistics(rng, 2, 3, 4, 5), False, 0.1, 1e-5, False),
        (f32(rng, 2, 3, 4), None, None, None, None, True, 0.1, 1e-5, False),
    ],
    "instance_norm": lambda rng: [
        (f32(rng, 2, 3, 4, 5), f32(rng, 3), f32(rng, 3), None, None, True, 0.1, 1e-5, False),
        (*batch_statistics(rng, 2, 3, 4), False, 0.1, 1e-5, False),
    ],
    "_weight_norm": lambda rng: [
        (f32(rng, 4, 3, 2), f32(rng, 4, 1, 1)),
        (f32(rng, 4, 3, 2), f32(rng, 1, 1, 2), 2),
    ],
}


MAX_POOL = (((2, 3, 7, 6), (3, 2)), ((1, 2, 6, 8), (2,)), ((3, 7, 6), (3, 3), (2, 1), (1, 1)), ((1, 1, 8, 8), (3,), (2,), (1,), (2,), True))

AVG_POOL = (
    ((2, 3, 7, 6), (3, 2)),
    ((1, 2, 6, 8), (2,)),
    ((3, 7, 6), (3, 3), (2, 1), (1, 1), False, False),
    ((1, 1, 8, 7), (3,), (2,), (1,), True, True),
)

POOL: dict[str, Samples] = {
    "max_pool2d_with_indices": lambda rng: [
        (f32(rng, 1, 2, 9, 3), (2, 2), (5, 3), (1, 0), (1, 1), True),
        *shapes(*MAX_POOL)(rng),
        (np.array([[[0, np.nan, 1], [np.nan, 2, -np.inf]]], np.float32), (2,), (1,)),
        (np.full((1, 3, 3), -np.inf, np.float32), (2,), (1,), (1,)),
    ],
    "max_pool2d": shapes(*MAX_POOL),
    "max_pool1d": floats(((2, 3, 7), [3]), ((3, 7), [3], [2], [1], [1], True)),
    "max_pool1d_with_indices": floats(((2, 3, 7), [3]), ((3, 7), [3], [2], [1], [2], True)),
    "max_pool3d_with_indices": floats(((2, 3, 5, 4, 5), [2, 2, 3]), ((3, 5, 4, 5), [2], [1], [1])),
    "max_pool3d": floats(((2, 3, 5, 4, 5), [2, 2, 3]), ((3, 5, 4, 5), [3], [2], [1], [1], True), ((3, 7, 6, 8), [2], [3], [1], [2])),
    "avg_pool2d": lambda rng: [
        *floats(*[(shape, *(list(part) if isinstance(part, tuple) else part for part in rest)) for shape, *rest in AVG_POOL])(rng),
        (f32(rng, 2, 5, 5), (2,), (2,), (1,), False, True, 7),
        (f32(rng, 1, 2, 9, 3), (2, 2), (5, 3), (1, 0), True),
        (f32(rng, 2, 5, 5).astype(np.float16), (3,)),
    ],
    "avg_pool1d": floats(((2, 3, 7), [3]), ((3, 7), [3], [2], [1], True, False)),
    "avg_pool3d": lambda rng: [
        *floats(
            ((2, 3, 5, 4, 5), [2, 2, 3]), ((3, 5, 4, 5), [2], [1], [1], False, False, 3), ((1, 2, 5, 4, 5), [3], [2], [1], True, False)
        )(rng),
        *((rng.integers(-9, 9, (2, 5, 4, 5)), (3, 2, 3), (2,), (1,), *rest) for rest in ((True, False), (False, True), (False, True, -4))),
    ],
    "_adaptive_avg_pool2d": floats(((2, 3, 6, 8), [1, 1]), ((2, 6, 8), [3, 2]), ((2, 5, 7), [3, 4])),
    "adaptive_avg_pool2d": floats(((2, 3, 6, 8), [1, 1]), ((2, 6, 8), [3, 2]), ((2, 5, 7), [3, 4])),
    "adaptive_avg_pool1d": floats(((2, 3, 6), [1]), ((2, 6), [3]), ((2, 5), [3])),
    "_adaptive_avg_pool3d": floats(((2, 3, 4, 6, 8), [1, 1, 1]), ((2, 4, 6, 8), [2, 3, 2]), ((2, 5, 3, 4), [3, 2, 3])),
    "adaptive_avg_pool3d": floats(((2, 3, 4, 6, 8), [1, 1, 1]), ((2, 4, 6, 8), [2, 3, 2]), ((2, 5, 3, 4), [3, 2, 3])),
    "adaptive_max_pool1d": floats(((2, 3, 6), [3])),
    "adaptive_max_pool2d": floats(((2, 3, 6, 8), [3, 2]), ((3, 7, 5), [4, 3])),
    "adaptive_max_pool3d": floats(((2, 4, 6, 8), [2, 3, 2])),
}


def sizes_or_scales(rank: int, aligned: bool) -> Samples:
    """Returns samples of the `.vec` overloads of resampling, which take either sizes or scales.

    `rank` is the number of resampled dimensions. If `aligned`, the operator has a parameter `align_corners`.
    """

    def make(rng: np.random.Generator) -> list[Sample]:
        shape = (2, 3, *(4, 5, 3)[:rank])
        samples: list[Sample] = []
        for corners in (False, True) if aligned else (None,):
            middle = () if corners is None else (corners,)
            samples.append((f32(rng, *shape), (7, 3, 5)[:rank], *middle, None))
            if not corners:
                samples.append((f32(rng, 1, *shape[1:]), (8, 10, 6)[:rank], *middle, None))
                samples.append((f32(rng, *shape), None, *middle, (2.0, 1.5, 2.5)[:rank]))
                samples.append((f32(rng, *shape), None, *middle, (1.1, 2.1, 1.2)[:rank]))
        return samples

    return make


_OTHER_SCALES = (((4, 10, 7), (1.7, 1.3, 0.9)), ((8, 5, 3), (None, 0.7, 1.9)))
_OTHER_SCALES_INSIDE = (((4, 6), (1.7, 1.3)), ((8, 5), (None, 1.2)))
"""Those with which no window lies outside of the image: there, the kernels of PyTorch that blur give other numbers each time."""


def sizes_and_scales(rank: int, aligned: bool, other: Sequence[tuple[Sequence[int], Sequence[float | None]]] = _OTHER_SCALES) -> Samples:
    """Returns samples of the resampling overloads without `.vec`, which take sizes, and perhaps scales that need not agree with the sizes.

    `rank` is the number of resampled dimensions. If `aligned`, the operator has a parameter `align_corners`. `other` are sizes, and scales
    with which these do not agree.
    """

    def make(rng: np.random.Generator) -> list[Sample]:
        shape, middle = (2, 3, *(4, 5, 3)[:rank]), (False,) if aligned else ()
        return [
            (f32(rng, *shape), (8, 5, 6)[:rank], *middle),
            (f32(rng, *shape), (8, 10, 6)[:rank], *middle, *(2.0,) * rank),
            *((f32(rng, *shape), tuple(sizes[:rank]), *middle, *scales[:rank]) for sizes, scales in other),
        ]

    return make


UPSAMPLE: dict[str, Samples] = {
    **{f"upsample_nearest{rank}d.vec": sizes_or_scales(rank, False) for rank in (1, 2, 3)},
    **{f"_upsample_nearest_exact{rank}d.vec": sizes_or_scales(rank, False) for rank in (1, 2, 3)},
    **{f"upsample_{name}.vec": sizes_or_scales(int(name[-2]), True) for name in ("linear1d", "bilinear2d", "trilinear3d", "bicubic2d")},
    **{f"_upsample_{name}2d_aa.vec": sizes_or_scales(2, True) for name in ("bilinear", "bicubic")},
    **{f"upsample_nearest{rank}d": sizes_and_scales(rank, False) for rank in (1, 2, 3)},
    **{f"upsample_{name}": sizes_and_scales(int(name[-2]), True) for name in ("linear1d", "bilinear2d", "trilinear3d", "bicubic2d")},
    **{f"_upsample_{name}2d_aa": sizes_and_scales(2, True, _OTHER_SCALES_INSIDE) for name in ("bilinear", "bicubic")},
    "grid_sampler_2d": lambda rng: [
        (f32(rng, 2, 3, 5, 4), f32(rng, 2, 3, 6, 2), mode, padding, corners)
        for mode in (0, 1, 2)
        for padding in (0, 1, 2)
        for corners in (False, True)
    ],
    "grid_sampler_3d": lambda rng: [
        (f32(rng, 2, 3, *extents), f32(rng, 2, 3, 2, 4, 3), mode, padding, corners)
        for extents in ((3, 5, 4), (1, 2, 3))
        for mode in (0, 1)
        for padding in (0, 1, 2)
        for corners in (False, True)
    ],
    "grid_sampler": lambda rng: [
        (f32(rng, 2, 3, 5, 4), f32(rng, 2, 3, 6, 2), 0, 0, False),
        (f32(rng, 2, 3, 3, 5, 4), f32(rng, 2, 3, 2, 4, 3), 0, 0, False),
    ],
}

ALL_THREE = (True, True, True)


def layer_norm_gradient(rng: np.random.Generator) -> list[Sample]:
    """Returns a sample of `native_layer_norm_backward`: a gradient, the input, and the statistics that the forward pass returns."""
    x = f32(rng, 2, 3, 4)
    mean, rstd = x.mean(-1, keepdims=True), 1 / np.sqrt(x.var(-1, keepdims=True) + np.float32(1e-5))
    return [(f32(rng, 2, 3, 4), x, (4,), mean, rstd, f32(rng, 4), f32(rng, 4), ALL_THREE)]


def group_norm_gradient(rng: np.random.Generator) -> list[Sample]:
    """Returns a sample of `native_group_norm_backward`: a gradient, the input, and the statistics that the forward pass returns."""
    x = f32(rng, 2, 6, 4, 3)
    groups = x.reshape(2, 3, -1)
    mean, rstd = groups.mean(-1), 1 / np.sqrt(groups.var(-1) + np.float32(1e-5))
    return [(f32(rng, 2, 6, 4, 3), x, mean, rstd, f32(rng, 6), 2, 6, 12, 3, ALL_THREE)]


BACKWARD: dict[str, Samples] = {
    "embedding_dense_backward": lambda rng: [
        (f32(rng, 2, 4, 3), rng.integers(0, 5, (2, 4)), 5, -1, False),
        (f32(rng, 6, 3), rng.integers(0, 4, 6), 4, 1, True),
    ],
    "max_pool2d_with_indices_backward": lambda rng: [
        (f32(rng, 1, 2, 2, 2), f32(rng, 1, 2, 4, 4), (2, 2), (2, 2), (0, 0), (1, 1), False, np.array([[[[0, 3], [9, 15]]] * 2]))
    ],
    "avg_pool2d_backward": lambda rng: [
        (f32(rng, 2, 3, 3, 3), f32(rng, 2, 3, 6, 6), (2, 2), (2, 2), (0, 0), False, True, None),
        (f32(rng, 1, 2, 4, 4), f32(rng, 1, 2, 6, 7), (3, 3), (2, 2), (1, 1), True, False, None),
        (f32(rng, 1, 2, 4, 4), f32(rng, 1, 2, 6, 7), (3, 3), (2, 2), (1, 1), True, True, 5),
    ],
    "_adaptive_avg_pool2d_backward": floats(((2, 3, 3, 4), (2, 3, 5, 7))),
    "native_layer_norm_backward": layer_norm_gradient,
    "native_group_norm_backward": group_norm_gradient,
    "convolution_backward": lambda rng: [
        (f32(rng, 2, 4, 4, 4), f32(rng, 2, 3, 8, 6), f32(rng, 4, 3, 3, 2), (4,), (2, 1), (1, 0), (1, 2), False, (0, 0), 1, ALL_THREE),
        (f32(rng, 2, 6, 8), f32(rng, 2, 4, 8), f32(rng, 6, 2, 3), (6,), (1,), (1,), (1,), False, (0,), 2, ALL_THREE),
        (f32(rng, 1, 6, 12, 19), f32(rng, 1, 4, 5, 6), f32(rng, 4, 3, 3, 2), (6,), (2, 3), (0, 0), (1, 2), True, (1, 1), 2, ALL_THREE),
        (f32(rng, 2, 4, 3, 3), f32(rng, 2, 4, 6, 5), f32(rng, 4, 1, 3, 2), None, (2,), (1,), (1,), False, (0,), 4, (True, True, False)),
    ],
}

SAMPLES: dict[str, Samples] = {
    f"aten.{name}": samples for group in (CONVOLUTION, NORM, POOL, UPSAMPLE, BACKWARD) for name, samples in group.items()
}
"""Generators by full operator name."""
