"""Samples of operators that compute element by element, reduce, create and draw."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import f16

from flambeau.dialects.ir.tensor_types import bf16, f32, f64, i1, i8, i16, i32, i64, ui8, ui16
from flambeau.tools.samples.sample_generators import (
    ALL,
    FINITE,
    FLOATS,
    INTS,
    LARGE,
    MIXED,
    REALS,
    SPECIAL,
    Samples,
    and_reals_that_do_not_fit,
    binary,
    each,
    fixed,
    make,
    reduction,
    selecting,
    tensors,
    unary,
)

ANY_FLOAT_OR_BOOL = (*FLOATS, "int32", "bool")
FLOATING_UNARY = unary(dtypes=(*FLOATS, "int64", "uint8", "bool"))
POSITIVE_UNARY = unary(dtypes=(*FLOATS, "int64", "bool"), low=0.1, high=9)
UNIT_UNARY = unary(dtypes=(*FLOATS, "int64", "bool"), low=-0.95, high=1)
COMPARISON = binary(dtypes=ALL)
SCALARS = unary((2,), (1.5,), (-1,), dtypes=("float32", "float64", "float16", "bfloat16", "int64", "int16", "uint8"))
SHIFTABLE = ("int64", "int32", "int16", "int8", "uint8")
BITWISE = binary(dtypes=(*INTS, "bool"), mixed=(("int8", "uint8"), ("int64", "int32"), ("bool", "int16")), special=False)
BITWISE_SCALAR = unary((5,), (1,), dtypes=(*INTS, "bool"), special=())
ONE_FLOAT = ((3, 4), "float32")

SAMPLES: dict[str, Samples] = {
    # activation
    "aten.relu": unary(dtypes=REALS),
    "aten.relu6": unary(dtypes=REALS, high=9),
    "aten.sigmoid": unary(dtypes=ALL, low=-9, high=9),
    "aten.tanh": FLOATING_UNARY,
    # PyTorch's AVX-512 code gives NaN for infinities, its scalar code does not.
    "aten.gelu": unary(("none",), ("tanh",), special=FINITE),
    "aten.elu": unary((), (0.5,), (1.5, 2.0, 0.7)),
    "aten.hardtanh": unary((), (-2, 0.5), (0, 6), dtypes=FLOATS),
    "aten.leaky_relu": unary((), (0.2,), (2,)),
    "aten.silu": unary(),
    "aten.hardsigmoid": unary(low=-5, high=5),
    "aten.hardswish": unary(low=-5, high=5),
    "aten.softplus": unary((), (2, 3), (0.5, 20.0), low=-60, high=60),
    "aten.mish": unary(),
    "aten.celu": unary((), (0.5,)),
    "aten.selu": unary(),
    "aten.log_sigmoid": unary(low=-60, high=60),
    "aten.hardshrink": unary((), (1.0,)),
    "aten.softshrink": unary((), (1.0,)),
    "aten.threshold": unary((0.5, 2.0), (-1, 7), dtypes=(*FLOATS, "int64", "uint8")),
    "aten.prelu": tensors(
        (((2, 3, 4), "float32"), ((3,), "float32")),
        (((2, 3), "float16"), ((1,), "float16")),
        (((5,), "float32"), ((1,), "float32")),
        (((2, 3, 2, 2), "float32"), ((3,), "float32")),
        (((2, 3, 4), "bfloat16"), ((), "bfloat16")),
    ),
    "aten.glu": tensors((((3, 4), "float32"), -1), (((4, 3), "float16"), 0), (((2, 6, 3), "bfloat16"), 1)),
    # arithmetic
    "aten.add.Tensor": binary((), (2,), dtypes=ALL, mixed=(*MIXED, ("bool", "int8"))),
    "aten.add.Scalar": unary((2,), (1, 3), (-1,), dtypes=REALS),
    "aten.sub.Tensor": binary((), (2,)),
    "aten.sub.Scalar": unary((2,), (1, 3), (-1,), dtypes=REALS),
    "aten.rsub.Scalar": unary((2,), (1, 3), (-1,), dtypes=REALS),
    "aten.rsub.Tensor": binary((), (2,)),
    "aten.mul.Tensor": lambda rng: [
        *binary(dtypes=ALL)(rng),
        (np.array([200, 255, 3], "uint8"), np.array([-1, 100, -128], "int8")),
        (np.array([1.001, 300, 1e-4], "float16"), np.array([3, 256, 1e5]).astype(ml_dtypes.bfloat16)),
    ],
    "aten.mul.Scalar": SCALARS,
    "aten.div.Tensor": binary(dtypes=ALL, mixed=(*MIXED, ("bool", "int8"))),
    "aten.div.Scalar": SCALARS,
    "aten.div.Tensor_mode": binary((None,), ("floor",), ("trunc",), low=-9, high=9, low2=1),
    "aten.div.Scalar_mode": unary((2, None), (2, "floor"), (-3, "trunc"), (-1.5, "floor"), dtypes=REALS[:-1], low=-9, high=9),
    "aten.floor_divide": binary(low=-9, high=9, low2=1),
    "aten.floor_divide.Scalar": unary((2,), (-3,), (-1.5,), dtypes=REALS[:-1], low=-9, high=9),
    "aten.fmod.Tensor": binary(low=-9, high=9, low2=1),
    "aten.fmod.Scalar": unary((2,), (-3,), (1.5,), dtypes=REALS[:-1], low=-9, high=9),
    "aten.remainder.Tensor": binary(low=-9, high=9, low2=1),
    "aten.remainder.Scalar": unary((2,), (-3,), (1.5,), dtypes=REALS[:-1], low=-9, high=9),
    "aten.remainder.Scalar_Tensor": lambda rng: (
        [(7, make(rng, (4,), dtype, 1, 9)) for dtype in REALS] + [(7.5, make(rng, (), "int32", 1, 9))]
    ),
    "aten.addcmul": tensors(
        (ONE_FLOAT, ONE_FLOAT, ONE_FLOAT),
        (ONE_FLOAT, ((4,), "float32"), ((3, 1), "float32"), 0.5),
        (((3,), "int64"), ((3,), "int64"), ((), "int64"), 2),
        (((3,), "bfloat16"), ((3,), "bfloat16"), ((3,), "bfloat16"), 0.5),
    ),
    "aten.addcdiv": tensors(
        (ONE_FLOAT, ONE_FLOAT, ONE_FLOAT),
        (ONE_FLOAT, ((4,), "float32"), ((3, 1), "float32"), 0.5),
        (((3,), "float64"), ((3,), "float64"), ((), "float64"), 2),
        low=1,
    ),
    "aten.lerp.Scalar": tensors(
        (ONE_FLOAT, ONE_FLOAT, 0.3), (ONE_FLOAT, ((4,), "float32"), 0.8), (((3,), "float16"), ((3,), "float16"), 2)
    ),
    "aten.lerp.Tensor": tensors(
        (ONE_FLOAT, ONE_FLOAT, ONE_FLOAT), (ONE_FLOAT, ((4,), "float32"), ((), "float32")), *[(((3,), "bfloat16"),) * 3], low=0, high=1
    ),
    # comparison
    **{f"aten.{name}.Tensor": COMPARISON for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"aten.{name}.Scalar": unary((0,), (1.0,), (-1,), dtypes=ALL[:-2]) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"aten.{name}": unary(dtypes=ALL) for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf")},
    **{f"aten.{name}": binary(dtypes=ALL) for name in ("maximum", "minimum", "max.other", "min.other", "fmax", "fmin")},
    "aten.clamp": unary((-1, 1), (None, 0.5), (0, None), (2, -2), dtypes=REALS[:-1]),
    "aten.clamp_min": unary((1,), (0.5,), dtypes=REALS),
    "aten.clamp_max": unary((1,), (0.5,), dtypes=REALS),
    "aten.clamp.Tensor": tensors(
        (ONE_FLOAT, ONE_FLOAT, ONE_FLOAT),
        (ONE_FLOAT, None, ((4,), "float32")),
        (((3,), "int32"), ((), "int32")),
        (ONE_FLOAT, ((4,), "int64"), None),
    ),
    "aten.clamp_min.Tensor": binary(),
    "aten.clamp_max.Tensor": binary(),
    "aten.where.self": each(
        selecting(ONE_FLOAT, ONE_FLOAT),
        selecting(((4,), "float32"), ((3, 1), "int64")),
        selecting(((), "float64"), ((4,), "float16")),
        selecting(((4,), "bool"), ((4,), "bool")),
        selecting(((), "int64"), ((), "uint8")),
    ),
    "aten.where.ScalarOther": each(
        selecting(ONE_FLOAT, 0), selecting(((4,), "int32"), 1.5), selecting(((), "float16"), 1.0), selecting(((4,), "bool"), True)
    ),
    "aten.where.ScalarSelf": each(selecting(0, ONE_FLOAT), selecting(1.5, ((4,), "int32")), selecting(-np.inf, ((), "bfloat16"))),
    "aten.where.Scalar": each(selecting(0, 1), selecting(1.5, 2), selecting(True, False)),
    "aten.masked_fill.Scalar": tensors(
        (ONE_FLOAT, ((3, 4), "bool"), 0),
        (ONE_FLOAT, ((4,), "bool"), float("-inf")),
        (((4,), "int32"), ((3, 1), "bool"), 7),
        (((), "bfloat16"), ((2,), "bool"), 0.5),
    ),
    "aten.masked_fill.Tensor": tensors((ONE_FLOAT, ((3, 4), "bool"), ((), "float32")), (((4,), "float16"), ((4,), "bool"), ((), "int64"))),
    "aten.isin.Tensor_Tensor": tensors(
        (((3, 4), "int64"), ((3,), "int64")),
        (((3, 4), "int64"), ((2, 2), "int32"), False, True),
        (((), "int32"), ((3,), "int32")),
        (((3,), "float32"), ((0,), "float32")),
    ),
    "aten.isin.Tensor_Scalar": unary((1,), (0, False, True), dtypes=(*FLOATS[:2], *INTS)),
    # logic
    "aten.logical_not": unary(dtypes=ALL),
    **{f"aten.{name}": binary(dtypes=ALL) for name in ("logical_and", "logical_or", "logical_xor")},
    "aten.bitwise_not": unary(dtypes=(*INTS, "bool"), special=()),
    **{f"aten.{name}.Tensor": BITWISE for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__")},
    **{f"aten.{name}.Scalar": BITWISE_SCALAR for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__")},
    **{
        f"aten.bitwise_{side}_shift.Tensor": binary(
            dtypes=SHIFTABLE, mixed=(("int8", "int32"), ("int64", "uint8")), low=-9, low2=0, special=False
        )
        for side in ("left", "right")
    },
    **{
        f"aten.bitwise_{side}_shift.Tensor_Scalar": unary((0,), (3,), dtypes=SHIFTABLE, low=-9, high=99, special=())
        for side in ("left", "right")
    },
    # math
    "aten.abs": unary(dtypes=REALS),
    "aten.neg": unary(dtypes=REALS),
    "aten.sign": unary(dtypes=ALL),
    "aten.square": unary(dtypes=REALS),
    **{
        f"aten.{name}": FLOATING_UNARY
        for name in ("reciprocal", "exp", "expm1", "erf", "sin", "cos", "tan", "atan", "sinh", "cosh", "asinh")
    },
    **{f"aten.{name}": POSITIVE_UNARY for name in ("sqrt", "rsqrt", "log", "log2", "log10", "log1p")},
    **{f"aten.{name}": UNIT_UNARY for name in ("asin", "acos", "atanh")},
    "aten.acosh": unary(dtypes=(*FLOATS, "int64"), low=1, high=9),
    "aten.atan2": binary(dtypes=(*REALS, "bool")),
    **{f"aten.{name}": unary(dtypes=REALS, low=-9, high=9) for name in ("ceil", "floor", "trunc", "round")},
    "aten.round.decimals": unary((0,), (2,), (-1,), dtypes=("float32", "float64"), low=-90, high=90, special=()),
    "aten.pow.Tensor_Tensor": binary(low=0.2, high=3),
    "aten.pow.Tensor_Scalar": lambda rng: [
        *[(make(rng, (3, 4), dtype), exponent) for dtype in REALS for exponent in (2, 3, 0)],
        *[(make(rng, (3, 4), dtype, 0.2), exponent) for dtype in FLOATS for exponent in (0.5, -2, -0.5, 1.7)],
        *[(make(rng, (3,), "int64", 1), 0.5), (np.array(SPECIAL, "float32"), 2), (np.array(SPECIAL, "float32"), 0.5)],
    ],
    "aten.pow.Scalar": lambda rng: [(base, make(rng, (3, 4), dtype, 0)) for dtype in REALS for base in (2, 0.5, 3)],
    # special
    **{f"aten.{name}": FLOATING_UNARY for name in ("exp2", "deg2rad", "rad2deg", "sinc")},
    "aten.frac": unary(special=()),
    "aten.logit": unary((), (0.1,), dtypes=(*FLOATS, "bool"), low=0.05, high=0.95),
    "aten.sgn": unary(dtypes=ALL),
    "aten.positive": unary(dtypes=REALS),
    "aten.signbit": unary(dtypes=ALL),
    "aten.copysign.Tensor": binary(dtypes=REALS),
    "aten.copysign.Scalar": unary((2,), (-0.0,), (-1.5,), dtypes=REALS),
    **{
        f"aten.{name}": binary(dtypes=FLOATS, mixed=(("float32", "float64"),), special=False)
        for name in ("hypot", "logaddexp", "logaddexp2")
    },
    "aten.xlogy.Tensor": binary(low=0, high=4),
    "aten.xlogy.Scalar_Other": unary((2,), (0.5,), (float("nan"),), dtypes=REALS),
    "aten.xlogy.Scalar_Self": lambda rng: [(number, make(rng, (3, 4), dtype, 0, 4)) for dtype in REALS for number in (0, 2, 1.5)],
    "aten.heaviside": binary(mixed=(), low=-2, high=2),
    "aten.nan_to_num": unary((), (1.0, 2.0, -3.0), dtypes=(*FLOATS, "int64")),
    "aten.isclose": lambda rng: [
        *[(x, x + np.asarray(1e-6, x.dtype), *rest) for x in (make(rng, (3, 4)),) for rest in ((), (0.0, 1e-7), (1e-3, 0.0))],
        *[(np.array(SPECIAL, "float32")[:, None], np.array(SPECIAL, "float32"), 1e-5, 1e-8, equal_nan) for equal_nan in (False, True)],
        (make(rng, (3,), "int64"), make(rng, (), "int64")),
    ],
    "aten.float_power.Tensor_Tensor": binary(low=0.2, high=3),
    "aten.float_power.Tensor_Scalar": unary((2,), (0.5,), dtypes=REALS, low=0.2),
    "aten.float_power.Scalar": lambda rng: [(base, make(rng, (3, 4), dtype, 0)) for dtype in REALS for base in (2, 0.5)],
    "aten.ldexp.Tensor": binary(dtypes=("float32", "float64", "int64"), mixed=(("float32", "int32"), ("int8", "int64")), special=False),
    # reduction
    "aten.sum": reduction((), (f32,), (i64,), dtypes=ALL, special=False),
    "aten.sum.dim_IntList": and_reals_that_do_not_fit(
        reduction((None,), ((),), ((1,),), ((0, -1), True), ((2,), False, f64), dtypes=ALL, special=False),
        ((1,), False, i32),
        ((0,), False, i16),
    ),
    "aten.prod": reduction((), (f32,), dtypes=ALL, special=False),
    "aten.prod.dim_int": and_reals_that_do_not_fit(
        reduction((1,), (-1, True), (0, False, i32), dtypes=ALL, special=False), (1, False, i32), (1, False, i16)
    ),
    "aten.mean": reduction((), (f32,), dtypes=FLOATS),
    "aten.mean.dim": lambda rng: [
        *reduction(((1,),), (None, True), ((0, -1), True), ((2,), False, f64), dtypes=FLOATS)(rng),
        (make(rng, (1, 4, 1, 1), "float32") + np.float32(0.1) * make(rng, (1, 4, 3, 4), "float32"), (-1, -2), True),
    ],
    "aten.var": reduction((), (False,), dtypes=FLOATS, empty=False, large=LARGE),
    "aten.std": reduction((), (False,), dtypes=FLOATS, empty=False, large=LARGE),
    **{f"aten.{name}.dim": reduction(((1,),), ((0, 2), False, True), dtypes=FLOATS, large=LARGE) for name in ("var", "std")},
    **{
        f"aten.{name}.correction": reduction(((1,),), (None, 0), ((0, 2), 1.5, True), dtypes=FLOATS, large=LARGE) for name in ("var", "std")
    },
    **{f"aten.{name}": reduction(((1,),), (), ((0, -1), True), dtypes=ALL, empty=False) for name in ("amax", "amin")},
    **{f"aten.{name}": reduction((), dtypes=ALL, empty=False) for name in ("max", "min")},
    **{f"aten.{name}": reduction((), (1,), (-1, True), (None, True), empty=False) for name in ("argmax", "argmin")},
    **{f"aten.{name}.dim": reduction((1,), (-1, True), dtypes=ALL, empty=False) for name in ("max", "min")},
    **{f"aten.{name}": reduction((), dtypes=ALL) for name in ("any", "all")},
    **{f"aten._is_{name}_true": reduction((), dtypes=("bool",), special=False) for name in ("any", "all")},
    **{f"aten.{name}.dim": reduction((1,), (-1, True), dtypes=ALL) for name in ("any", "all")},
    **{f"aten.{name}.dims": reduction(((1, 2),), (None, True), ((0, -1), True), dtypes=ALL) for name in ("any", "all")},
    "aten.cumprod": reduction((1,), (-1,), (0, f64), dtypes=ALL),
    "aten.cumsum": and_reals_that_do_not_fit(reduction((1,), (-1,), (0, f64), dtypes=ALL), (1, i32), (0, i16)),
    "aten.logsumexp": reduction(((1,),), ((0, -1), True), dtypes=(*FLOATS, "int64"), empty=False),
    # statistics
    **{f"aten.{name}": reduction((), (False,), dtypes=FLOATS, empty=False) for name in ("var_mean", "std_mean")},
    **{f"aten.{name}.dim": reduction(((1,),), ((0, 2), False, True), dtypes=FLOATS, special=False) for name in ("var_mean", "std_mean")},
    **{
        f"aten.{name}.correction": reduction(((1,),), (None, 0), ((0, 2), 1.5, True), dtypes=FLOATS, special=False)
        for name in ("var_mean", "std_mean")
    },
    "aten.aminmax": reduction((), (1,), (-1, True), dtypes=ALL, empty=False),
    "aten.count_nonzero": reduction((), (1,), (-1,), dtypes=ALL),
    "aten.count_nonzero.dim_IntList": reduction(((1,),), ((0, -1),), dtypes=ALL),
    "aten.nansum": reduction((None,), ((1,),), ((0, -1), True), ((2,), False, f64), dtypes=REALS),
    "aten.nanmean": reduction((None,), ((1,),), ((0, -1), True), ((2,), False, f64), dtypes=FLOATS),
    "aten.diff": tensors(
        *[(((3, 5), dtype), n, dim) for dtype in ("float32", "bool", "int64", "bfloat16") for n, dim in ((1, -1), (2, 0), (7, 1))],
        (((3, 5), "float32"), 0, 1),
        (((3, 5), "float32"), 1, 1, ((3, 2), "float32"), ((3, 1), "float32")),
        (((5,), "int64"), 1, -1, ((1,), "int64")),
    ),
    "aten.histc": tensors((((40,), "float32"), 5), (((4, 10), "float32"), 4, -2, 2), (((30,), "float64"), 7, -1.5, 0.5)),
    # vector_norm
    "aten.linalg_vector_norm": reduction(
        (), (1, (1,)), (3, (0, -1), True), (float("inf"), (2,)), (0,), (2, None, False, f64), dtypes=FLOATS, empty=False
    ),
    "aten.norm.Scalar": reduction((), (1,), (2.5,), dtypes=FLOATS, empty=False),
    "aten.norm.ScalarOpt_dim": reduction((2, (1,)), (None, (0,), True), (float("-inf"), (0, 2)), dtypes=FLOATS, empty=False),
    "aten.norm.ScalarOpt_dim_dtype": reduction((2, (1,), True, f64), (1, (0,), False, f64), dtypes=FLOATS[:2], empty=False),
    "aten.norm.ScalarOpt_dtype": reduction((2, f64), (None, f64), dtypes=FLOATS[:2], empty=False),
    "aten.frobenius_norm.dim": reduction(((0, 1),), ((2,), True), dtypes=FLOATS, empty=False),
    "aten.linalg_norm": reduction(
        (), (3, (1,)), (1, (0, 2)), (-1, (2, 1), True), (float("inf"), (0, 1)), (None, (0,), True), dtypes=FLOATS, empty=False
    ),
    "aten.linalg_norm.ord_str": reduction(("fro", (0, 1)), ("fro", (1, 2), True), dtypes=FLOATS[:2], empty=False),
    "aten.linalg_matrix_norm": reduction(
        (1,), (float("-inf"), (0, 1), True), (float("inf"), (2, 0), False, f64), dtypes=FLOATS[:2], empty=False
    ),
    "aten.linalg_matrix_norm.str_ord": reduction((), ("fro", (0, 1), True), dtypes=FLOATS[:2], empty=False),
    "aten.cosine_similarity": tensors(
        (ONE_FLOAT, ONE_FLOAT), (ONE_FLOAT, ((4,), "float32"), -1, 0.5), (((2, 1, 4), "bfloat16"), ((3, 4), "bfloat16"), 0)
    ),
    "aten.pairwise_distance": tensors(
        (ONE_FLOAT, ONE_FLOAT), (ONE_FLOAT, ((4,), "float32"), 1.0, 0.1, True), (((4,), "float64"), ((4,), "float64"), 3.0)
    ),
    # distance
    **{
        f"aten.{name}": tensors(
            *[(((2, 3, 4), dtype), ((5, 4), dtype), p, None) for dtype in FLOATS[:2] for p in (2.0, 1.0, 0.0, np.inf, 3.5)]
        )
        for name in ("_cdist_forward", "cdist")
    },
    **{
        f"aten.{name}": tensors((((1, 3), "float32"),), *[(((4, 3), "float32"), p) for p in (2.0, 1.0, np.inf, 3.0)])
        for name in ("_pdist_forward", "pdist")
    },
    # softmax
    **{f"aten.{name}": reduction((1, False), (-1, False), dtypes=FLOATS) for name in ("_softmax", "_log_softmax")},
    **{f"aten.{name}.int": reduction((1,), (-1, f64), (0, f32), dtypes=FLOATS) for name in ("softmax", "log_softmax")},
    "aten._safe_softmax": lambda rng: (
        [(make(rng, (2, 3), dtype), -1) for dtype in FLOATS]
        + [(np.array([[-np.inf, -np.inf], [1, -np.inf]], "float32"), 1), (make(rng, (3, 4), "float16"), 0, f32)]
    ),
    # creation
    "aten.scalar_tensor": fixed((2,), (1.5, f16), (True, i1), (7, i64), (-3, i8)),
    "aten.full": fixed(((2, 3), 1.5), ((), 2), ((2,), True), ((2,), 3, bf16), ((0, 2), 1.0, f64)),
    **{f"aten.{name}": fixed(((2, 3),), ((), i64), ((0, 2), i1), ((2,), bf16)) for name in ("zeros", "ones", "empty.memory_format")},
    "aten.empty_strided": fixed(((2, 3), (3, 1)), ((2, 3), (1, 2), i64)),
    "aten.empty_permuted": fixed(((2, 3), (0, 1)), ((2, 3), (1, 0), f64)),
    "aten.full_like": unary((2,), (1.5, f64), (True, i1), dtypes=ALL),
    **{f"aten.{name}": unary((), (i32,), dtypes=ALL) for name in ("zeros_like", "ones_like", "empty_like")},
    **{f"aten.{name}": unary(((2, 3),), ((), i32), dtypes=ALL) for name in ("new_zeros", "new_ones", "new_empty")},
    "aten.new_full": unary(((2, 3), 1), ((), 2.5, f32), dtypes=ALL),
    "aten.fill.Scalar": unary((2,), (1,), dtypes=ALL),
    "aten.fill.Tensor": tensors((ONE_FLOAT, ((), "float32")), (((3,), "int32"), ((), "float32")), (((), "bool"), ((), "int64"))),
    "aten.zero": unary(dtypes=ALL),
    "aten.arange": fixed((5,), (5.5,), (0,), (4, f32), (3, i32), (2.5, i64)),
    "aten.arange.start": fixed((2, 7), (0.5, 3.5), (3, 3), (1, 4, f16)),
    "aten.arange.start_step": fixed((2, 9, 3), (9, 2, -3), (0, 1, 0.25), (0.5, 4, 1, f64), (0, 5, 1, i32), (5, 0, -1.5)),
    "aten.linspace": fixed((0, 1, 5), (-2.5, 7, 8), (3, 3, 1), (0, 1, 0), (5, -5, 11, f64), (0, 10, 4, f16)),
    "aten._to_copy": and_reals_that_do_not_fit(
        unary((f32,), (i64,), (i1,), (f16,), (bf16,), (), dtypes=ALL, special=()), (i8,), (i16,), (i32,), (i64,), (ui8,), (ui16,)
    ),
    "aten.to.dtype": unary((f32,), (i32,), (bf16,), dtypes=ALL, special=()),
    "aten.to.dtype_layout": unary((f64,), (None, None, "cpu"), dtypes=ALL, special=()),
    "aten.to.device": unary(("cpu", f32), ("cpu", i64), dtypes=ALL, special=()),
    "aten.type_as": binary(dtypes=ALL, special=False),
    "aten.to.other": binary(dtypes=ALL, special=False),
    "aten.copy": tensors(
        (ONE_FLOAT, ONE_FLOAT), (ONE_FLOAT, ((4,), "int64")), (((3,), "int32"), ((), "float32")), (((), "bool"), ((), "int64"))
    ),
    **{
        f"aten.{name}": unary(dtypes=ALL)
        for name in ("clone", "alias", "detach", "contiguous", "lift_fresh_copy", "lift_fresh", "resolve_conj", "resolve_neg")
    },
    "aten.eye": fixed((3,), (0,), (2, i64), (2, i1)),
    "aten.eye.m": fixed((3, 2), (1, 4, f16)),
    "edge._to_dim_order_copy": tensors(
        (((2, 3, 4, 5), "float32"), None, None, None, None, False, (0, 2, 3, 1)), (((2, 3), "int32"), f16), (((2, 3), "bool"),)
    ),
    # random
    **{f"aten.{name}": fixed(((2, 3),), ((), f64), ((4,), f16)) for name in ("rand", "randn")},
    **{f"aten.{name}": unary((), (f64,)) for name in ("rand_like", "randn_like")},
    "aten.randint_like": unary((5,)),
    "aten.randint_like.low_dtype": unary((-2, 4), (2, 9, f32)),
    "aten.randint": fixed((5, (2, 3)), (9, (), f32)),
    "aten.randint.low": fixed((-3, 5, (2, 3)), (2, 9, (), i32)),
    "aten.randperm": fixed((5,), (0,), (4, i32)),
    "aten.native_dropout": tensors(*[(((3, 4), dtype), *rest) for dtype in FLOATS for rest in ((0.5, False), (0.0, True), (1.0, True))]),
    "aten.dropout": unary((0.5, False), (0.0, True), (1.0, True)),
}
"""Generators by full operator name."""
