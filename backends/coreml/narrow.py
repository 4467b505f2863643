"""Computes a partition in float16 between its inputs and outputs, which stay of float32."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import f16
from xdsl.ir import Operation, SSAValue

from flambeau.backends.coreml.dialect.elementwise import CastMilOp
from flambeau.backends.coreml.dialect.operators import MilOp
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import element_of, f32, shape_of, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np

_NAMES = {f16: "fp16", f32: "fp32"}
_LEAST = 2.0**-24
"""The least positive number of float16."""


def narrow(partition: PartitionOp, constants: ModuleConstants) -> None:
    """Rewrites operators of float32 as those of float16. One with a constant that float16 does not reach stays in float32."""
    block = partition.body.block
    narrowing = _Narrowing(constants)
    for op in list(block.ops):
        if isinstance(op, MilOp):
            narrowing.rewrite(op)
    end = cast(Operation, block.last_op)
    for place, value in enumerate(end.operands):
        end.operands[place] = narrowing.found(value, f32, end)
    loads = [op for op in block.ops if isinstance(op, GlobalLoadConstantOp)]
    for op in (*reversed(narrowing.replaced), *loads):
        if not any(result.uses for result in op.results):
            op.detach()
            op.erase()


class _Narrowing:
    """Rewrites one partition."""

    def __init__(self, constants: ModuleConstants):
        self.constants = constants
        self.values: dict[tuple[SSAValue, Any], SSAValue] = {}
        """What stands for a value in float16, and in float32."""
        self.replaced: list[Operation] = []

    def rewrite(self, op: MilOp) -> None:
        """Puts the operator of other elements before an operator."""
        element = f32 if any(map(self._is_beyond, op.operands)) else f16
        operands = [self.found(value, element, op) for value in op.operands]
        changes: dict[str, Any] = _rounded(op) if element == f16 else {}
        new = op.rebuilt(operands, **changes)
        _before(new, op)
        for old, value in zip(op.results, new.results, strict=True):
            value.name_hint = old.name_hint
            self.values[old, element_of(value)] = value
        self.replaced.append(op)

    def _is_beyond(self, value: SSAValue) -> bool:
        array = self.constants.array(value) if element_of(value) == f32 else None
        return array is not None and bool((np.isfinite(array) & (np.abs(array) > np.finfo(np.float16).max)).any())

    def found(self, value: SSAValue, element: Any, reader: Operation) -> SSAValue:
        """Returns what stands for a value in other elements; it is converted where its reader is, if nothing does yet."""
        known = next((self.values[value, kind] for kind in (element, f32, f16) if (value, kind) in self.values), value)
        if element_of(known) not in _NAMES or element_of(known) == element:
            return known
        array = self.constants.array(known)
        if array is None:
            cast_op = CastMilOp(known, dtype=_NAMES[element])
            _before(cast_op, reader)
            new = cast_op.result
        else:
            load = self.constants.add(f"{self.constants.name(known)}.f16", array.astype(np.float16), tensor(element, shape_of(known)))
            _before(load, reader)
            new = load.result
        self.values[value, element] = new
        return new


def _before(op: Operation, reader: Operation) -> None:
    op.location = reader.location
    block = reader.parent
    assert block is not None
    if op.parent is None:
        block.insert_op_before(op, reader)


def _rounded(op: MilOp) -> dict[str, float]:
    """Returns the numbers of an operator in float16. One that is too small for it, such as an epsilon, becomes the least."""
    numbers = {
        argument.name: op.argument(argument.name)
        for argument in op.schema.arguments
        if argument.type.base == "float" and argument.name not in op.wide
    }
    with np.errstate(over="ignore"):
        return {name: float(np.float16(number)) or (_LEAST if number > 0 else 0.0) for name, number in numbers.items()}
