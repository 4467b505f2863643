"""Attention: two products around a softmax, without copies of keys and values."""

from __future__ import annotations

import math
from typing import cast

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute, SSAValue

from flambeau.backends.onnxruntime.converters.building import CONVERTERS, constant, in_type, number_like, rank_of
from flambeau.backends.onnxruntime.dialect import elements as e
from flambeau.backends.onnxruntime.dialect.movement import ReshapeOp, TransposeOp
from flambeau.backends.onnxruntime.dialect.products import MatMulOp
from flambeau.backends.onnxruntime.dialect.reductions import ReduceMaxOp, SoftmaxOp
from flambeau.dialects.aten.layers.attention import head_repeats, scale_of
from flambeau.dialects.aten.movement.permute import swapped
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import element_of, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.lowering.reshapes import reshape_pattern
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np


@CONVERTERS("scaled_dot_product_attention")
def _attention(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts attention. The queries of a group of heads are so many more queries of the one head of keys that the group has."""
    query, key, value = op.operands[:3]
    repeats, rank, shape = head_repeats(shape_of(query), shape_of(key), op.argument("enable_gqa")), rank_of(query), shape_of(query)
    element = element_of(op.result)
    addend, visible = _mask(op, constants, (*shape[:-1], shape_of(key)[-2]))
    factor = number_like(constants, query, scale_of(shape, op.argument("scale")))
    scaled = e.ARITHMETIC["mul"](_grouped(query, key, repeats), factor).result
    scores = MatMulOp(scaled, TransposeOp(key, perm=swapped(rank, -2, -1)).result).result
    apart = 1
    if addend is not None:
        fitting = _repeated(addend, constants, shape, repeats)
        if fitting is None:
            scores, fitting, apart = _shaped(scores, (*shape[:-1], shape_of(key)[-2])), addend, repeats
        scores = e.ARITHMETIC["add"](scores, fitting).result
    result = MatMulOp(_grouped(SoftmaxOp(scores, axis=rank - 1).result, key, apart), value).result
    result = result if repeats == 1 else _shaped(result, shape_of(op.result))
    return result if visible is None else e.ARITHMETIC["mul"](result, in_type(visible, element)).result


def _shaped(value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    return ReshapeOp(value, cast("tuple[int, ...]", reshape_pattern(shape_of(value), shape))).result


def _grouped(value: SSAValue, key: SSAValue, repeats: int) -> SSAValue:
    """Returns [..., heads of queries, queries, n] as [..., heads of keys, queries of a group, n]."""
    if repeats == 1:
        return value
    *batch, _, queries, features = shape_of(value)
    return _shaped(value, (*batch, shape_of(key)[-3], queries * repeats, features))


def _mask(op: SchemaOp, constants: ModuleConstants, scores: tuple[int, ...]) -> tuple[SSAValue | None, SSAValue | None]:
    """Returns what is added to the scores, and which rows of them see a key; nothing for what changes nothing."""
    mask, element = op.argument("attn_mask"), element_of(op.operands[0])
    if op.argument("is_causal"):
        return constant(constants, "hidden", np.triu(np.full(scores[-2:], -np.inf), 1), element), None
    if mask is None:
        return None, None
    array = constants.array(mask)
    if array is not None:
        return _constant_mask(array, constants, element)
    is_bool = element_of(mask) == i1
    lowest = number_like(constants, op.operands[0], -math.inf)
    shown = mask if is_bool else e.UNARY["logical_not"](e.COMPARISONS["eq"](mask, lowest).result).result
    visible = in_type(ReduceMaxOp(in_type(shown, i32), (rank_of(shown) - 1,), keepdims=True).result, i1)
    zero = number_like(constants, op.operands[0], 0)
    if is_bool:
        shown = e.LOGIC["or"](mask, e.UNARY["logical_not"](visible).result).result
        return e.WhereOp(shown, zero, lowest).result, visible
    return e.WhereOp(visible, mask, zero).result, visible


def _constant_mask(array: Array, constants: ModuleConstants, element: Attribute) -> tuple[SSAValue | None, SSAValue | None]:
    shown = array if array.dtype == np.bool_ else array != -np.inf
    visible = shown.any(-1, keepdims=True)
    if array.dtype == np.bool_:
        addend = np.where(shown | ~visible, 0, -np.inf)
    else:
        addend = np.where(visible, array, 0)
    given = constant(constants, "hidden", addend, element) if addend.any() else None
    return given, None if visible.all() else constant(constants, "visible", visible, i1)


def _repeated(addend: SSAValue, constants: ModuleConstants, shape: tuple[int, ...], repeats: int) -> SSAValue | None:
    """Returns an addend for the scores of groups; None if these must be those of heads to be added to."""
    array = constants.array(addend)
    own = shape_of(addend)
    if repeats == 1 or (own[-2] == 1 and (len(own) < 3 or own[-3] == 1)):
        return addend
    if array is None or not is_known(shape[-2]) or (len(own) > 2 and own[-3] != 1):
        return None
    return constant(constants, "hidden", np.concatenate([array] * repeats, -2), element_of(addend))
