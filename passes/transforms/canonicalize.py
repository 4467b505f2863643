"""`canonicalize`: rewrites equivalent operators to one canonical form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, cast

from xdsl.context import Context
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from flambeau.dialects.aten.complex_numbers.complex import ViewAsComplexOp, ViewAsRealOp
from flambeau.dialects.aten.elementwise.conversion import ToCopyOp
from flambeau.dialects.aten.indexing.embedding import EmbeddingOp
from flambeau.dialects.aten.movement.concat import CatOp
from flambeau.dialects.aten.movement.permute import PermuteOp
from flambeau.dialects.aten.movement.select import NO_END, SliceTensorOp
from flambeau.dialects.aten.movement.shape import ExpandOp, SqueezeDimOp, SqueezeDimsOp, UnsqueezeOp, ViewOp
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.edge.layout import is_row_major
from flambeau.dialects.ir.extents import is_known, is_unknown
from flambeau.dialects.ir.tensor_types import element_of, i8, shape_of, tensor_type, ui8
from flambeau.dialects.quantized_decomposed.embedding import EmbeddingByteOp
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerChannelGroupOp, DequantizePerChannelOp
from flambeau.dialects.schema.families import BinaryOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting.greedy_driver import PatternDriver
from flambeau.passes.rewriting.pattern import Pattern, rename_values, replace_with_values
from flambeau.support.suggestions import did_you_mean


def _producer(value: SSAValue, kind: type[SchemaOp]) -> SchemaOp | None:
    owner = value.owner
    return owner if isinstance(owner, kind) else None


def _plain(*values: SSAValue) -> bool:
    """Returns whether every value is row-major, and every size of its shape is a number or an expression of symbols."""
    return all(is_row_major(value) and not any(map(is_unknown, shape_of(value))) for value in values)


def _keeps_shape(op: SchemaOp) -> bool:
    """Returns whether a reshape or slice, whose result has the type of the operand, keeps the operand's shape in every run.

    Equal types do not prove this, because two unknown sizes may differ.
    """
    shape = shape_of(op.operands[0])
    match op:
        case SliceTensorOp():
            dim: int = op.argument("dim")
            if not is_unknown(shape[dim]):
                return True
            bounds = [op.argument(name) for name in ("start", "end", "step")]
            return bounds[0] in (None, 0) and bounds[1] in (None, NO_END) and bounds[2] == 1
        case ViewOp():
            # A single unknown extent follows from the number of elements.
            return sum(map(is_unknown, shape)) <= 1 and sum(is_known(size) and size == -1 for size in op.argument("size")) <= 1
        case ExpandOp():
            pairs = zip(op.argument("size"), shape, strict=True)
            return all(is_known(wanted) and wanted == -1 for wanted, extent in pairs if is_unknown(extent))
        case _:
            return True


class IdentityPattern(Pattern):
    """Operators whose result has the type and the elements of the operand. With `copies`, this includes copies to other memory."""

    roots = (SchemaOp,)
    counter = "identities removed"

    def __init__(self, *, copies: bool = True):
        self.copies = copies

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replaces `op` by its first operand when nothing changes."""
        assert isinstance(op, SchemaOp)
        if not op.operands or len(op.results) != 1 or op.operands[0].type != op.result_types[0]:
            return
        name = op.schema.name
        plain = isinstance(op, ViewOp | ExpandOp | SliceTensorOp | SqueezeDimOp | SqueezeDimsOp) and _keeps_shape(op)
        copy = name in ("_to_copy", "clone", "alias", "alias_copy") and op.properties.get("memory_format") is None
        single = isinstance(op, CatOp) and len(op.operands) == 1
        order = isinstance(op, PermuteOp) and list(op.argument("dims")) == list(range(len(op.argument("dims"))))
        one = name in ("mul.Scalar", "div.Scalar") and op.argument("other") == 1
        if (plain or copy or single or order or one) and (self.copies or op.schema.is_view):
            rewriter.replace(op, [], [op.operands[0]])


class ReshapePattern(Pattern):
    """Squeezes, unsqueezes and permutations of dimensions of size 1, which become views; a view of a view, which becomes one view."""

    roots = (ViewOp, SqueezeDimOp, SqueezeDimsOp, UnsqueezeOp, PermuteOp)
    counter = "reshapes rewritten"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites row-major reshapes whose sizes are numbers or expressions of symbols."""
        assert isinstance(op, SchemaOp)
        source, result = op.operands[0], op.result
        if not _plain(source, result):
            return
        if isinstance(op, PermuteOp):
            shape = shape_of(source)
            moved = [d for d in op.argument("dims") if shape[d] != 1]
            if moved != sorted(d % max(len(shape), 1) for d in moved):
                return
        elif isinstance(op, ViewOp):
            inner = _producer(source, ViewOp)
            if inner is None and tuple(op.argument("size")) == shape_of(result):
                return
            source = inner.operands[0] if inner is not None and _plain(inner.operands[0]) else source
        size = shape_of(result)
        if isinstance(op, ViewOp) and source is op.operands[0] and tuple(op.argument("size")) == size:
            return
        replace_with_values(op, [ViewOp.at(op.level())(source, size).result], rewriter)


class PermutePattern(Pattern):
    """A permutation of a permutation, which becomes one permutation."""

    roots = (PermuteOp,)
    counter = "permutations merged"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` when its operand is a permutation too."""
        assert isinstance(op, PermuteOp)
        inner = _producer(op.operands[0], PermuteOp)
        if inner is None or not _plain(inner.operands[0], op.operands[0], op.result):
            return
        first, second = list(inner.argument("dims")), list(op.argument("dims"))
        replace_with_values(op, [PermuteOp.at(op.level())(inner.operands[0], tuple(first[d] for d in second)).result], rewriter)


