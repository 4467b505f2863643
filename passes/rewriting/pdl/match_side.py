"""The matching side of a `pdl.pattern` as functions: each tests a candidate, and records the IR that it binds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import pdl
from xdsl.ir import Operation, OpResult, SSAValue, TypedAttribute

from flambeau.passes.rewriting.pdl.state import PdlError, State, Test, operation_kind, owner


class Matching:
    """Compiles the values of one pattern, each once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tests: dict[SSAValue, Test] = {}
        self.reached: set[Operation] = set()
        """The `pdl` operations that the test of the root asks about."""

    def test(self, value: SSAValue) -> Test:
        """Returns the function that tests whether a candidate matches `value`. Raises PdlError."""
        if value not in self._tests:
            self._tests[value] = _once(value, self._compile(value, owner(value)))
        return self._tests[value]

    def _compile(self, value: SSAValue, op: Operation) -> Test:
        self.reached.add(op)
        match op:
            case pdl.OperationOp():
                return self._operation(op)
            case pdl.OperandOp():
                return self._operand(op)
            case pdl.OperandsOp():
                return self._operands(op)
            case pdl.ResultOp():
                return self._result(op)
            case pdl.AttributeOp():
                return self._attribute(op)
            case pdl.TypeOp():
                wanted = op.constantType
                return lambda candidate, state: wanted is None or candidate == wanted
            case pdl.TypesOp():
                types = None if op.constantTypes is None else tuple(op.constantTypes.data)
                return lambda candidate, state: types is None or tuple(candidate) == types
            case _:
                raise PdlError(op, f"{op.name} cannot stand on the matching side of a pattern")

    def _operand(self, op: pdl.OperandOp) -> Test:
        kind = None if op.value_type is None else self.test(op.value_type)

        def test(candidate: Any, state: State) -> bool:
            return isinstance(candidate, SSAValue) and (kind is None or kind(cast(SSAValue, candidate).type, state))

        return test

    def _operands(self, op: pdl.OperandsOp) -> Test:
        kinds = None if op.value_type is None else self.test(op.value_type)

        def test(candidate: tuple[SSAValue, ...], state: State) -> bool:
            return kinds is None or kinds(tuple(value.type for value in candidate), state)

        return test

    def _result(self, op: pdl.ResultOp) -> Test:
        parent, index = self.test(op.parent_), op.index.value.data

        def test(candidate: Any, state: State) -> bool:
            return isinstance(candidate, OpResult) and candidate.index == index and parent(candidate.op, state)

        return test

    def _attribute(self, op: pdl.AttributeOp) -> Test:
        wanted = op.value
        kind = None if op.value_type is None else self.test(op.value_type)

        def test(candidate: Any, state: State) -> bool:
            if wanted is not None and candidate != wanted:
                return False
            return kind is None or (isinstance(candidate, TypedAttribute) and kind(candidate.get_type(), state))

        return test

    def _operation(self, op: pdl.OperationOp) -> Test:
        kind = operation_kind(op, self._context)
        name = None if kind is None or op.opName is None else op.opName.data
        names = [item.data for item in op.attributeValueNames.data]
        attributes = [(key, self.test(value)) for key, value in zip(names, op.attribute_values, strict=True)]
        operands = self._group(op, op.operand_values, pdl.OperandsOp)
        types = self._group(op, op.type_values, pdl.TypesOp)

        def test(candidate: Any, state: State) -> bool:
            if not isinstance(candidate, Operation) or (name is not None and candidate.name != name):
                return False
            for key, expected in attributes:
                found = candidate.get_attr_or_prop(key)
                if found is None or not expected(found, state):
                    return False
            return operands(tuple(candidate.operands), state) and types(tuple(candidate.result_types), state)

        return test

    def _group(self, op: Operation, values: Sequence[SSAValue], several: type[Operation]) -> Test:
        """Returns the test of a list of operands or types, in order; one of `values` may be a range."""
        ranges = [index for index, value in enumerate(values) if isinstance(value.owner, several)]
        if len(ranges) > 1:
            raise PdlError(op, "one group of operands or types of an operation may be a range, not several")
        tests = [self.test(value) for value in values]
        if not ranges:
            return lambda found, state: len(found) == len(tests) and all(t(f, state) for t, f in zip(tests, found, strict=True))
        before, after = tests[: ranges[0]], tests[ranges[0] + 1 :]
        middle = tests[ranges[0]]

        def test(found: Any, state: State) -> bool:
            if len(found) < len(before) + len(after):
                return False
            end = len(found) - len(after)
            return (
                all(t(f, state) for t, f in zip(before, found[: len(before)], strict=True))
                and middle(tuple(found[len(before) : end]), state)
                and all(t(f, state) for t, f in zip(after, found[end:], strict=True))
            )

        return test


def _once(value: SSAValue, test: Test) -> Test:
    """Returns a test that matches `value` to the same IR wherever the pattern repeats it."""

    def once(candidate: Any, state: State) -> bool:
        if value in state:
            known = state[value]
            return known is candidate or (not isinstance(known, Operation | SSAValue) and known == candidate)
        if not test(candidate, state):
            return False
        state[value] = candidate
        return True

    return once
