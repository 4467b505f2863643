"""What modules with branches, loops, calls and state compute: a second interpreter, one operation at a time, for what the first refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, cf, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from flambeau.dialects.edge.stored_arrays import logical_array
from flambeau.dialects.ir.tensor_types import may_equal, numpy_dtype, shape_of, tensor_type
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalLoadOp, GlobalOp, GlobalStoreOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from fuzz.structure import OBSERVED

Array = np.ndarray[Any, Any]


class Evaluator:
    """Runs the functions of a module; `seen` has what went through observed operations, in order."""

    def __init__(self, module: ModuleOp, context: FlambeauContext):
        self.context = context
        self.functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
        self.globals = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, GlobalOp)}
        self.state: dict[str, Array] = {}
        self.seen: list[Array] = []

    def call(self, name: str, arguments: Sequence[Array]) -> list[Array]:
        """The results of a function. Raises ValueError when it cannot be run."""
        return self._blocks(self.functions[name].body.blocks[0], arguments, {})

    def _blocks(self, block: Block, arguments: Sequence[Array], values: dict[SSAValue, Array]) -> list[Array]:
        """Runs blocks until one returns or yields; what it gives."""
        while True:
            values |= dict(zip(block.args, arguments, strict=True))
            last = block.last_op
            assert last is not None
            for op in block.ops:
                if op is not last:
                    values |= zip(op.results, self._op(op, values), strict=True)
            match last:
                case ReturnOp() | scf.YieldOp():
                    return [values[operand] for operand in last.operands]
                case cf.BranchOp():
                    block, arguments = last.successor, [values[operand] for operand in last.arguments]
                case cf.ConditionalBranchOp():
                    taken = bool(values[last.cond])
                    block, given = (last.then_block, last.then_arguments) if taken else (last.else_block, last.else_arguments)
                    arguments = [values[operand] for operand in given]
                case _:
                    raise ValueError(f"no terminator: {last.name}")

    def _op(self, op: Operation, values: dict[SSAValue, Array]) -> Sequence[Array]:
        given: list[Any] = [values[operand] for operand in op.operands]
        match op:
            case SchemaOp():
                return _computed(op, given)
            case scf.IfOp():
                region = op.true_region if given[0] else op.false_region
                return self._blocks(region.block, [], values) if region.blocks else []
            case scf.ForOp():
                carried = given[3:]
                for index in range(int(given[0]), int(given[1]), int(given[2])):
                    carried = self._blocks(op.body.block, [np.asarray(index), *carried], values)
                return carried
            case CallOp():
                return self.call(op.callee.string_value(), given)
            case GlobalLoadConstantOp() | GlobalLoadOp():
                name = op.global_attr.string_value()
                if name not in self.state:
                    made = self.globals[name]
                    self.state[name] = logical_array(self.context.blobs.get(made.blob), tensor_type(made.type))
                return [self.state[name]]
            case GlobalStoreOp():
                self.state[op.global_attr.string_value()] = given[0]
                return []
            case UnregisteredOp() if op.op_name.data == OBSERVED:
                self.seen += given
                return given
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr):
                return [np.asarray(cast("IntegerAttr[Any]", op.value).value.data)]
            case _:
                raise ValueError(f"{op.name} has no meaning here")


def _computed(op: SchemaOp, given: Sequence[Array]) -> list[Array]:
    with np.errstate(all="ignore"):
        computed: Any = op.call("numpy", op.bind(given, op.properties))
    arrays: list[Array] = [np.asarray(item) for item in (cast("list[Any]", computed) if isinstance(computed, tuple | list) else [computed])]
    for array, result in zip(arrays, op.results, strict=True):
        if array.dtype != numpy_dtype(tensor_type(result).element_type) or not may_equal(array.shape, shape_of(result)):
            raise ValueError(f"{op.name} gave {array.dtype} {array.shape}, but its type is {result.type}")
    return arrays
