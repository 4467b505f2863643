"""`fold-constants`: evaluates operators whose operands are constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from flambeau.dialects.ir.diagnostics import remark
from flambeau.dialects.ir.tensor_types import is_static, nbytes, tensor_type
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_functions import flat_results
from flambeau.passes.analysis.quantized_operators import DEQUANTIZATIONS
from flambeau.passes.analysis.quantized_types import widens_weight
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import analysis, may_rewrite
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.pattern import rename_values
from flambeau.passes.rewriting.uses import Rewriter
from flambeau.support.lazy import Array, np

_EVALUATED = 1 << 30
"""The limit, in bytes, on a constant that is computed from less than half as many bytes: a larger one may not fit into memory."""

_ATTENTION = "scaled_dot_product_attention"


def _mask(op: SchemaOp) -> str:
    """Returns the name of the mask among the arguments of attention: in a fused operator it is shorter."""
    return next(argument.name for argument in op.schema.arguments if argument.name in ("attn_mask", "mask"))


@dataclass(frozen=True)
class FoldConstantsPass(ModulePass):
    """Evaluates, by its row's numpy meaning, every operation whose operands are all constant.

    A chain is evaluated whole and only its end is stored, so intermediate sizes up to a gigabyte do not count. A result is stored when it
    takes at most `limit` bytes or no more than the constants that it stems from and that nothing else uses. A `where` whose condition
    is the same everywhere is what it chooses, and attention whose mask hides nothing has none. Quantized weights stay integers, which are
    a fourth of the floats; biases of int32 become floats.

    Needs: `core`, `edge` or `fused` operators. Leaves: constants that were worth it as globals; `remove-dead-code` drops what they replace.
    """

    name = "fold-constants"
    limit: int = 65536
    """The most bytes of a result that is stored beside the constants it stems from."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        constants = ModuleConstants(ctx, op)
        rewriter = Rewriter(InsertPoint.at_end(op.body.block))
        for function in op.body.block.ops:
            if isinstance(function, FuncOp):
                self._fold(function, constants, rewriter)

    def _fold(self, function: FuncOp, constants: ModuleConstants, rewriter: Rewriter) -> None:
        with analysis("constant values", function):
            values, names = self._evaluate(function, constants)
            chosen = self._choices(function, values, constants)
        for op, index in chosen.items():
            if may_rewrite(self.name, op):
                rewriter.replace(op, [], [op.operands[index]])
                count("choices decided")
        for op in function.walk():
            if isinstance(op, SchemaOp) and op.schema.base == _ATTENTION and self._hides_nothing(op, values, constants):
                if may_rewrite(self.name, op):
                    rewriter.replace(op, new := [op.rebuilt(**{_mask(op): None})], list(new[0].results))
                    count("masks removed")
        inside = {cast(Operation, value.owner) for value in values}
        for op in reversed(list(dict.fromkeys(cast(SchemaOp, value.owner) for value in values))):
            for result in op.results:
                if all(use.operation in inside for use in result.uses):
                    continue
                size = nbytes(result.type)
                if size > self.limit and size > (freed := self._freed(op, constants, inside)):
                    remark(op, f"stays: its {size} constant bytes are more than the limit of {self.limit} and the {freed} they would free")
                elif may_rewrite(self.name, op):
                    self._store(op, result, values[result], names[result], constants, rewriter)
                    count("results stored")

    def _evaluate(self, function: FuncOp, constants: ModuleConstants) -> tuple[dict[SSAValue, Array], dict[SSAValue, str]]:
        """Returns the results that depend on constants only, in order, and what to call each."""
        values: dict[SSAValue, Array] = {}
        names: dict[SSAValue, str] = {}
        for op in function.walk():
            if not isinstance(op, SchemaOp) or not op.results or not _foldable(op):
                continue
            arrays = [self._value(operand, values, constants) for operand in op.operands]
            if any(array is None for array in arrays):
                continue
            try:
                with np.errstate(all="ignore"):  # infinities and NaN are valid results
                    computed: Any = op.call("numpy", op.bind(arrays, op.properties))
            except (ValueError, LookupError, ArithmeticError) as error:
                remark(op, f"not folded: on these constants it has no result: {error}")
                continue
            values.update(zip(op.results, (np.asarray(item) for item in flat_results(computed)), strict=True))
            stem = next((names.get(operand) or constants.name(operand) for operand in op.operands), "constant")
            names.update((result, stem) for result in op.results)
        return values, names

    def _choices(self, function: FuncOp, values: dict[SSAValue, Array], constants: ModuleConstants) -> dict[SchemaOp, int]:
        """Returns which operand a `where` is, if it takes all elements from one, which has the type of the result."""
        found: dict[SchemaOp, int] = {}
        for op in function.walk():
            if not isinstance(op, SchemaOp) or op.schema.name != "where.self" or op.results[0] in values:
                continue
            condition = self._value(op.operands[0], values, constants)
            if condition is not None and (condition.all() or not condition.any()):
                index = 1 if condition.all() else 2
                if op.operands[index].type == op.results[0].type:
                    found[op] = index
        return found

    def _hides_nothing(self, op: SchemaOp, values: dict[SSAValue, Array], constants: ModuleConstants) -> bool:
        """Returns whether the mask of attention is known, and adds nothing or lets all keys through."""
        mask: SSAValue | None = op.argument(_mask(op))
        array = None if mask is None else self._value(mask, values, constants)
        return array is not None and bool(array.all() if array.dtype == np.bool_ else not array.any())

    @staticmethod
    def _value(operand: SSAValue, values: dict[SSAValue, Array], constants: ModuleConstants) -> Array | None:
        return values[operand] if operand in values else constants.array(operand)

    @staticmethod
    def _freed(op: SchemaOp, constants: ModuleConstants, inside: set[Operation]) -> int:
        """Returns the bytes of the constants that nothing else uses than `op` and what leads to it."""
        sources: set[SSAValue] = set()
        work: list[Operation] = [op]
        seen: set[Operation] = set()
        while work:
            item = work.pop()
            if item in seen:
                continue
            seen.add(item)
            for operand in item.operands:
                if constants.is_constant(operand):
                    sources.add(operand)
                elif operand.owner in inside:
                    work.append(cast(Operation, operand.owner))
        return sum(nbytes(source.type) for source in sources if all(use.operation in seen for use in source.uses))

    @staticmethod
    def _store(op: SchemaOp, result: SSAValue, array: Array, stem: str, constants: ModuleConstants, rewriter: Rewriter) -> None:
        load = constants.add(f"{stem}.{op.schema.base}", array, tensor_type(result))
        load.location = op.location
        rewriter.insert(load, InsertPoint.before(op))
        if len(op.results) == 1:
            rename_values(op, load)
        rewriter.replace_all_uses_with(result, load.results[0])


def _foldable(op: SchemaOp) -> bool:
    if not type(op).has("numpy") or not is_side_effect_free(op) or not is_static(*op.results):
        return False
    if widens_weight(op) or (isinstance(op, DEQUANTIZATIONS) and nbytes(op.results[0].type) > nbytes(op.operands[0].type)):
        return False
    size = sum(nbytes(result.type) for result in op.results)
    return size <= max(_EVALUATED, 2 * sum(nbytes(operand.type) for operand in op.operands if is_static(operand)))
