"""Reads a payload of Flambeau or ExecuTorch as a partition of `xnnpack` operators, and checks every field."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isinf, prod
from typing import Any

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.backends.xnnpack.dialect.nodes import MOST_DIMENSIONS
from flambeau.backends.xnnpack.dialect.quantization import DequantizeChannelsNodeOp, DequantizeNodeOp, QuantizeNodeOp, RoundRowsNodeOp
from flambeau.backends.xnnpack.payload import (
    DATATYPES,
    EXTERNAL_INPUT,
    EXTERNAL_OUTPUT,
    INVALID_ID,
    LISTS,
    NO_OFFSET,
    NODES,
    QDINT8,
    QINT8,
    QUANTIZED_DATATYPES,
    Graph,
    Node,
    PerChannelQuant,
    PerTensorQuant,
    PerTokenDynamicQuant,
    QuantizedTensorValue,
    TensorValue,
    read_payload,
)
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.tensor_types import Tensor, element_of, numpy_dtype, shape_of, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import BackendError, partition_module
from flambeau.support.lazy import np

_CONVERT, _PRODUCT = (next(table.record for table in NODES if table.record.__name__ == name) for name in ("convert", "fully_connected"))
_FIELDS = {table.record: tuple(table.fields) for table in NODES}


def decode(data: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore) -> ModuleOp:
    """Returns a module with the constants and the partition of a payload. Raises BackendError for damaged and unsupported payloads."""
    decoder = _Decoder(*read_payload(data), named_data, blobs)
    return partition_module("XnnpackBackend", [decoder.types[value.id_out] for value in decoder.inputs], decoder.results, decoder.globals)


def _refused(what: str) -> BackendError:
    return BackendError(f"XNNPACK payload: {what}")


def _built(where: str, row: type[SchemaOp], **given: Any) -> SchemaOp:
    """Returns the node of a row with these arguments. Raises BackendError, which begins with `where`, if they do not fit the row."""
    try:
        return row(**given)
    except (VerifyException, TypeError) as error:
        raise _refused(f"{where}: {error}") from error


def _quantized_element(value: TensorValue, parameters: object) -> Attribute:
    """Returns the integer type of a quantized value. Raises BackendError for unsupported datatypes or parameters."""
    element, has_channels = QUANTIZED_DATATYPES.get(value.datatype, (None, False))
    if element is None or not isinstance(parameters, PerChannelQuant if has_channels else PerTensorQuant):
        known = ", ".join(map(str, QUANTIZED_DATATYPES))
        how = type(parameters).__name__
        raise _refused(f"value {value.id_out} is of datatype {value.datatype} with {how}; supported here are quantized values of {known}")
    return element


class _Decoder:
    """Reads one graph as a partition."""

    def __init__(self, graph: Graph, constants: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore):
        self.graph = graph
        self.constants = constants
        self.named_data = named_data
        self.blobs = blobs
        self.types: dict[int, Tensor] = {}
        self.quantized: dict[int, QuantizedTensorValue] = {}
        """The values that are integers, which stand for floats."""
        self.rounded: dict[int, int] = {}
        """The values that each run quantizes, with how many dimensions a row of them has."""
        self.floats: dict[int, SSAValue] = {}
        """What of these is dequantized already."""
        self.values: dict[int, SSAValue] = {}
        self.globals: list[GlobalOp] = []
        self.externals: dict[int, TensorValue] = {}
        self.constant_of: dict[int, int] = {}
        """The constants that values are."""
        for value in graph.xvalues:
            self._declare(value)
        self.inputs, self.outputs = self._interface()

    def results(self, *arguments: SSAValue) -> list[SSAValue]:
        """Builds the operators. Returns the results. Raises BackendError."""
        for number, index in self.constant_of.items():
            kind = self.types[number]
            self.values[number] = self._loaded(f"value_{number}", kind, self._constant(number, kind, index))
        self.values.update(zip((value.id_out for value in self.inputs), arguments, strict=True))
        for position, node in enumerate(self.graph.xnodes):
            self._node(position, node)
        missing = next((value.id_out for value in self.outputs if value.id_out not in self.values), None)
        if missing is not None:
            raise _refused(f"no node gives the output, value {missing}")
        return [self.values[value.id_out] for value in self.outputs]

    def _declare(self, given: TensorValue | QuantizedTensorValue) -> None:
        value = given.tensor_value if isinstance(given, QuantizedTensorValue) else given
        if value is None:
            raise _refused("it holds a quantized value without a tensor")
        number = value.id_out
        if number in self.types or number == INVALID_ID:
            raise _refused(f"value {number} is declared twice, or has the number of an absent one")
        if isinstance(given, QuantizedTensorValue) and value.datatype == QDINT8 and isinstance(given.quant_params, PerTokenDynamicQuant):
            self.rounded[number] = given.quant_params.num_nonbatch_dims
            element = f32
        elif isinstance(given, QuantizedTensorValue):
            element = _quantized_element(value, given.quant_params)
            self.quantized[number] = given
        else:
            element = DATATYPES.get(value.datatype)
        if element is None:
            known = ", ".join(f"{number} ({element})" for number, element in DATATYPES.items())
            raise _refused(f"value {number} is of datatype {value.datatype}; supported here are {known}")
        if value.num_dims != len(value.dims) or value.num_dims > MOST_DIMENSIONS:
            raise _refused(f"value {number} has {value.num_dims} dimensions and {len(value.dims)} sizes; there are up to {MOST_DIMENSIONS}")
        if 0 in value.dims:
            raise _refused(f"value {number} is of the sizes {list(value.dims)}, and XNNPACK has no empty tensors")
        self.types[number] = tensor(element, value.dims)
        is_external, is_constant = value.external_id != INVALID_ID, value.constant_buffer_idx != 0
        if value.flags not in ((EXTERNAL_INPUT, EXTERNAL_OUTPUT) if is_external else (0,)) or (is_external and is_constant):
            raise _refused(f"value {number} with flags {value.flags} is not one of an input, an output, a constant and a result")
        if is_external and self.externals.setdefault(value.external_id, value) is not value:
            raise _refused(f"two values are argument {value.external_id} of the call")
        if number in self.rounded and (is_constant or is_external):
            raise _refused(f"value {number} is quantized in each run, and an argument or a constant")
        if not is_constant and number in self.quantized and value.datatype != QINT8:
            raise _refused(f"value {number} is of datatype {value.datatype}, and no constant")
        if is_constant:
            self.constant_of[number] = value.constant_buffer_idx

    def _loaded(self, name: str, kind: Tensor, data: memoryview) -> SSAValue:
        """Adds a global with these bytes. Returns its loaded value."""
        self.globals.append(GlobalOp(name, kind, self.blobs.add(name, data)))
        return GlobalLoadConstantOp(name, kind).result

    def _constant(self, number: int, kind: Tensor, index: int) -> memoryview:
        """Returns the bytes of constant `index`, of type `kind`, which value `number` uses. Raises BackendError unless all are there."""
        size = numpy_dtype(element_of(kind)).itemsize * prod(shape_of(kind))
        if index >= len(self.graph.constant_data):
            raise _refused(f"value {number} is constant {index} of {len(self.graph.constant_data)}")
        entry = self.graph.constant_data[index]
        if entry.named_key:
            found = self.named_data.get(entry.named_key)
            if found is None or entry.offset != NO_OFFSET:
                raise _refused(f"the program has no named data {entry.named_key[:80]!r}, constant {index}")
        elif entry.offset + entry.size > len(self.constants):
            raise _refused(f"constant {index} is at bytes {entry.offset} to {entry.offset + entry.size} of {len(self.constants)}")
        else:
            found = self.constants[entry.offset : entry.offset + entry.size]
        if entry.size != size or len(found) < size:
            raise _refused(f"value {number} takes {size} bytes, and its constant has {min(entry.size, len(found))}")
        return found[:size]

    def _interface(self) -> tuple[list[TensorValue], list[TensorValue]]:
        """Returns the inputs and the outputs, in the order of the arguments of a call."""
        ordered = [self.externals[key] for key in sorted(self.externals)]
        inputs = [value for value in ordered if value.flags == EXTERNAL_INPUT]
        outputs = [value for value in ordered if value.flags == EXTERNAL_OUTPUT]
        places = [value.external_id for value in (*inputs, *outputs)]
        # Lengths are compared first: num_externs comes from a file, and a list of that length could take all memory.
        if not outputs or len(places) != self.graph.num_externs or places != list(range(len(places))):
            raise _refused(f"its {len(inputs)} inputs and {len(outputs)} outputs are not the {self.graph.num_externs} arguments of a call")
        for what, values, ids in (("input", inputs, self.graph.input_ids), ("output", outputs, self.graph.output_ids)):
            if sorted(value.id_out for value in values) != sorted(ids):
                raise _refused(f"it lists {len(ids)} values as its {what}s, which are not the {len(values)} that are declared so")
        return inputs, outputs

    def _node(self, position: int, node: Node) -> None:
        record = node.xnode_union
        if record is None:
            raise _refused(f"node {position} is of no kind")
        where = f"node {position}, {type(record).__name__}"
        row = find_op(f"xnnpack.{type(record).__name__}")
        if row is None:
            raise _refused(f"{where}, is not supported here")
        known = {argument.name: argument.type.is_tensor for argument in row.schema.arguments}
        given: dict[str, Any] = {}
        counts: list[int] = []
        for field in _FIELDS[type(record)]:
            value: Any = getattr(record, field)
            name = field.removesuffix("_id")
            if field == "num_dims":
                counts.append(value)
            elif name == field:
                counts += [len(value)] if field in LISTS else []
                given[field] = value
            elif known.get(name):
                if value in self.rounded and not self._takes_rows(record, field):
                    raise _refused(f"{where}, reads value {value}, which each run quantizes, and does not take it with what else it reads")
                given[name] = None if value == INVALID_ID else self._operand(where, value)
            elif field != "output_id" and value != INVALID_ID:
                raise _refused(f"{where}, has the operand {name}, value {value}, which it does not take")
        if len(set(counts)) > 1 or max(counts, default=0) > MOST_DIMENSIONS:
            raise _refused(f"{where}, has lists of {counts} numbers; they have one for each of up to {MOST_DIMENSIONS} dimensions")
        given |= self._limits(where, node, known)
        if isinstance(record, _CONVERT) and not record.flags and record.output_id in self.rounded:
            op = _built(where, RoundRowsNodeOp, num_nonbatch_dims=self.rounded[record.output_id], input=given["input"])
            return self._result(where, record.output_id, op.result)
        if isinstance(record, _CONVERT) and not record.flags and {record.input_id, record.output_id} & self.quantized.keys():
            return self._result(where, record.output_id, given["input"])
        if "dtype" in known and record.output_id in self.types:
            given["dtype"] = element_of(self.types[record.output_id])
        self._result(where, record.output_id, _built(where, row, **given).result)

    def _takes_rows(self, record: Any, field: str) -> bool:
        """Returns whether a node takes a value that each run quantizes: a product with a weight that has a scale for each output."""
        if not isinstance(record, _PRODUCT) or field != "input1_id" or record.flags or self.rounded[record.input1_id] != 1:
            return False
        weight = self.quantized.get(record.filter_id)
        return weight is not None and isinstance(weight.quant_params, PerChannelQuant) and weight.quant_params.channel_dim == 0

    def _operand(self, where: str, number: int) -> SSAValue:
        if number not in self.values:
            raise _refused(f"{where}, reads value {number}, which no earlier node gives")
        if number not in self.quantized:
            return self.values[number]
        if number not in self.floats:
            self.floats[number] = self._dequantized(number, self.quantized[number].quant_params)
        return self.floats[number]

    def _dequantized(self, number: int, parameters: object) -> SSAValue:
        value = self.values[number]
        match parameters:
            case PerTensorQuant(scale, zero_point):
                return _built(f"value {number}", DequantizeNodeOp, scale=scale, zero_point=zero_point, input=value).result
            case PerChannelQuant(scale, dim, index, count) if count == 0 or not scale:
                kind = tensor(f32, (count or len(scale),))
                data = self._constant(number, kind, index) if index else np.array(scale, np.float32).data
                scales = self._loaded(f"scales_{number}", kind, data)
                return _built(f"value {number}", DequantizeChannelsNodeOp, channel_dim=dim, input=value, scales=scales).result
            case _:
                raise _refused(f"value {number} has two lists of scales")

    @staticmethod
    def _limits(where: str, node: Node, known: Mapping[str, bool]) -> dict[str, float]:
        limits = node.output_min_max
        if limits is None:
            return {}
        given = {name: value for name, value in (("output_min", limits.output_min), ("output_max", limits.output_max)) if not isinf(value)}
        if (given and "output_min" not in known) or limits.output_min == inf or limits.output_max == -inf:
            raise _refused(f"{where}, is limited to [{limits.output_min}, {limits.output_max}]")
        return given

    def _result(self, where: str, number: int, value: SSAValue) -> None:
        declared = self.types.get(number)
        if declared is None or number in self.values:
            raise _refused(f"{where}, gives value {number}, which is not declared, or known already")
        if number in self.quantized:
            parameters = self.quantized[number].quant_params
            assert isinstance(parameters, PerTensorQuant)
            value = _built(where, QuantizeNodeOp, scale=parameters.scale, zero_point=parameters.zero_point, input=value).result
        if declared != value.type:
            raise _refused(f"{where}, gives {list(shape_of(value))}, and value {number} has the sizes {list(shape_of(declared))}")
        if number in self.rounded and not isinstance(value.owner, RoundRowsNodeOp):
            raise _refused(f"{where}, gives value {number}, which only a conversion gives: each run quantizes it")
        self.values[number] = value
