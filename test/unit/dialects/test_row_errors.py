"""Rows refuse operands that PyTorch refuses, in one line that says why."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects.builtin import TensorType, f16
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.tensor_types import f32, i1, i32, i64, tensor
from flambeau.dialects.schema.operators import find_op

FLOAT = tensor(f32, (2, 3))
LONG = tensor(i64, (2, 3))
BOOL = tensor(i1, (2, 3))
SEQUENCE = (tensor(f32, (2, 3, 4)),) * 3
WEIGHTS = tuple(tensor(f32, shape) for shape in ((12, 4), (12,), (4, 4), (4,)))

REJECTED: list[tuple[str, tuple[Any, ...], str]] = [
    ("aten.add.Tensor", (FLOAT, tensor(f32, (2, 4))), "do not broadcast"),
    ("aten.sub.Tensor", (FLOAT, BOOL), "subtraction is not defined for bool"),
    ("aten.neg", (BOOL,), "negation is not defined for bool"),
    ("aten.div.Tensor_mode", (FLOAT, FLOAT, "down"), "rounding_mode must be None, 'trunc' or 'floor', got 'down'"),
    ("aten.bitwise_and.Tensor", (FLOAT, FLOAT), "not defined for float32"),
    ("aten.bitwise_left_shift.Tensor", (BOOL, BOOL), "not defined for bool"),
    ("aten.bitwise_not", (FLOAT,), "not defined for float32"),
    ("aten.pow.Tensor_Scalar", (LONG, -2), "no power -2"),
    ("aten.gelu", (FLOAT, "sigmoid"), "approximate must be 'none' or 'tanh'"),
    ("aten.silu", (LONG,), "not defined for int64"),
    ("aten.glu", (tensor(f32, (2, 3)), 1), "must have an even size"),
    ("aten.prelu", (FLOAT, tensor(f16, (3,))), "the weight must have the input's element type"),
    ("aten.prelu", (FLOAT, tensor(f32, (2,))), "do not broadcast"),
    ("aten.clamp", (FLOAT, None, None), "one of min and max must be given"),
    ("aten.where.self", (FLOAT, FLOAT, FLOAT), "the condition must be a bool tensor"),
    ("aten.masked_fill.Scalar", (FLOAT, LONG, 0), "the mask must be a bool tensor"),
    ("aten.masked_fill.Tensor", (FLOAT, BOOL, FLOAT), "the value must be one number"),
    ("aten._softmax", (LONG, 1, False), "softmax is not defined for int64"),
    ("aten._softmax", (FLOAT, 2, False), "dim 2 is out of range for rank 2"),
    ("aten._softmax", (FLOAT, 1, True), "half_to_float needs an f16 tensor"),
    ("aten.sum.dim_IntList", (FLOAT, (0, -2)), "name one dimension twice"),
    ("aten.sum.dim_IntList", (FLOAT, (2,)), "dim 2 is out of range for rank 2"),
    ("aten.mean", (LONG,), "not defined for int64"),
    ("aten.amax", (tensor(f32, (0, 3)), (0,)), "no elements to choose from"),
    ("aten.argmax", (BOOL,), "not defined for bool"),
    ("aten.cumsum", (FLOAT, -3), "dim -3 is out of range"),
    ("aten.diff", (tensor(f32, ()),), "not defined"),
    ("aten.linalg_norm", (FLOAT, 2, (0, 1)), "needs singular values"),
    ("aten.linalg_norm", (tensor(f32, (2, 3, 4)), 1), "needs one or two dimensions, got 3"),
    ("aten.arange.start_step", (0, 5, -1), "no step of -1 leads from 0 to 5"),
    ("aten.arange.start_step", (0, 5, 0), "no step of 0"),
    ("aten.linspace", (0, 1, -1), "must not be negative"),
    ("aten.full", ((2,), 0, TensorType(i32, [])), "not an element type"),
    ("aten.empty_strided", ((2, 3), (1,)), "must have the same length"),
    ("aten.copy", (FLOAT, tensor(f32, (2, 1, 3))), "does not broadcast to"),
    ("aten.native_dropout", (FLOAT, 1.5, True), "p must be a probability, got 1.5"),
    ("aten.alpha_dropout", (FLOAT, 1.5, True), "p must be a probability, got 1.5"),
    ("aten.histc", (FLOAT, 0), "0 bins"),
    ("aten.histogram.bins_tensor", (FLOAT, FLOAT), "the edges of bins must have one dimension, got [2, 3]"),
    ("aten._cdist_forward", (FLOAT, tensor(f32, (2, 4)), 2.0, None), "same number of columns"),
    ("aten._native_multi_head_attention", (*SEQUENCE, 8, 2, *WEIGHTS), "query [2, 3, 4] must have 8 features, embed_dim"),
    ("aten._native_multi_head_attention", (*SEQUENCE, 4, 3, *WEIGHTS), "4 features do not make up 3 heads"),
    ("aten._native_multi_head_attention", (*SEQUENCE, 4, 2, *WEIGHTS, BOOL), "needs mask_type 0, [length, length], or 1"),
    (
        "aten._native_multi_head_attention",
        (*SEQUENCE, 4, 2, *WEIGHTS, BOOL, True, True, 0),
        "mask must have shape [3, 3], got [2, 3]",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "message"), REJECTED, ids=[f"{name}-{message[:20]}" for name, _, message in REJECTED])
def test_operands_that_do_not_fit_are_refused_with_the_reason(name: str, arguments: tuple[Any, ...], message: str):
    kind = find_op(name)
    assert kind is not None
    is_tensor = [argument.type.is_tensor for argument in kind.schema.arguments]
    block = Block(arg_types=[value for value, flag in zip(arguments, is_tensor, strict=False) if flag])
    operands = iter(block.args)
    values = [next(operands) if flag else value for value, flag in zip(arguments, is_tensor, strict=False)]
    with pytest.raises(VerifyException, match=name.replace(".", r"\.")) as caught:
        kind(*values)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
