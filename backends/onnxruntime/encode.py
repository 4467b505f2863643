"""Writes a partition of `onnxruntime` operators as an ONNX model: each operator from its row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from flambeau.backends.onnxruntime import OnnxRuntimeOptions
from flambeau.backends.onnxruntime.dialect.operators import LEAST_OPSET, OPSET, OnnxOp
from flambeau.backends.onnxruntime.dialect.quantization import DequantizeLinearOp
from flambeau.backends.onnxruntime.label import labelled
from flambeau.backends.onnxruntime.messages import (
    ATTRIBUTE,
    DIMENSION,
    ELEMENTS,
    ENTRY,
    FLOAT,
    FLOATS,
    GRAPH,
    INT,
    INTS,
    IR_VERSIONS,
    MODEL,
    NARROW,
    NODE,
    OPERATOR_SET,
    PRODUCER,
    SHAPE,
    STRING,
    TENSOR,
    TENSOR_TYPE,
    TYPE,
    VALUE_INFO,
)
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.edge.layout import upper_bounds
from flambeau.dialects.ir.extents import is_known, is_unknown, least
from flambeau.dialects.ir.locations import module_paths
from flambeau.dialects.ir.tensor_types import ElementType, element_of, numpy_dtype, shape_of, tensor, ui8
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.dialects.schema.families import chosen_element
from flambeau.dialects.schema.schema import SchemaArgument
from flambeau.passes.delegation.interface import BackendError, BackendOptions, Encoded
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.runtime.protobuf import Record
from flambeau.runtime.protobuf import encode as encode_message
from flambeau.support.lazy import Array, np

if TYPE_CHECKING:
    from typing_extensions import Buffer


def encode(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
    """Returns the payload of a partition. Raises BackendError."""
    if isinstance(options, OnnxRuntimeOptions) and options.sizes:
        raise BackendError("onnxruntime: the option 'sizes' is of files: a delegate sees the sizes of its operands only")
    kind = partition.function_type
    return Encoded(labelled(encode_model(partition, constants), len(kind.inputs), len(kind.outputs)))


def encode_model(partition: PartitionOp, constants: ModuleConstants, has_int4: bool = False) -> bytes:
    """Returns the ONNX model of a partition, whose inputs and outputs have numbers for names. Raises BackendError."""
    kind = partition.function_type
    inputs, outputs = ([f"{letter}{number}" for number in range(len(types))] for letter, types in (("i", kind.inputs), ("o", kind.outputs)))
    writer = GraphWriter(constants, partition.body.block, inputs, outputs, has_int4=has_int4)
    return encode_message(MODEL, writer.model("main"), BackendError)


class GraphWriter:
    """Writes the operators of a block as a graph. Equal constants are stored once.

    With `is_named`, tensors and constants are named after operators and the weights of the model; otherwise they have numbers. Integers of
    weights that 4 bits hold are stored in 4 bits: those of blocks, and with `has_int4` those of channels.
    """

    def __init__(
        self,
        constants: ModuleConstants,
        block: Block,
        inputs: Sequence[str],
        outputs: Sequence[str],
        is_named: bool = False,
        has_int4: bool = False,
    ):
        self.constants = constants
        self.block = block
        self.is_named = is_named
        self.has_int4 = has_int4
        self.least_opset = LEAST_OPSET
        self.taken: dict[str, int] = {}
        self.node_names: dict[str, int] = {}
        self.nodes: list[Record] = []
        self.initializers: list[Record] = []
        self.stored: dict[tuple[str, Attribute, tuple[int, ...], OnnxOp | None], str] = {}
        self.metadata: dict[str, str] = {}
        """What the model says of its sizes and its states, by words and names."""
        last = block.last_op
        assert last is not None
        self.results = last.operands
        self.inputs = [self._name_like(name) for name in inputs]
        self.outputs = [self._name_like(name) for name in outputs]
        self.names: dict[SSAValue, str] = {}

    def model(self, name: str) -> Record:
        """Returns the model with the graph. Raises BackendError."""
        graph = self._graph(name)
        opset = max((op.opset for op in self.block.ops if isinstance(op, OnnxOp)), default=LEAST_OPSET)
        opset = max(opset, self.least_opset)
        return MODEL.record(
            ir_version=IR_VERSIONS[opset],
            producer_name=PRODUCER,
            graph=graph,
            opset_import=[OPERATOR_SET.record(version=opset)],
            metadata_props=[ENTRY.record(key=key, value=text) for key, text in self.metadata.items()],
        )

    def _graph(self, name: str) -> Record:
        inputs = [self._declared(argument, given) for argument, given in zip(self.block.args, self.inputs, strict=True)]
        self.names.update(zip(self.block.args, self.inputs, strict=True))
        ends = dict(zip(reversed(self.results), reversed(self.outputs), strict=True))
        for op in self.block.ops:
            if isinstance(op, OnnxOp):
                self._operator(op, ends)
        for value, output in zip(self.results, self.outputs, strict=True):
            source = self._name(value)
            if source != output:
                self.nodes.append(NODE.record(input=[source], output=[output], op_type="Identity"))
        outputs = [self._declared(value, output) for value, output in zip(self.results, self.outputs, strict=True)]
        return GRAPH.record(node=self.nodes, name=name, initializer=self.initializers, input=inputs, output=outputs)

    def add_default(self, name: str, array: Array | None) -> None:
        """Gives an input the value that it has where a call gives none."""
        value = next(value for value, given in zip(self.block.args, self.inputs, strict=True) if given == name)
        if array is None:
            raise BackendError(f"the first value of {name!r} is not known")
        self.initializers.append(_tensor(name, np.ascontiguousarray(array).reshape(array.shape), element_of(value)))

    def _name_like(self, name: str) -> str:
        """Returns a name that no other tensor has."""
        return _unused(name, self.taken)

    def _declared(self, value: SSAValue, name: str) -> Record:
        """Returns the type of an input or output. Its sizes that only the run knows are named, and have bounds in the metadata."""
        element, sizes = element_of(value), list[Record]()
        for size, most in zip(shape_of(value), upper_bounds(value), strict=True):
            if is_unknown(size) or element not in ELEMENTS:
                types = ", ".join(map(str, ELEMENTS))
                raise BackendError(
                    f"tensor {name!r} is {tensor(element, shape_of(value))}, and an ONNX model has {types}, of sizes with bounds"
                )
            if not is_known(size):
                self.metadata[f"bounds of {size}"] = f"{least(size)}..{most}"
            sizes.append(DIMENSION.record(dim_value=int(size)) if is_known(size) else DIMENSION.record(dim_param=str(size)))
        if element not in ELEMENTS:
            raise BackendError(f"tensor {name!r} is of {element}, and an ONNX model has none of it here")
        kind = TENSOR_TYPE.record(elem_type=ELEMENTS[element], shape=SHAPE.record(dim=sizes))
        return VALUE_INFO.record(name=name, type=TYPE.record(tensor_type=kind))

    def _own_name(self, value: SSAValue, reader: OnnxOp) -> str:
        """Returns the name of an operand. The integers and the zero point of a dequantized constant are stored for each reader.

        On processors without VNNI, ONNX Runtime makes uint8 of them, and fails where it meets them again.
        """
        if not isinstance(reader, DequantizeLinearOp) or not all(self.constants.is_constant(item) for item in reader.operands):
            return self._name(value)
        name, array = self.constants.name(value), self.constants.elements(value)
        if value is reader.operands[1]:
            return self._constant(name, array, element_of(value))
        element = element_of(value)
        if self._fits_4_bits(reader):
            self.least_opset = OPSET
            return self._packed(name, array, element, reader)
        return self._constant(name, array, element, reader)

    def _fits_4_bits(self, reader: DequantizeLinearOp) -> bool:
        """Returns whether 4 bits hold the integers and the zero points of a dequantized weight, and are to."""
        x, scale, zero_points = reader.operands
        if element_of(x) not in NARROW or not (reader.argument("block_size") or (self.has_int4 and shape_of(scale))):
            return False
        low, high = (0, 15) if element_of(x) == ui8 else (-8, 7)
        arrays = [self.constants.elements(item) for item in (x, zero_points)]
        return all(low <= array.min(initial=0) and array.max(initial=0) <= high for array in arrays)

    def _packed(self, name: str, array: Array, element: ElementType, reader: OnnxOp) -> str:
        """Returns the name of an initializer of 4 bits for each element, of which the first of two has the lower ones."""
        key = self.constants.sha256(array), element, array.shape, reader
        if key not in self.stored:
            self.stored[key] = self._name_like(name if self.is_named else f"c{len(self.stored)}")
            halves = np.pad(array.reshape(-1).view(np.uint8) & 15, (0, array.size % 2)).reshape(-1, 2)
            data = (halves[:, 0] | halves[:, 1] << 4).astype(np.uint8)
            tensor = TENSOR.record(dims=array.shape, data_type=NARROW[element], name=self.stored[key], raw_data=data.data)
            self.initializers.append(tensor)
        return self.stored[key]

    def _name(self, value: SSAValue) -> str:
        if isinstance(value.owner, GlobalLoadConstantOp) and value not in self.names:
            name, array = self.constants.name(value), self.constants.elements(value)
            self.names[value] = self._constant(name, array, element_of(value))
        return self.names[value]

    def _constant(self, name: str, array: Array, element: ElementType, reader: OnnxOp | None = None) -> str:
        """Returns the name of the initializer with these elements, for all readers or for one."""
        array = np.ascontiguousarray(array, numpy_dtype(element)).reshape(array.shape)
        key = (self.constants.sha256(array), element, array.shape, reader)
        if key not in self.stored:
            if element not in ELEMENTS:
                raise BackendError(f"constant {name!r} is of {element}, and an ONNX model has none of it here")
            self.stored[key] = self._name_like(name if self.is_named else f"c{len(self.stored)}")
            self.initializers.append(_tensor(self.stored[key], array, element))
        return self.stored[key]

    def _operator(self, op: OnnxOp, ends: dict[SSAValue, str]) -> None:
        inputs: list[str] = []
        attributes: list[Record] = []
        for argument, value in zip(op.schema.arguments, op.arguments(), strict=True):
            if argument.keyword_only:
                if value is not None and not (argument.has_default and value == argument.default):
                    attributes.append(_attribute(argument, value))
            elif argument.type.is_tensor:
                items = cast("list[SSAValue | None]", value if isinstance(value, list) else [value])
                inputs += ["" if item is None else self._own_name(item, op) for item in items]
            else:
                inputs.append("" if value is None else self._numbers(argument, value, op))
        while inputs and not inputs[-1]:
            inputs.pop()
        outputs = [ends.get(result) or self._name_like(self._result_name(op)) for result in op.results]
        self.names.update(zip(op.results, outputs, strict=True))
        path = next(iter(module_paths(op.location)), "")
        name = _unused(f"{path}/{op.schema.name}" if path else op.schema.name, self.node_names)
        self.nodes.append(NODE.record(input=inputs, output=outputs, name=name, op_type=op.schema.name, attribute=attributes))

    def _result_name(self, op: Operation) -> str:
        return op.name.partition(".")[2].lower() if self.is_named else f"{len(self.nodes)}"

    def _numbers(self, argument: SchemaArgument, value: Any, op: OnnxOp) -> str:
        """Returns the name of an initializer with a number, or a list of numbers, of an operator."""
        if argument.type.base == "float":
            element = f32 if argument.type.is_list else element_of(op.operands[0])
        else:
            element = i64
        return self._constant(argument.name, np.asarray(value, numpy_dtype(element)), element)


def _tensor(name: str, array: Array, element: ElementType) -> Record:
    data: Buffer = array.reshape(-1).view(np.uint8).data
    return TENSOR.record(dims=array.shape, data_type=ELEMENTS[element], name=name, raw_data=data)


def _unused(name: str, taken: dict[str, int]) -> str:
    """Returns a name like this one that is not taken, and takes it. How often a name was asked for finds the next one."""
    found = name
    while found in taken:
        taken[name] += 1
        found = f"{name}_{taken[name]}"
    taken[found] = 0
    return found


def _attribute(argument: SchemaArgument, value: Any) -> Record:
    """Returns an attribute of an operator."""
    name = argument.name
    match argument.type.base, argument.type.is_list:
        case "str", False:
            return ATTRIBUTE.record(name=name, type=STRING, s=value.encode())
        case "float", False:
            return ATTRIBUTE.record(name=name, type=FLOAT, f=float(value))
        case "float", True:
            return ATTRIBUTE.record(name=name, type=FLOATS, floats=value)
        case "ScalarType", False:
            return ATTRIBUTE.record(name=name, type=INT, i=ELEMENTS[chosen_element(value, value)])
        case _, True:
            return ATTRIBUTE.record(name=name, type=INTS, ints=value)
        case _:
            return ATTRIBUTE.record(name=name, type=INT, i=int(value))
