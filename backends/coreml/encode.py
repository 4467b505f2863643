"""Writes `coreml` operators as a program of MIL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import f16
from xdsl.ir import Attribute, Block, SSAValue

from flambeau.backends.coreml import CoreMlOptions
from flambeau.backends.coreml import specification as spec
from flambeau.backends.coreml.dialect.elementwise import CastMilOp
from flambeau.backends.coreml.dialect.operators import MilOp
from flambeau.backends.coreml.package import STORED, Weights, flattened
from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp
from flambeau.dialects.ir.locations import module_paths
from flambeau.dialects.ir.tensor_types import element_of, f32, i1, i32, i64, numpy_dtype, shape_of
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.passes.delegation.interface import BackendError, Encoded
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.runtime.protobuf import Record
from flambeau.runtime.protobuf import encode as encoded
from flambeau.support.lazy import Array, np

LEAST_STORED = 10
"""The fewest elements of a constant that goes to the file of weights."""
WEIGHTS_FILE = "@model_path/weights/weight.bin"
_FIELDS: dict[Attribute, str] = {f16: "bytes", f32: "floats", i1: "bools", i32: "ints"}
"""The field of a TensorValue that has elements of a type; those of others are bytes."""


def encode(partition: PartitionOp, constants: ModuleConstants, options: CoreMlOptions) -> Encoded:
    """Returns the payload of a partition. Raises BackendError for operators of other dialects."""
    block = partition.body.block
    end = block.last_op
    assert isinstance(end, ReturnOp)
    names = tuple(
        [f"{kind}_{place}" for place in range(count)] for kind, count in (("input", len(block.args)), ("output", len(end.operands)))
    )
    model, weights = ProgramWriter(constants, options.set_of_operators).write(block, *names)
    return Encoded(flattened(model, weights, *names))


class ProgramWriter:
    """Writes one program. Equal constants are one value."""

    def __init__(self, constants: ModuleConstants, ios: int):
        self.constants = constants
        self.ios = ios
        self.weights = Weights()
        self.operations: list[Record] = []
        self.names: dict[SSAValue, str] = {}
        self.taken: set[str] = set()
        self.known: dict[tuple[Any, ...], str] = {}
        """The names of constants, by their types and elements."""

    def write(self, block: Block, inputs: Sequence[str], outputs: Sequence[str]) -> tuple[bytes, bytes]:
        """Returns the model and the file of weights of a block. Raises BackendError for operators of other dialects."""
        end = block.last_op
        assert isinstance(end, ReturnOp)
        self.taken.update((*inputs, *outputs))
        self.names.update(zip((*block.args, *end.operands), (*inputs, *outputs), strict=True))
        kinds = {value: spec.INPUTS[element_of(value)] for value in (*block.args, *end.operands)}
        for op in block.ops:
            if isinstance(op, MilOp):
                self._operator(op)
            elif not isinstance(op, GlobalLoadConstantOp | ReturnOp):
                raise BackendError(f"coreml: a partition holds {op.name}, which is not an operator of the coreml dialect")
        features = {
            side: [spec.feature(self.names[value], kinds[value], shape_of(value)) for value in values]
            for side, values in (("input", block.args), ("output", end.operands))
        }
        types = [self._type(value) for value in block.args]
        said = {"flambeau.inputs": " ".join(str(element_of(value)) for value in block.args)}
        model = spec.model(self.ios, features, types, self.operations, said)
        return encoded(spec.MODEL, model, BackendError), self.weights.whole()

    def _type(self, value: SSAValue) -> Record:
        element = element_of(value)
        return spec.named_type(self.names[value], spec.value_type(spec.DATA_TYPES[spec.INPUTS.get(element, element)], shape_of(value)))

    def _name(self, wanted: str) -> str:
        wanted = re.sub(r"\W", "_", wanted, flags=re.ASCII)
        wanted = wanted if not wanted[:1].isdigit() else f"_{wanted}"
        name, count = wanted, 0
        while name in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        return name

    def _operator(self, op: MilOp) -> None:
        if op.since > self.ios:
            raise BackendError(f"coreml: {op.name} is of iOS{op.since}, and the model is for iOS{self.ios}")
        if isinstance(op, CastMilOp) and element_of(op.operands[0]) == i64:
            self.names[op.result] = self.names[op.operands[0]]
            return
        path = "_".join((*list(module_paths(op.location))[:1], op.schema.base))
        for result in op.results:
            if result not in self.names:
                self.names[result] = self._name(path)
        inputs: dict[str, Sequence[str]] = {}
        for argument, value in zip(op.schema.arguments, op.arguments(), strict=True):
            if value is None:
                continue
            if argument.type.is_tensor:
                items = cast("list[SSAValue]", value if isinstance(value, list) else [value])
                inputs[argument.name] = [self._value(item, path) for item in items]
            else:
                inputs[argument.name] = [self._attribute(op, argument.name, argument.type.base, value, path)]
        attributes = {"name": spec.text(self.names[op.results[0]])}
        self.operations.append(spec.operation(op.schema.base, inputs, [self._type(value) for value in op.results], attributes))

    def _value(self, value: SSAValue, path: str) -> str:
        if value not in self.names:
            array = np.ascontiguousarray(self.constants.elements(value))
            key = (element_of(value), shape_of(value), self.constants.sha256(array))
            self.names[value] = self._constant(key, f"{path}_{self.constants.name(value)}", self._stored(element_of(value), array))
        return self.names[value]

    def _attribute(self, op: MilOp, name: str, base: str, value: Any, path: str) -> str:
        """Returns the name of the constant that an argument of an operator is. A number is of the type of the operator's tensors."""
        if base == "str":
            kind, record = "str", spec.text(value)
        else:
            kind = i1 if base == "bool" else i32 if base == "int" else f32 if name in op.wide else element_of(op.operands[0])
            record = self._stored(kind, np.array(value, numpy_dtype(kind)))
        return self._constant((kind, np.shape(value), str(value)), f"{path}_{name}", record)

    def _constant(self, key: tuple[Any, ...], name: str, value: Record) -> str:
        if key not in self.known:
            name = self.known[key] = self._name(name)
            output = spec.named_type(name, value.type)
            self.operations.append(spec.operation("const", {}, [output], {"name": spec.text(name), "val": value}))
        return self.known[key]

    def _stored(self, element: Attribute, array: Array) -> Record:
        """Returns a value with these elements."""
        number = spec.DATA_TYPES[element]
        if array.size >= LEAST_STORED and element in STORED and (element != i32 or self.ios >= 18):
            data = array.reshape(-1).view(np.uint8).data
            return spec.in_file(number, array.shape, WEIGHTS_FILE, self.weights.add(element, data))
        field = _FIELDS.get(element, "bytes")
        return spec.immediate(number, array.shape, field, array.tobytes() if field == "bytes" else array.reshape(-1).tolist())
