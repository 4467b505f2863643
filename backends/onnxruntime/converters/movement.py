"""Operators that move elements."""

from __future__ import annotations

from xdsl.ir import SSAValue

from flambeau.backends.onnxruntime.converters.building import CONVERTERS, places, rank_of
from flambeau.backends.onnxruntime.dialect import movement
from flambeau.backends.onnxruntime.places import open_slice
from flambeau.dialects.aten.movement.pad import margins
from flambeau.dialects.ir.extents import is_known, provably_equal
from flambeau.dialects.ir.tensor_types import normalize_dim, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.lowering.reshapes import reshape_pattern
from flambeau.passes.delegation.normalized import dim_of, pads_of, permutation, sizes_before, start_of
from flambeau.passes.rewriting.constants import ModuleConstants

_FIRST = -(2**63)
"""The end of a slice with negative steps that has the first entry of its dimension."""

CONVERTERS.update(
    {
        "unsqueeze_copy": lambda op, constants: movement.UnsqueezeOp(op.operands[0], (dim_of(op, op.result),)).result,
        "permute_copy": lambda op, constants: movement.TransposeOp(op.operands[0], perm=permutation(op)).result,
        "cat": lambda op, constants: movement.ConcatOp(list(op.operands), axis=dim_of(op)).result,
        "split_with_sizes_copy": lambda op, constants: list(
            movement.SplitOp(op.operands[0], op.argument("split_sizes"), axis=dim_of(op)).results
        ),
        "select_copy.int": lambda op, constants: (
            movement.GatherOp(op.operands[0], places(constants, op.argument("index")), axis=dim_of(op)).result
        ),
        "pixel_shuffle": lambda op, constants: (
            movement.DepthToSpaceOp(op.operands[0], blocksize=op.argument("upscale_factor"), mode="CRD").result
        ),
        "embedding": lambda op, constants: movement.GatherOp(op.argument("weight"), op.argument("indices"), axis=0).result,
    }
)


@CONVERTERS("index_select")
def _index_select(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    index = op.argument("index")
    line = index if shape_of(index) else movement.UnsqueezeOp(index, (0,)).result
    return movement.GatherOp(op.operands[0], line, axis=dim_of(op)).result


@CONVERTERS("gather")
def _gather(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    """Converts a gather. A number as the index is a line of one, and so is its result."""
    index, is_line = op.argument("index"), bool(shape_of(op.argument("index")))
    found = movement.GatherElementsOp(
        op.operands[0], index if is_line else movement.UnsqueezeOp(index, (0,)).result, axis=dim_of(op)
    ).result
    return found if is_line else movement.SqueezeOp(found, (0,)).result


@CONVERTERS("view_copy")
def _reshape(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    pattern = reshape_pattern(shape_of(op.operands[0]), shape_of(op.result))
    return movement.ReshapeOp(op.operands[0], pattern, result_types=[op.result.type]).result


@CONVERTERS("squeeze_copy.dim", "squeeze_copy.dims")
def _squeeze(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    given, shape = op.argument("dim"), shape_of(op.operands[0])
    named: tuple[int, ...] = (given,) if isinstance(given, int) else given
    gone = tuple(dim for dim in (normalize_dim(item, len(shape)) for item in named) if shape and provably_equal(shape[dim], 1))
    return movement.SqueezeOp(op.operands[0], gone).result if gone else op.operands[0]


@CONVERTERS("stack")
def _stack(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    dim = dim_of(op, op.result)
    return movement.ConcatOp([movement.UnsqueezeOp(value, (dim,)).result for value in op.operands], axis=dim).result


@CONVERTERS("slice_copy.Tensor")
def _slice(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    if not is_known(shape_of(op.operands[0])[dim_of(op)]):
        return movement.SliceOp(op.operands[0], *open_slice(op)).result
    x, dim, first, step = op.operands[0], dim_of(op), start_of(op), op.argument("step")
    end = first + (shape_of(op.result)[dim] - 1) * step + 1
    return movement.SliceOp(x, (first,), (end,), (dim,), (step,)).result


@CONVERTERS("flip")
def _flip(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    dims = tuple(normalize_dim(dim, rank_of(op.operands[0])) for dim in op.argument("dims"))
    if not dims:
        return op.operands[0]
    ones = (1,) * len(dims)
    return movement.SliceOp(op.operands[0], tuple(-one for one in ones), (_FIRST,) * len(dims), dims, tuple(-one for one in ones)).result


@CONVERTERS("expand_copy")
def _expand(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    pairs = zip(sizes_before(op), shape_of(op.result), strict=True)
    target = tuple(1 if not is_known(size) or provably_equal(before, size) else size for before, size in pairs)
    return movement.ExpandOp(op.operands[0], target).result


@CONVERTERS("repeat")
def _repeat(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, repeats = op.operands[0], tuple(op.argument("repeats"))
    more = tuple(range(len(repeats) - rank_of(x)))
    return movement.TileOp(movement.UnsqueezeOp(x, more).result if more else x, repeats).result


@CONVERTERS("constant_pad_nd")
def _pad(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    before, behind = pads_of(op)
    return movement.PadOp(op.operands[0], (*before, *behind), float(op.argument("value"))).result


@CONVERTERS("reflection_pad1d", "reflection_pad2d", "replication_pad2d")
def _pad_with_ends(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    pairs = margins(op.argument("padding"), rank_of(op.operands[0]))
    pads = (*(before for before, _ in pairs), *(behind for _, behind in pairs))
    return movement.PadOp(op.operands[0], pads, mode="reflect" if op.schema.base.startswith("reflection") else "edge").result
