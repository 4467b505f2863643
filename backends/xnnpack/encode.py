"""A partition of `xnnpack` operators as a payload, its weights as named data whose keys are digests of their bytes."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from flambeau.backends.xnnpack.dialect.elementwise import CopyNodeOp
from flambeau.backends.xnnpack.payload import (
    DATATYPES,
    EXTERNAL_INPUT,
    EXTERNAL_OUTPUT,
    INVALID_ID,
    NO_OFFSET,
    NODES,
    ConstantDataOffset,
    Graph,
    Node,
    OutputMinMax,
    TensorValue,
    write_payload,
)
from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp
from flambeau.dialects.edge.layout import upper_bounds
from flambeau.dialects.ir.tensor_types import element_of
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import BackendError, BackendOptions, Encoded
from flambeau.support.lazy import Array, np

if TYPE_CHECKING:
    from flambeau.passes.rewriting.constants import ModuleConstants

_TABLES = {table.record.__name__: table for table in NODES}


def encode(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
    """The payload of a partition of `xnnpack` operators, to which copies may be added. Raises BackendError for another one."""
    return _Encoder(partition, constants).encode()


def _separate_outputs(terminator: ReturnOp) -> None:
    """Copies what is returned and is an argument, a constant, or returned already: each output is the result of a node."""
    seen: set[SSAValue] = set()
    for index, value in enumerate(terminator.operands):
        if value in seen or not isinstance(value.owner, SchemaOp):
            copy = CopyNodeOp(value)
            copy.location = terminator.location
            Rewriter.insert_op(copy, InsertPoint.before(terminator))
            terminator.operands[index] = value = copy.result
        seen.add(value)


class _Encoder:
    """The graph while it is written. Values have their numbers in the order in which they occur."""

    def __init__(self, partition: PartitionOp, constants: ModuleConstants):
        self.partition = partition
        self.constants = constants
        self.ids: dict[SSAValue, int] = {}
        self.values: list[TensorValue] = []
        self.nodes: list[Node] = []
        self.entries: dict[str, int] = {}
        self.offsets = [ConstantDataOffset()]
        self.named: dict[str, memoryview] = {}

    def encode(self) -> Encoded:
        """The payload."""
        block = self.partition.body.block
        terminator = block.last_op
        assert isinstance(terminator, ReturnOp)
        _separate_outputs(terminator)
        results = {value: len(block.args) + index for index, value in enumerate(terminator.values)}
        for argument in block.args:
            self._define(argument, external_id=argument.index, flags=EXTERNAL_INPUT)
        for op in block.ops:
            if isinstance(op, GlobalLoadConstantOp):
                array = self.constants.array(op.result)
                if array is None:
                    raise self._error(f"holds @{op.global_attr.string_value()}, which has no value")
                self._define(op.result, constant_buffer_idx=self._constant(array))
            elif isinstance(op, SchemaOp) and op.level() == "xnnpack" and op.schema.name in _TABLES:
                for value in op.results:
                    external = results.get(value)
                    given = {} if external is None else {"external_id": external, "flags": EXTERNAL_OUTPUT}
                    self._define(value, **given)
                self.nodes.append(self._node(op))
            elif op is not terminator:
                raise self._error(f"holds {op.name}, which is not an operator of the xnnpack dialect")
        graph = Graph(
            version="0",
            xnodes=tuple(self.nodes),
            xvalues=tuple(self.values),
            num_externs=len(block.args) + len(results),
            input_ids=tuple(self.ids[argument] for argument in block.args),
            output_ids=tuple(self.ids[value] for value in terminator.values),
            constant_data=tuple(self.offsets),
        )
        return Encoded(write_payload(graph), self.named)

    def _error(self, what: str) -> BackendError:
        return BackendError(f"xnnpack: partition @{self.partition.sym_name.data} {what}")

    def _define(self, value: SSAValue, **fields: int) -> None:
        datatype = next((number for number, element in DATATYPES.items() if element == element_of(value)), None)
        if datatype is None:
            raise self._error(f"holds a {value.type}: tensors are of {' or '.join(map(str, DATATYPES.values()))}")
        shape = upper_bounds(value)
        number = self.ids[value] = len(self.values)
        self.values.append(TensorValue(datatype, len(shape), shape, id_out=number, **fields))

    def _constant(self, array: Array) -> int:
        """The index of a constant, one for each content."""
        array = np.ascontiguousarray(array)
        data = array.reshape(-1).view(np.uint8).data
        key = self.constants.sha256(array)
        if key not in self.entries:
            self.entries[key] = len(self.offsets)
            self.offsets.append(ConstantDataOffset(NO_OFFSET, len(data), key))
            self.named[key] = data
        return self.entries[key]

    def _node(self, op: SchemaOp) -> Node:
        table = _TABLES[op.schema.name]
        arguments = dict(zip((argument.name for argument in op.schema.arguments), op.arguments(), strict=True))
        fields: dict[str, Any] = {}
        for field in reversed(list(table.fields)):
            name = field.removesuffix("_id")
            if field == "num_dims":
                # The list behind it: of two, both have this length.
                fields[field] = len(fields[list(fields)[-1]])
            elif field == "output_id":
                fields[field] = self.ids[op.result]
            elif name == field:
                fields[field] = arguments[field]
            else:
                value = arguments.get(name)
                fields[field] = INVALID_ID if value is None else self.ids[value]
        least, most = arguments.get("output_min"), arguments.get("output_max")
        limits = None
        if least is not None or most is not None or op.schema.name == "clamp":
            limits = OutputMinMax(-inf if least is None else least, inf if most is None else most)
        return Node(table.record(**fields), len(self.nodes), limits)