class BroadcastPattern(Pattern):
    """An expansion before an operator that broadcasts anyway."""

    roots = (BinaryOp,)
    counter = "expansions removed"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Makes `op` read the expansion's operand if the result keeps its type."""
        assert isinstance(op, BinaryOp)
        operands = list(op.operands)
        changed = False
        for index, operand in enumerate(operands):
            expansion = _producer(operand, ExpandOp)
            if expansion is None or len(operands) < 2:
                continue
            shorter = [*operands[:index], expansion.operands[0], *operands[index + 1 :]]
            # The declared result type may be less precise; a size that only the expansion gives must be kept.
            if op.infer_types(shorter, op.properties) == op.infer_types(operands, op.properties) == [tensor_type(op.result)]:
                operands, changed = shorter, True
        if changed:
            new = op.rebuilt(operands, result_types=op.result_types)
            rename_values(op, new)
            rewriter.replace(op, new)


class EmptyConcatPattern(Pattern):
    """Operands of a concatenation that have no elements."""

    roots = (CatOp,)
    counter = "empty operands removed"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Drops empty operands as long as one is left."""
        assert isinstance(op, CatOp)
        if not _plain(*op.operands, op.result):
            return
        tensors = cast("list[SSAValue]", op.argument("tensors"))
        full = [value for value in tensors if 0 not in shape_of(value)]
        if not full or len(full) == len(tensors):
            return
        new = type(op).at(op.level())(full, op.argument("dim"))
        if new.result.type != op.result.type:
            return  # an empty operand may decide the element type
        rewriter.insert(new, InsertPoint.before(op))
        rewriter.replace(op, [], [new.result])


class PartsPattern(Pattern):
    """A `view_as_real` that reads a `view_as_complex`."""

    roots = (ViewAsRealOp,)
    counter = "complex numbers taken apart"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replaces `op` by the operand of the `view_as_complex` if the types are equal."""
        made = _producer(op.operands[0], ViewAsComplexOp)
        if made is not None and made.operands[0].type == op.results[0].type:
            rewriter.replace(op, [], [made.operands[0]])


class TablePattern(Pattern):
    """An embedding in a table that is dequantized with scales for rows, or for groups in them."""

    roots = (EmbeddingOp,)
    counter = "tables kept as integers"

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Dequantizes only the rows that are read."""
        assert isinstance(op, EmbeddingOp)
        table = op.operands[0].owner
        match table:
            case DequantizePerChannelGroupOp():
                x, scales, zeros, low, high, *_ = table.arguments()
                fits = len(shape_of(scales)) == 2 and shape_of(scales)[0] == shape_of(x)[0]
            case DequantizePerChannelOp():
                x, scales, zeros, axis, low, high, *_ = table.arguments()
                fits = element_of(x) in (i8, ui8) and len(shape_of(x)) == 2 and shape_of(x)[1] > 1 and axis in (0, -2)
            case _:
                return
        element = element_of(scales)
        if element_of(op.result) != element or not fits:
            return
        if zeros is not None and element_of(zeros) != element:
            zeros = ToCopyOp.at(op.level())(zeros, element).result
        replace_with_values(op, [EmbeddingByteOp(x, scales, zeros, low, high, op.operands[1]).result], rewriter)


_OTHERS: tuple[Pattern, ...] = (
    ReshapePattern(),
    PermutePattern(),
    BroadcastPattern(),
    EmptyConcatPattern(),
    PartsPattern(),
    TablePattern(),
)


_NAMES = tuple(type(pattern).__name__ for pattern in (IdentityPattern(), *_OTHERS))


def check_pattern(name: str) -> None:
    """Raises ValueError unless `name` is the name of a pattern of this pass."""
    if name not in _NAMES:
        raise ValueError(f"canonicalize has no pattern {name!r}; it has {', '.join(_NAMES)}{did_you_mean(name, _NAMES)}")


def _is_outside_of_partitions(op: Operation) -> bool:
    return not isinstance(op.parent_op(), PartitionOp)


@dataclass(frozen=True)
class CanonicalizePass(PatternPass):
    """Removes operators that change nothing and writes reshapes, permutations and broadcasts in one form.

    Needs nothing; works on every level that has rows. Leaves: no copy, view, expansion or slice whose result is its operand; static
    squeezes and unsqueezes as views; no view of a view, no permutation of a permutation, no expansion before an operator that
    broadcasts anyway, no `view_as_real` of a `view_as_complex`, no embedding in a table that is dequantized by groups. If an operator
    writes into an operand, copies stay. The content of partitions does not change.
    """

    name = "canonicalize"
    top_down: bool = True
    """Begin with the first operation; if false, begin with the last operation."""
    max_num_rewrites: int | None = None
    """The greatest number of rewrites; without this option, there is no limit."""
    enable_patterns: tuple[Annotated[str, check_pattern], ...] = ()
    """The only patterns to apply; without this option, all patterns."""
    disable_patterns: tuple[Annotated[str, check_pattern], ...] = ()
    """Patterns not to apply."""

    def patterns(self) -> Sequence[Pattern]:
        """Returns the patterns of the canonical form, for code that writes nothing in place."""
        return self._chosen(IdentityPattern())

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Applies the patterns."""
        writes = any(isinstance(item, SchemaOp) and item.schema.mutates for item in op.walk())
        patterns = self._chosen(IdentityPattern(copies=not writes))
        PatternDriver(patterns, top_down=self.top_down, most=self.max_num_rewrites, only=_is_outside_of_partitions).run(op)

    def _chosen(self, identity: Pattern) -> Sequence[Pattern]:
        names = set(self.enable_patterns or _NAMES) - set(self.disable_patterns)
        return [pattern for pattern in (identity, *_OTHERS) if type(pattern).__name__ in names]
