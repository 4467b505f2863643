"""Writes `coreml` operators as a program of MIL."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import f16, i8
from xdsl.ir import Attribute, Block, SSAValue

from flambeau.backends.coreml import STATES_SINCE, CoreMlOptions
from flambeau.backends.coreml import specification as spec
from flambeau.backends.coreml.borders import at_entry, at_exit
from flambeau.backends.coreml.dialect.compressed import ConstexprMilOp, LutToDenseMilOp
from flambeau.backends.coreml.dialect.elementwise import ELEMENTS, CastMilOp
from flambeau.backends.coreml.dialect.operators import MilOp
from flambeau.backends.coreml.package import STORED, STORED_SHORT, Weights, flattened
from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp, states_of
from flambeau.dialects.ir.locations import module_paths
from flambeau.dialects.ir.tensor_types import element_of, f32, i1, i32, numpy_dtype, shape_of, ui8
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
    kept = states_of(partition)
    counts = {"input": len(block.args) - len(kept), "output": len(end.operands) - len(kept)}
    inputs, outputs = ([f"{kind}_{place}" for place in range(count)] for kind, count in counts.items())
    states = identifiers([*inputs, *outputs, *kept])[len(inputs) + len(outputs) :]
    model, weights = ProgramWriter(constants, options.set_of_operators).write(block, inputs, outputs, states, states)
    return Encoded(flattened(model, weights, inputs, outputs))


def identifiers(names: Sequence[str]) -> Sequence[str]:
    """Returns names that a program of MIL may have, each of them once."""
    found: list[str] = []
    for name in names:
        word = re.sub(r"\W", "_", name, flags=re.ASCII)
        word = f"_{word}" if not word or word[0].isdigit() else word
        while word in found:
            word += "_"
        found.append(word)
    return found


class ProgramWriter:
    """Writes one program. Equal constants are one value."""

    def __init__(self, constants: ModuleConstants, ios: int):
        self.constants = constants
        self.ios = ios
        self.weights = Weights()
        self.operations: list[Record] = []
        self.names: dict[SSAValue, str] = {}
        self.taken: set[str] = set()
        self.states: set[SSAValue] = set()
        """Values of float16 that states are, without a conversion between."""
        self.known: dict[tuple[Any, ...], str] = {}
        """The names of constants, by their types and elements."""

    def write(
        self, block: Block, inputs: Sequence[str], outputs: Sequence[str], states: Sequence[str] = (), written: Sequence[str] = ()
    ) -> tuple[bytes, bytes]:
        """Returns the model and the file of weights of a block. Raises BackendError for operators of other dialects.

        The arguments behind those of the inputs are the values of states, and the results behind those of the outputs their new values.
        """
        end = block.last_op
        assert isinstance(end, ReturnOp)
        self.taken.update((*inputs, *outputs, *states))
        arguments, given = block.args[: len(inputs)], end.operands[: len(outputs)]
        results = [cast(CastMilOp, value.owner).operands[0] if at_exit(value) else value for value in given]
        self.names.update(zip(arguments, inputs, strict=True))
        copied = self._name_results(results, outputs)
        kinds = {value: spec.INPUTS[element_of(value)] for value in (*arguments, *results)}
        for name, value in zip(states, block.args[len(inputs) :], strict=True):
            self._read_state(name, value)
        kept = [value.owner for value in end.operands[len(outputs) :] if value.has_one_use() and isinstance(value.owner, CastMilOp)]
        for op in block.ops:
            if isinstance(op, MilOp) and op not in kept:
                self._operator(op)
            elif not isinstance(op, MilOp | GlobalLoadConstantOp | ReturnOp):
                raise BackendError(f"coreml: a partition holds {op.name}, which is not an operator of the coreml dialect")
        for name, value in copied.items():
            kind = spec.value_type(spec.DATA_TYPES[kinds[value]], shape_of(value))
            self._append("identity", {"x": [self._value(value, name)]}, [spec.named_type(name, kind)])
        for name, value in zip(written, end.operands[len(outputs) :], strict=True):
            self._write_state(name, value)
        features = {
            side: [spec.feature(name, kinds[value], shape_of(value)) for name, value in zip(names, values, strict=True)]
            for side, names, values in (("input", inputs, arguments), ("output", outputs, results))
        }
        types = [self._type(value, kinds[value]) for value in arguments]
        for name, value in zip(states, block.args[len(inputs) :], strict=True):
            features.setdefault("state", []).append(spec.state_feature(name, shape_of(value)))
            types.append(spec.named_type(name, spec.state_type(spec.value_type(spec.DATA_TYPES[f16], shape_of(value)))))
        said = {
            f"flambeau.{side}": " ".join(str(element_of(value)) for value in values)
            for side, values in (("inputs", arguments), ("outputs", given))
        }
        model = spec.model(self.ios, features, types, self.operations, said)
        return encoded(spec.MODEL, model, BackendError), self.weights.whole()

    def _name_results(self, results: Sequence[SSAValue], outputs: Sequence[str]) -> dict[str, SSAValue]:
        """Names results. Returns, by their names, those that are inputs, constants or other results, of which a model has copies."""
        copied: dict[str, SSAValue] = {}
        for name, value in zip(outputs, results, strict=True):
            owner = value.owner
            if value in self.names or isinstance(owner, Block | GlobalLoadConstantOp) or at_entry(owner):
                copied[name] = value
            else:
                self.names[value] = name
        return copied

    def _read_state(self, name: str, value: SSAValue) -> None:
        """Reads a state, which is of float16, as the value that stands for it."""
        if self.ios < STATES_SINCE:
            raise BackendError(f"coreml: {name!r} is a state, which iOS{STATES_SINCE} has first: coreml{{target=iOS{STATES_SINCE}}}")
        found = self._name(f"{name}_read")
        self._append("read_state", {"input": [name]}, [spec.named_type(found, spec.value_type(spec.DATA_TYPES[f16], shape_of(value)))])
        readers = [use.operation for use in value.uses]
        if all(isinstance(op, CastMilOp) and op.argument("dtype") == "fp16" for op in readers):
            self.states.update(op.results[0] for op in readers)
            self.names[value] = found
        else:
            self.names[value] = self._cast(found, f32, value)

    def _write_state(self, name: str, value: SSAValue) -> None:
        """Writes the new value of a state."""
        owner = value.owner
        before = owner.operands[0] if isinstance(owner, CastMilOp) else value
        found = self._value(before, name) if element_of(before) == f16 else self._cast(self._value(value, name), f16, value)
        self._append("write_state", {"input": [name], "data": [found]}, [])

    def _cast(self, name: str, element: Attribute, value: SSAValue) -> str:
        """Returns the name of a value in other elements."""
        dtype = next(word for word, kind in ELEMENTS.items() if kind == element)
        wanted = self._constant(("str", (), dtype), f"{name}_dtype", spec.text(dtype))
        found = self._name(f"{name}_cast")
        output = spec.named_type(found, spec.value_type(spec.DATA_TYPES[element], shape_of(value)))
        self._append("cast", {"x": [name], "dtype": [wanted]}, [output])
        return found

    def _append(self, kind: str, inputs: Mapping[str, Sequence[str]], outputs: Sequence[Record]) -> None:
        name = outputs[0].name if outputs else self._name(f"{kind}_{len(self.operations)}")
        self.operations.append(spec.operation(kind, inputs, outputs, {"name": spec.text(name)}))

    def _type(self, value: SSAValue, element: Attribute | None = None) -> Record:
        kind = spec.DATA_TYPES[element_of(value) if element is None else element]
        return spec.named_type(self.names[value], spec.value_type(kind, shape_of(value)))

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
        if op.results and at_exit(op.results[0]):
            return
        if isinstance(op, CastMilOp) and (op.result in self.states or at_entry(op)):
            self.names.setdefault(op.result, self.names[op.operands[0]])
            return
        path = "_".join((*list(module_paths(op.location))[:1], op.schema.base))
        for result in op.results:
            if result not in self.names:
                self.names[result] = self._name(path)
        inputs: dict[str, Sequence[str]] = {}
        if isinstance(op, ConstexprMilOp):
            self._constexpr(op)
            return
        for argument, value in zip(op.schema.arguments, op.arguments(), strict=True):
            if value is None or op.newer.get(argument.name, 0) > self.ios:
                continue
            if argument.type.is_tensor:
                items = cast("list[SSAValue]", value if isinstance(value, list) else [value])
                inputs[argument.name] = [self._value(item, path) for item in items]
            else:
                inputs[argument.name] = [self._attribute(op, argument.name, argument.type.base, value, path)]
        self._append(op.schema.base, inputs, [self._type(value) for value in op.results])

    def _constexpr(self, op: ConstexprMilOp) -> None:
        """Writes an operator whose operands stand in it: as attributes where older sets of operators have it, and as inputs."""
        arrays = {
            name: (element_of(value), np.ascontiguousarray(self.constants.elements(value)))
            for name, value in zip((argument.name for argument in op.schema.operands), op.operands, strict=False)
        }
        if isinstance(op, LutToDenseMilOp):
            self._palette(op, *(array for _, array in arrays.values()))
            return
        is_new = op.since >= STATES_SINCE
        is_short = is_new and all(_fits_int4(*item) for item in arrays.values())
        given = {
            key: self._short(kind, array) if is_short and kind == i8 else self._stored(kind, array) for key, (kind, array) in arrays.items()
        }
        if not is_new:
            given["axis"] = self._stored(i32, np.array(op.argument("axis"), np.int32))
        self._parameters(op, given, is_new)

    def _parameters(self, op: ConstexprMilOp, given: Mapping[str, Record], is_new: bool) -> None:
        """Appends an operator, whose operands are inputs if it is new, and attributes if not."""
        inputs = {key: [item] for key, item in given.items()} if is_new else {}
        attributes = {"name": spec.text(self.names[op.results[0]]), **({} if is_new else given)}
        self.operations.append(spec.operation(op.schema.base, inputs, [self._type(op.results[0])], attributes))

    def _palette(self, op: ConstexprMilOp, indices: Array, table: Array) -> None:
        """Writes a palette: of a shape with a table for each of its blocks, of which there is one, or as bytes, beside the shape."""
        element = element_of(op.operands[1])
        if self.ios >= STATES_SINCE:
            lut = self._stored(element, table.reshape(*(1,) * indices.ndim, len(table), 1))
            self._parameters(op, {"indices": self._short(ui8, indices), "lut": lut}, True)
            return
        shape = spec.immediate(spec.UINT32, (indices.ndim,), "bytes", np.array(indices.shape, np.uint32).tobytes())
        given = {"indices": self._stored(ui8, _packed(indices)), "lut": self._stored(element, table), "shape": shape}
        self._parameters(op, given, False)

    def _short(self, element: Attribute, array: Array) -> Record:
        """Returns a value of integers of 4 bits."""
        data, kind = _packed(array), next(number for number, held in spec.SHORT.items() if held == element)
        if array.size >= LEAST_STORED:
            offset = self.weights.add(STORED_SHORT[element], data.data, array.size % 2 * 4)
            return spec.in_file(kind, array.shape, WEIGHTS_FILE, offset)
        return spec.immediate(kind, array.shape, "bytes", data.tobytes())

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
            return spec.in_file(number, array.shape, WEIGHTS_FILE, self.weights.add(STORED[element], data))
        field = _FIELDS.get(element, "bytes")
        return spec.immediate(number, array.shape, field, array.tobytes() if field == "bytes" else array.reshape(-1).tolist())


def _packed(array: Array) -> Array:
    """Returns integers of 4 bits, two in a byte."""
    flat = array.reshape(-1)
    pairs = np.append(flat, np.zeros(len(flat) % 2, flat.dtype)).reshape(-1, 2).view(np.uint8) & 15
    return (pairs[:, 0] | pairs[:, 1] << 4).astype(np.uint8)


def _fits_int4(element: Attribute, array: Array) -> bool:
    """Returns whether integers have 4 bits; true of other numbers."""
    return element != i8 or bool((array >= -8).all() and (array <= 7).all())
