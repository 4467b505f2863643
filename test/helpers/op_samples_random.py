"""Samples of operators that draw numbers, or that draw in training."""

from __future__ import annotations

import numpy as np
from op_samples import Samples, make, tensors, unary

_WEIGHTS = np.array([[0.5, 0.0, 2.0, 1.0], [0.0, 0.0, 0.0, 3.0]])
_CHANNELS = [((2, 3, 4), dtype) for dtype in ("float32", "float16")]


def _in_training(*tails: tuple[object, ...]) -> Samples:
    return tensors(*[(shape, *tail) for shape in (*_CHANNELS, ((3, 4), "float64")) for tail in tails])


SAMPLES: dict[str, Samples] = {
    "aten.uniform": unary((), (-2.0, 3.0)),
    "aten.exponential": unary((), (2.5,)),
    "aten.geometric": lambda rng: [(make(rng, (2, 5), dtype), 0.25) for dtype in ("float32", "float16", "int64", "uint8")],
    "aten.cauchy": unary((), (1.0, 0.5)),
    "aten.log_normal": unary((), (0.5, 0.1)),
    "aten.normal_functional": unary((), (3.0, 0.5)),
    "aten.normal.float_float": lambda _: [(1.0, 2.0, (2, 3)), (1.0, 0.0, ())],
    "aten.multinomial": lambda _: [(_WEIGHTS, 9, True), (_WEIGHTS[0].astype("float32"), 3), (_WEIGHTS[:1], 4)],
    **{
        f"aten.{name}": _in_training((0.5, False), (0.5, True), (0.0, True), (1.0, True))
        for name in ("feature_dropout", "alpha_dropout", "feature_alpha_dropout")
    },
    "aten.rrelu": unary((), (0.1, 0.5), (0.1, 0.5, True), dtypes=("float32", "float64", "bfloat16")),
}
