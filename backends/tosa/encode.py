"""Writes a partition of `tosa` operators as a TOSA graph: each operator from its row, numbers among the operands as constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import f32, i8, i16, i32
from xdsl.ir import SSAValue

from flambeau.backends.tosa import TosaOptions
from flambeau.backends.tosa.dialect.operators import i48, wide
from flambeau.backends.tosa.payload import ATTRIBUTES, BLOCK, DTYPES, MODES, OPERATOR, OPERATORS, SHAPE, SHAPES, TENSOR, packed, write
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import ElementType, element_of, is_float, numpy_dtype, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import Encoded
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

PROPAGATE, SINGLE_ROUND = 1, 1


def encode(partition: PartitionOp, constants: ModuleConstants, options: TosaOptions) -> Encoded:
    """Returns the payload of a partition. Raises BackendError."""
    return Encoded(_Writer(constants).graph(partition))


def number_type(name: str, op: SchemaOp) -> ElementType:
    """Returns the element type of an operand that is numbers in the row."""
    match name:
        case "multiplier":
            return i16 if element_of(op.operands[0]) == i48 else i32
        case "shift":
            return i8
        case "output_zp":
            return element_of(op.result)
        case "weight_zp" | "B_zp":
            return element_of(op.operands[1])
        case _:
            return element_of(op.operands[0])


class _Writer:
    def __init__(self, constants: ModuleConstants):
        self.constants = constants
        self.names: dict[SSAValue, str] = {}
        self.tensors: list[Any] = []
        self.shapes: list[Any] = []
        self.operators: list[Any] = []

    def graph(self, partition: PartitionOp) -> bytes:
        block = partition.body.block
        inputs = [self._declare(argument, f"input_{index}") for index, argument in enumerate(block.args)]
        for op in block.ops:
            if isinstance(op, SchemaOp):
                self._operator(op)
            elif op is not block.last_op:
                array = self.constants.array(op.results[0])
                assert array is not None
                self.names[op.results[0]] = self._constant(array, element_of(op.results[0]))
        assert block.last_op is not None
        outputs: list[str] = []
        for value in block.last_op.operands:
            outputs.append(self._output(value, outputs))
        record = BLOCK.record(
            name="main", operators=self.operators, tensors=self.tensors, shapes=self.shapes, inputs=inputs, outputs=outputs
        )
        return write(record)

    def _declare(self, value: SSAValue, name: str) -> str:
        self.names[value] = name
        self.tensors.append(TENSOR.record(name=name, shape=shape_of(value), type=DTYPES[element_of(value)], data=None))
        return name

    def _output(self, value: SSAValue, others: Sequence[str]) -> str:
        """Returns the name of an output: compilers want each to be the result of an operator, and no other output."""
        source = self.names[value]
        if isinstance(value.owner, SchemaOp) and source not in others:
            return source
        self._add("identity", {}, [source], self._declare(value, f"output_{len(others)}"))
        return self.names[value]

    def _add(self, op: str, attribute: dict[str, Any], inputs: Sequence[str], output: str) -> None:
        record = ATTRIBUTES[op].record(**attribute)
        self.operators.append(OPERATOR.record(op=1 + OPERATORS.index(op), attribute=record, inputs=inputs, outputs=[output]))

    def _constant(self, array: Array, element: ElementType) -> str:
        name, data = f"constant_{len(self.tensors)}", packed(array, element)
        self.tensors.append(TENSOR.record(name=name, shape=array.shape, type=DTYPES[element], data=_padded(data)))
        self._add("const", {}, (), name)
        return name

    def _shape(self, sizes: Sequence[int]) -> str:
        name = f"shape_{len(self.shapes)}"
        self.shapes.append(SHAPE.record(name=name, rank=len(sizes), data=np.array(sizes, np.int64).tobytes()))
        self._add("const_shape", {}, (), name)
        return name

    def _operator(self, op: SchemaOp) -> None:
        inputs: list[str] = []
        attribute = _derived(op)
        for argument in op.schema.arguments:
            value = op.argument(argument.name)
            if argument.type.is_tensor:
                inputs += [self.names[item] for item in (cast("list[SSAValue]", value) if isinstance(value, list) else [value])]
            elif argument.name in SHAPES:
                inputs.append(self._shape(value))
            elif not argument.keyword_only:
                numbers = np.atleast_1d(np.array(value))
                inputs.append(self._constant(numbers, number_type(argument.name, op)))
            elif argument.name in ("min_val", "max_val"):
                attribute[argument.name] = np.array(value, numpy_dtype(element_of(op.result))).tobytes()
            elif argument.name == "mode":
                attribute["mode"] = 1 + MODES.index(value)
            elif argument.name in attribute or argument.name in ATTRIBUTES[op.schema.base].fields:
                attribute[argument.name] = value
        self._add(op.schema.base, attribute, inputs, self._declare(op.result, f"value_{len(self.tensors)}"))


def _derived(op: SchemaOp) -> dict[str, Any]:
    """Returns the attributes that follow from the types and the other arguments of an operator."""
    fields = ATTRIBUTES[op.schema.base].fields
    known = {
        "nan_mode": PROPAGATE,
        "local_bound": False,
        "scale32": element_of(op.operands[0]) != i48,
        "rounding_mode": SINGLE_ROUND,
        "per_channel": op.schema.base == "rescale" and len(op.argument("shift")) > 1,
        "input_unsigned": False,
        "output_unsigned": False,
    }
    found = {name: value for name, value in known.items() if name in fields}
    return found | ({"acc_type": DTYPES[_accumulator(op)]} if "acc_type" in fields else {})


def _accumulator(op: SchemaOp) -> ElementType:
    """Returns the type of sums: those of products, or, in a pool, of integers as such; float32 of all floats."""
    element = element_of(op.operands[0])
    return f32 if is_float(element) else i32 if op.schema.base == "avg_pool2d" else wide(element)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)
