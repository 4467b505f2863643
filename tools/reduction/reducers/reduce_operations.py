"""Reducers of operations: cut out of their function, erased if unused, or replaced by an existing value."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.traits import SymbolOpInterface

from flambeau.tools.reduction.edits import erase_all, is_terminator, replace_results, value_of_type
from flambeau.tools.reduction.function_signature import Signature, free_functions, returns_of
from flambeau.tools.reduction.operand_segments import drop_operands, spare_operands
from flambeau.tools.reduction.reducer import NotApplicableError, Reducer
from flambeau.tools.reduction.retype import infer_again


def _body_ops(function: FuncOp) -> list[Operation]:
    return [op for op in function.walk() if op is not function and not is_terminator(op) and not op.has_trait(SymbolOpInterface)]


class CutOperationsReducer(Reducer[Operation]):
    """A reducer that cuts operations out of their function: their results become arguments, values that only they used become results.

    So the results of the remaining operations stay visible from outside, whichever are cut: halving finds the middle of a function
    as well as its beginning or end.
    """

    name = "operations"

    def targets(self, module: ModuleOp) -> Sequence[Operation]:
        """Returns the operations in functions that are not called."""
        return [op for function in free_functions(module) for op in _body_ops(function)]

    def apply(self, module: ModuleOp, targets: Sequence[Operation]) -> None:
        """Cuts the operations out, function by function."""
        chosen = set(targets)
        for function in free_functions(module):
            outermost = [op for op in _body_ops(function) if op in chosen and not _inside(op, chosen)]
            if outermost:
                _cut(function, outermost)


def _inside(op: Operation, chosen: set[Operation]) -> bool:
    around = op.parent_op()
    while around is not None:
        if around in chosen:
            return True
        around = around.parent_op()
    return False


def _cut(function: FuncOp, chosen: Sequence[Operation]) -> None:
    going = {inner for op in chosen for inner in op.walk()}
    returns = set[Operation](returns_of(function))
    signature = Signature.of(function)
    given = {result for op in chosen for result in op.results}
    signature.drop_outputs({index for values in signature.returned for index, value in enumerate(values) if value in given})
    for op in chosen:
        for result in op.results:
            if any(use.operation not in going and use.operation not in returns for use in result.uses):
                result.replace_all_uses_with(signature.add_argument(result.type, result.name_hint))
    body = function.body
    used: dict[SSAValue, None] = {}
    if len(body.blocks) == 1:
        operands = (operand for op in chosen for inner in op.walk() for operand in inner.operands)
        used = {v: None for v in operands if isinstance(v, OpResult) and v.op not in going and v.op.parent is body.block}
    erase_all(chosen)
    for value in used:
        if not value.uses:
            signature.add_output(value)
    signature.write()


class DeadCodeReducer(Reducer[Operation]):
    """A reducer that erases operations with unused results, including those with effects."""

    name = "unused operations"

    def targets(self, module: ModuleOp) -> Sequence[Operation]:
        """Returns the operations that are unused once the unused ones after them are erased."""
        dead: dict[Operation, None] = {}
        for op in module.walk(reverse=True):
            if op is module or is_terminator(op) or op.has_trait(SymbolOpInterface):
                continue
            if all(_within(use.operation, dead) for result in op.results for use in result.uses):
                dead[op] = None
        return list(reversed(dead))

    def apply(self, module: ModuleOp, targets: Sequence[Operation]) -> None:
        """Erases the operations, except for those whose results are used by operations that stay."""
        chosen = set(targets)
        for op in reversed(targets):
            if all(_within(use.operation, chosen) for result in op.results for use in result.uses):
                continue
            chosen.discard(op)
        erase_all(op for op in targets if op in chosen and not _inside(op, chosen))


def _within(op: Operation, chosen: dict[Operation, None] | set[Operation]) -> bool:
    found: Operation | None = op
    while found is not None:
        if found in chosen:
            return True
        found = found.parent_op()
    return False


class BypassReducer(Reducer[Operation]):
    """A reducer that replaces operations by their operands, or arguments, of the same types."""

    name = "bypasses"

    def targets(self, module: ModuleOp) -> Sequence[Operation]:
        """Returns the operations whose results all have a replacement of the same type."""
        return [op for op in module.walk() if op.results and all(value_of_type(op, kind) is not None for kind in op.result_types)]

    def apply(self, module: ModuleOp, targets: Sequence[Operation]) -> None:
        """Replaces the operations."""
        for op in targets:
            if op.parent is None:
                continue
            values = [value_of_type(op, kind) for kind in op.result_types]
            replace_results(op, [value for value in values if value is not None])


class ResultsReducer(Reducer[tuple[FuncOp, int]]):
    """A reducer that removes results of functions."""

    name = "results"

    def targets(self, module: ModuleOp) -> Sequence[tuple[FuncOp, int]]:
        """Returns every result of the functions that are not called."""
        return [
            (function, index)
            for function in free_functions(module)
            if returns_of(function)
            for index in range(len(function.function_type.outputs))
        ]

    def apply(self, module: ModuleOp, targets: Sequence[tuple[FuncOp, int]]) -> None:
        """Removes the results."""
        for function in dict.fromkeys(function for function, _ in targets):
            signature = Signature.of(function)
            signature.drop_outputs({index for owner, index in targets if owner is function})
            signature.write()


class ArgumentsReducer(Reducer[tuple[FuncOp, int]]):
    """A reducer that removes unused arguments of functions."""

    name = "arguments"

    def targets(self, module: ModuleOp) -> Sequence[tuple[FuncOp, int]]:
        """Returns every argument of uncalled functions that is unused or that an earlier one can replace."""
        found: list[tuple[FuncOp, int]] = []
        for function in free_functions(module):
            seen: set[object] = set()
            for argument in function.args:
                if not argument.uses or argument.type in seen:
                    found.append((function, argument.index))
                seen.add(argument.type)
        return found

    def apply(self, module: ModuleOp, targets: Sequence[tuple[FuncOp, int]]) -> None:
        """Removes the arguments; the first argument of the same type replaces one that is used."""
        for function in dict.fromkeys(function for function, _ in targets):
            signature = Signature.of(function)
            chosen = {index for owner, index in targets if owner is function}
            arguments = list(function.args)
            for argument in arguments:
                if argument.index in chosen and argument.uses:
                    first = next(other for other in arguments if other.type == argument.type)
                    if first.index in chosen:
                        raise NotApplicableError(f"argument {first.index} goes away too")
                    argument.replace_all_uses_with(first)
                    signature.returned = [[first if value is argument else value for value in values] for values in signature.returned]
            signature.drop_arguments(chosen)
            signature.write()


class OperandsReducer(Reducer[tuple[Operation, int]]):
    """A reducer that removes operands from lists, and optional ones."""

    name = "operands"

    def targets(self, module: ModuleOp) -> Sequence[tuple[Operation, int]]:
        """Returns every operand in a list, or that is optional, except those of `func.return`, which are results."""
        return [(op, index) for op in module.walk() if not isinstance(op, ReturnOp) for index in spare_operands(op)]

    def apply(self, module: ModuleOp, targets: Sequence[tuple[Operation, int]]) -> None:
        """Removes the operands, and infers types again."""
        for op in dict.fromkeys(op for op, _ in targets):
            drop_operands(op, {index for owner, index in targets if owner is op})
        infer_again(module)
