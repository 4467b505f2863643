"""Writes a partition of `xnnpack` operators as a payload, and its weights as named data whose keys are digests of their bytes."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from flambeau.backends.xnnpack.dialect.elementwise import ARITHMETIC, CopyNodeOp
from flambeau.backends.xnnpack.dialect.nodes import NodeOp
from flambeau.backends.xnnpack.dialect.products import FullyConnectedNodeOp
from flambeau.backends.xnnpack.dialect.quantization import (
    DEQUANTIZE,
    DequantizeChannelsNodeOp,
    DequantizeNodeOp,
    QuantizeNodeOp,
    RoundRowsNodeOp,
)
from flambeau.backends.xnnpack.integers import Bias, IntegerNode, dequantized_in, integer_nodes, integer_weight, stands_for
from flambeau.backends.xnnpack.payload import (
    DATATYPES,
    EXTERNAL_INPUT,
    EXTERNAL_OUTPUT,
    INVALID_ID,
    NO_OFFSET,
    NODES,
    QDINT8,
    QUANTIZED_DATATYPES,
    ConstantDataOffset,
    Graph,
    Node,
    OutputMinMax,
    PerChannelQuant,
    PerTensorQuant,
    PerTokenDynamicQuant,
    QuantizedTensorValue,
    TensorValue,
    write_payload,
)
from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp
from flambeau.dialects.edge.layout import upper_bounds
from flambeau.dialects.ir.locations import common_module, module_paths
from flambeau.dialects.ir.tensor_types import element_of
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import is_constant
from flambeau.passes.analysis.quantized_types import QuantizedType
from flambeau.passes.delegation.interface import BackendError, BackendOptions, Encoded
from flambeau.support.lazy import Array, np

if TYPE_CHECKING:
    from flambeau.passes.rewriting.constants import ModuleConstants

_TABLES = {table.record.__name__: table for table in NODES}


def encode(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
    """Returns the payload of a partition of `xnnpack` operators, to which it may add copies. Raises BackendError for other operators."""
    return _Encoder(partition, constants).encode()


def _separate_outputs(terminator: ReturnOp) -> None:
    """Makes each output the result of its own node: copies returned values that are arguments, constants, or returned twice."""
    seen: set[SSAValue] = set()
    for index, value in enumerate(terminator.operands):
        if value in seen or not isinstance(value.owner, SchemaOp) or _is_dequantized_constant(value):
            copy = value.owner.clone() if isinstance(value.owner, QuantizeNodeOp) else CopyNodeOp(value)
            copy.location = terminator.location
            Rewriter.insert_op(copy, InsertPoint.before(terminator))
            terminator.operands[index] = value = copy.result
        seen.add(value)


def _is_dequantized_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, DEQUANTIZE) and is_constant(value.owner.operands[0])


class _Encoder:
    """Writes one partition as a graph. Numbers values in the order in which they occur."""

    def __init__(self, partition: PartitionOp, constants: ModuleConstants):
        self.partition = partition
        self.constants = constants
        self.dequantized = dequantized_in(partition.body.block, constants)
        self.integer_nodes = integer_nodes(partition.body.block, self.dequantized, constants)
        self.ids: dict[SSAValue, int] = {}
        self.integer_ids: dict[SSAValue, int] = {}
        """The numbers of the integers that a value is dequantized from."""
        self.outputs: dict[SSAValue, int] = {}
        self.values: list[TensorValue | QuantizedTensorValue] = []
        self.nodes: list[Node] = []
        self.entries: dict[str, int] = {}
        self.offsets = [ConstantDataOffset()]
        self.named: dict[str, memoryview] = {}

    def encode(self) -> Encoded:
        """Returns the payload and its named data. Raises BackendError."""
        block = self.partition.body.block
        terminator = block.last_op
        assert isinstance(terminator, ReturnOp)
        self._add_biases(block)
        _separate_outputs(terminator)
        self.outputs = {value: len(block.args) + index for index, value in enumerate(terminator.values)}
        modules: list[str] = []
        for argument in block.args:
            self._define(argument, self._meaning(argument), external_id=argument.index, flags=EXTERNAL_INPUT)
        for op in block.ops:
            if isinstance(op, GlobalLoadConstantOp):
                self._constant_of(op)
            elif isinstance(op, DEQUANTIZE):
                self._dequantize(op)
            elif isinstance(op, QuantizeNodeOp):
                if op.operands[0].owner not in self.integer_nodes:
                    self._define(op.result, stands_for(op))
                    self._convert(self.ids[op.operands[0]], op)
            elif isinstance(op, RoundRowsNodeOp):
                self._round_rows(op)
            elif isinstance(op, NodeOp) and (integer := self.integer_nodes.get(op)) is not None:
                self._integer_node(op, integer)
            elif isinstance(op, NodeOp) and op.schema.name in _TABLES:
                self._define(op.result)
                weight = self._integer_weight(op)
                self.nodes.append(self._node(op, self.ids if weight is None else {**self.ids, weight: self.integer_ids[weight]}))
            elif op is not terminator:
                raise self._error(f"holds {op.name}, which is not an operator of the xnnpack dialect")
            modules += [common_module(module_paths(op.location))] * (len(self.nodes) - len(modules))
        graph = Graph(
            version="0",
            xnodes=tuple(self.nodes),
            xvalues=tuple(self.values),
            num_externs=len(block.args) + len(self.outputs),
            input_ids=tuple(self.ids[argument] for argument in block.args),
            output_ids=tuple(self.ids[value] for value in terminator.values),
            constant_data=tuple(self.offsets),
        )
        return Encoded(write_payload(graph), self.named, modules=modules)

    def _integer_weight(self, op: Operation) -> SSAValue | None:
        return integer_weight(op, self.dequantized, self.constants)

    def _add_biases(self, block: Block) -> None:
        """Adds the biases of layers of floats with weights of integers behind them, unless their inputs are rounded row by row.

        XNNPACK multiplies such a bias by the scales of the weight (findings/xnnpack_bias_of_integer_weights.sh).
        """
        for op in [*block.ops]:
            if isinstance(op, FullyConnectedNodeOp) and op not in self.integer_nodes and self._integer_weight(op) is not None:
                x, weight, bias, flags, least, most = op.arguments()
                if bias is not None and not isinstance(x.owner, RoundRowsNodeOp):
                    product = FullyConnectedNodeOp(x, weight, None, flags)
                    total = ARITHMETIC["add"](product.result, bias, output_min=least, output_max=most)
                    product.location = total.location = op.location
                    Rewriter.replace_op(op, [product, total], [total.result])

    def _constant_of(self, op: GlobalLoadConstantOp) -> None:
        """Defines the value of a constant of floats, if a node reads the floats. Constants of integers are defined by `_dequantize`."""
        if element_of(op.result) not in DATATYPES.values():
            return
        readers = [use.operation for use in op.result.uses if not isinstance(use.operation, DequantizeChannelsNodeOp)]
        if any(not self._has_bias(reader, op.result) for reader in readers) or not op.result.uses:
            self._define(op.result, constant_buffer_idx=self._constant(self.constants.elements(op.result)))

    def _has_bias(self, reader: Operation, value: SSAValue) -> bool:
        """Returns whether `reader` is an integer node that reads `value` only as its bias, which has integers of its own."""
        integer = self.integer_nodes.get(reader) if isinstance(reader, NodeOp) else None
        return integer is not None and integer.bias is not None and value not in reader.operands[:2]

    def _dequantize(self, op: DequantizeNodeOp | DequantizeChannelsNodeOp) -> None:
        """Defines a value with the integers of `op` if integer nodes read them, and a value with its floats if other nodes read them."""
        found = self.dequantized.get(op.result)
        if found is None:
            raise self._error(f"holds {op.name} whose scales are no constant")
        readers = (use.operation for use in op.result.uses)
        reads = [reader in self.integer_nodes or self._integer_weight(reader) is op.result for reader in readers]
        is_integer, is_float = any(reads), not all(reads)
        if not is_constant(found.value):
            self.integer_ids[op.result] = self.ids[found.value]
            if is_float:
                self._define(op.result)
                self._convert(self.ids[found.value], op)
            return
        if is_integer:
            entry = self._constant(self.constants.elements(found.value))
            self.integer_ids[op.result] = self._define(found.value, found.type, constant_buffer_idx=entry)
        if is_float:
            self._define(op.result, constant_buffer_idx=self._constant(self._floats(op)))

    def _floats(self, op: DequantizeNodeOp | DequantizeChannelsNodeOp) -> Array:
        """Returns the floats of a dequantized constant."""
        arrays = iter([self.constants.elements(value) for value in op.operands])
        return op.call("numpy", [next(arrays) if isinstance(value, SSAValue) else value for value in op.arguments()])

    def _convert(self, source: int, op: SchemaOp) -> None:
        self.nodes.append(Node(_TABLES["convert"].record(source, self.ids[op.result], 0), len(self.nodes)))

    def _round_rows(self, op: RoundRowsNodeOp) -> None:
        """Adds a conversion to integers whose scales a run finds. Raises BackendError unless only layers with integer weights read them."""
        dims, x = op.arguments()
        for use in op.result.uses:
            if use.index or self._integer_weight(use.operation) is None:
                raise self._error(
                    f"rounds the rows of a tensor for {use.operation.name}, which does not read integers with a scale for each row"
                )
        number = self.ids[op.result] = len(self.values)
        shape = upper_bounds(op.result)
        self.values.append(QuantizedTensorValue(TensorValue(QDINT8, len(shape), shape, id_out=number), PerTokenDynamicQuant(dims)))
        self._convert(self.ids[x], op)

    def _integer_node(self, op: NodeOp, integer: IntegerNode) -> None:
        ids = {value: self.integer_ids[value] for value in op.operands if value in self.integer_ids}
        if integer.bias is not None:
            ids[op.operands[2]] = self._bias(integer.bias)
        self._define(integer.result.result, stands_for(integer.result))
        ids[op.result] = self.ids[integer.result.result]
        self.nodes.append(self._node(op, ids))

    def _meaning(self, argument: SSAValue) -> QuantizedType | None:
        """Returns the quantized type of an input, from the operation that dequantizes it; None for an input of floats."""
        found = next((self.dequantized.get(use.operation.results[0]) for use in argument.uses if use.operation.results), None)
        return found.type if found is not None and found.value is argument else None

    def _error(self, what: str) -> BackendError:
        return BackendError(f"xnnpack: partition @{self.partition.sym_name.data} {what}")

    def _define(self, value: SSAValue, kind: QuantizedType | None = None, **fields: int) -> int:
        """Adds a value to the graph, of quantized integers if `kind` is given, and returns its number."""
        external = self.outputs.get(value)
        given = fields if external is None else {"external_id": external, "flags": EXTERNAL_OUTPUT}
        number = self.ids[value] = self._add(element_of(value), upper_bounds(value), kind, given)
        return number

    def _add(self, element: Attribute, shape: tuple[int, ...], kind: QuantizedType | None, fields: Mapping[str, int]) -> int:
        wanted = element if kind is None else (element, kind.axis is not None)
        known = DATATYPES if kind is None else QUANTIZED_DATATYPES
        datatype = next((number for number, item in known.items() if item == wanted), None)
        if datatype is None:
            raise self._error(f"holds numbers of {element}: tensors are of {' or '.join(map(str, DATATYPES.values()))}")
        number = len(self.values)
        value = TensorValue(datatype, len(shape), shape, id_out=number, **fields)
        self.values.append(value if kind is None else QuantizedTensorValue(value, self._parameters(kind)))
        return number

    def _parameters(self, kind: QuantizedType) -> PerTensorQuant | PerChannelQuant:
        if kind.axis is None:
            return PerTensorQuant(kind.scale, kind.zero_point)
        scales = np.array(kind.scales, np.float32)
        return PerChannelQuant(channel_dim=kind.axis, scale_buffer_idx=self._constant(scales), num_scales=len(scales))

    def _bias(self, bias: Bias) -> int:
        """Adds a bias of integers as a constant value, and returns the value's number."""
        scales = tuple(map(float, bias.scales.reshape(-1)))
        kind = QuantizedType(i32, -(2**31), 2**31 - 1, scales, (0,) * len(scales), 0 if bias.scales.ndim else None)
        return self._add(i32, bias.integers.shape, kind, {"constant_buffer_idx": self._constant(bias.integers)})

    def _constant(self, array: Array) -> int:
        """Returns the index of the constant with these elements, which is new unless an equal constant exists."""
        array = np.ascontiguousarray(array)
        data = array.reshape(-1).view(np.uint8).data
        key = self.constants.sha256(array)
        if key not in self.entries:
            self.entries[key] = len(self.offsets)
            self.offsets.append(ConstantDataOffset(NO_OFFSET, len(data), key))
            self.named[key] = data
        return self.entries[key]

    def _node(self, op: NodeOp, ids: Mapping[SSAValue, int]) -> Node:
        """Returns the record of an operation, whose operands and result have the numbers `ids`."""
        table = _TABLES[op.schema.name]
        arguments = dict(zip((argument.name for argument in op.schema.arguments), op.arguments(), strict=True))
        fields: dict[str, Any] = {}
        for field in reversed(list(table.fields)):
            name = field.removesuffix("_id")
            if field == "num_dims":
                # The length of the list that follows; if two lists follow, both have this length.
                fields[field] = len(fields[list(fields)[-1]])
            elif field == "output_id":
                fields[field] = ids[op.result]
            elif name == field:
                fields[field] = arguments[field]
            else:
                value = arguments.get(name)
                fields[field] = INVALID_ID if value is None else ids[value]
        least, most = arguments.get("output_min"), arguments.get("output_max")
        limits = None
        if least is not None or most is not None or op.schema.name == "clamp":
            limits = OutputMinMax(-inf if least is None else least, inf if most is None else most)
        return Node(table.record(**fields), len(self.nodes), limits)
