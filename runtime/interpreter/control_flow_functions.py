"""Interpreter functions of control flow: `cf`, `scf`, and `ub.unreachable`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import cf, scf, ub
from xdsl.ir import Operation

from flambeau.runtime.interpreter.function_interface import InterpreterError, InterpreterFunction, Jump, RunRegion
from flambeau.support.lazy import Array, np


def _branch(op: cf.BranchOp, values: Sequence[Array], _: RunRegion) -> Jump:
    return Jump(op.successor, values)


def _conditional_branch(op: cf.ConditionalBranchOp, values: Sequence[Array], _: RunRegion) -> Jump:
    condition, *arguments = values
    count = len(op.then_arguments)
    return Jump(op.then_block, arguments[:count]) if condition else Jump(op.else_block, arguments[count:])


def _switch(op: cf.SwitchOp, values: Sequence[Array], _: RunRegion) -> Jump:
    flag, *arguments = values
    default = len(op.default_operands)
    start = default
    cases = op.case_values.get_values() if op.case_values is not None else ()
    # The numbers of an i1 are its bits, without or with a sign: true is 1, and also -1.
    bits = (1 << flag.dtype.itemsize * 8) - 1 if flag.dtype.kind != "b" else 1
    for case, block, count in zip(cases, op.case_blocks, op.case_operand_segments.get_values(), strict=True):
        if (int(flag) ^ case) & bits == 0:
            return Jump(block, arguments[start : start + count])
        start += count
    return Jump(op.default_block, arguments[:default])


def _assert(op: cf.AssertOp, values: Sequence[Array]) -> Sequence[Array]:
    if not values[0]:
        raise InterpreterError(f"cf.assert fails: {op.msg.data}", op)
    return ()


def _unreachable(op: ub.UnreachableOp, values: Sequence[Array]) -> Sequence[Array]:
    raise InterpreterError("ub.unreachable is reached", op)


def _if(op: scf.IfOp, values: Sequence[Array], run: RunRegion) -> Sequence[Array]:
    return run(op.true_region if values[0] else op.false_region, ())


def _index_switch(op: scf.IndexSwitchOp, values: Sequence[Array], run: RunRegion) -> Sequence[Array]:
    regions = dict(zip(op.cases.get_values(), op.case_regions, strict=True))
    return run(regions.get(int(values[0]), op.default_region), ())


def _execute_region(op: scf.ExecuteRegionOp, values: Sequence[Array], run: RunRegion) -> Sequence[Array]:
    return run(op.region, ())


def _for(op: scf.ForOp, values: Sequence[Array], run: RunRegion) -> Sequence[Array]:
    lower, upper, step, *carried = values
    for index in _range(op, lower, upper, step):
        carried = run(op.body, [index, *carried])
    return carried


def _while(op: scf.WhileOp, values: Sequence[Array], run: RunRegion) -> Sequence[Array]:
    while True:
        condition, *forwarded = run(op.before_region, values)
        if not condition:
            return forwarded
        values = run(op.after_region, forwarded)


def _parallel(op: scf.ParallelOp, values: Sequence[Array], run: RunRegion) -> Sequence[Array]:
    count = len(op.lowerBound)
    bounds = zip(values[:count], values[count : 2 * count], values[2 * count : 3 * count], strict=True)
    reduced = list(values[3 * count :])
    reduce = op.body.block.last_op
    for indices in _points(op, list(bounds)):
        given = run(op.body, indices)
        if isinstance(reduce, scf.ReduceOp):
            pairs = zip(reduce.reductions, reduced, given, strict=True)
            reduced = [array for region, left, right in pairs for array in run(region, [left, right])]
    return reduced


def _points(op: Operation, bounds: Sequence[tuple[Array, Array, Array]]) -> Iterator[tuple[Array, ...]]:
    """Yields every point of a space given by lower bounds, upper bounds and steps; the last index varies fastest.

    Makes the points one at a time, because a space may be endless.
    """
    if not bounds:
        yield ()
        return
    for index in _range(op, *bounds[0]):
        for others in _points(op, bounds[1:]):
            yield (index, *others)


def _range(op: Operation, lower: Array, upper: Array, step: Array) -> Iterator[Array]:
    if step <= 0:
        raise InterpreterError(f"{op.name}: the step must be more than 0, got {step}", op)
    for index in range(int(lower), int(upper), int(step)):
        yield np.asarray(index, lower.dtype)


FUNCTIONS: dict[type[Operation], InterpreterFunction] = {
    cf.AssertOp: _assert,
    cf.BranchOp: _branch,
    cf.ConditionalBranchOp: _conditional_branch,
    cf.SwitchOp: _switch,
    scf.ExecuteRegionOp: _execute_region,
    scf.ForOp: _for,
    scf.IfOp: _if,
    scf.IndexSwitchOp: _index_switch,
    scf.ParallelOp: _parallel,
    scf.WhileOp: _while,
    ub.UnreachableOp: _unreachable,
}
