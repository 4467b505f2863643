"""Writes `mps` operators as nodes of a graph."""

from __future__ import annotations

from typing import Any, cast

from xdsl.ir import SSAValue

from flambeau.backends.mps.dialect.functions import ClampNodeOp
from flambeau.backends.mps.dialect.nodes import NodeOp
from flambeau.backends.mps.payload import DATATYPES, NODES, Graph, MinMax, Node, Segment, Value, aligned, write_payload
from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp
from flambeau.dialects.ir.tensor_types import Tensor, element_of, i32, shape_of, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.passes.delegation.interface import BackendError, BackendOptions, Encoded
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np

TABLES = {table.record.__name__: table for table in NODES}
"""The tables of nodes, by their names."""
VERSION = "0"


def encode(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
    """Returns the payload of a partition. Raises BackendError for operators of other dialects."""
    writer = _Writer(constants)
    return Encoded(writer.payload(partition))


def indices_type(op: NodeOp) -> Tensor:
    """Returns the type of a result that no operator of the dialect has: indices of a pool, the mean or the deviation of a norm."""
    shape, result = shape_of(op.operands[0]), shape_of(op.results[0])
    if op.schema.base == "LayerNorm":
        count = len(op.argument("normalized_shape"))
        return tensor(element_of(op.results[0]), (*shape[: len(shape) - count], *(1,) * count))
    return tensor(i32, result)


class _Writer:
    """Writes one partition. Values are numbered in the order in which they occur; equal constants are one value."""

    def __init__(self, constants: ModuleConstants):
        self.constants = constants
        self.numbers: dict[SSAValue, int] = {}
        self.values: list[Value] = []
        self.known: dict[tuple[Any, ...], int] = {}
        self.data: list[bytes] = []
        self.size = 0

    def payload(self, partition: PartitionOp) -> bytes:
        """Returns the bytes of the payload."""
        block = partition.body.block
        end = block.last_op
        assert isinstance(end, ReturnOp)
        inputs = tuple(self._number(value) for value in block.args)
        nodes: list[Node] = []
        for op in block.ops:
            if isinstance(op, NodeOp):
                nodes.append(self._node(op))
            elif not isinstance(op, GlobalLoadConstantOp | ReturnOp):
                raise BackendError(f"mps: a partition holds {op.name}, which is not an operator of the mps dialect")
        outputs = tuple(self._number(value) for value in end.operands)
        graph = Graph(
            VERSION, tuple(nodes), tuple(self.values), inputs, outputs, tuple(self.known.values()), constant_segment=Segment(0, self.size)
        )
        return write_payload(graph, b"".join(self.data))

    def _value(self, kind: Tensor, size: int = 0, offset: int = 0) -> int:
        # A scalar is a line of one element: the runtime has no tensors without dimensions.
        dims = shape_of(kind) or (1,)
        self.values.append(Value(DATATYPES[element_of(kind)], len(dims), dims, size, segment_offset=offset))
        return len(self.values) - 1

    def _number(self, value: SSAValue) -> int:
        if value not in self.numbers:
            kind = tensor(element_of(value), shape_of(value))
            is_constant = isinstance(value.owner, GlobalLoadConstantOp)
            self.numbers[value] = self._constant(value, kind) if is_constant else self._value(kind)
        return self.numbers[value]

    def _constant(self, value: SSAValue, kind: Tensor) -> int:
        array = np.ascontiguousarray(self.constants.elements(value))
        key = (kind, self.constants.sha256(array))
        if key not in self.known:
            data = array.tobytes()
            self.known[key] = self._value(kind, len(data), self.size)
            end = aligned(self.size + len(data))
            self.data.append(data.ljust(end - self.size, b"\0"))
            self.size = end
        return self.known[key]

    def _node(self, op: NodeOp) -> Node:
        table = TABLES[op.schema.base]
        arguments = dict(zip((argument.name for argument in op.schema.arguments), op.arguments(), strict=True))
        results = [self._number(value) for value in op.results]
        fields: dict[str, Any] = {}
        for name in table.fields:
            stem = name.removesuffix("_ids").removesuffix("_id")
            if stem == "num_dims":
                fields[name] = next(len(arguments[item]) for item in ("dims", "perm", "shape") if item in arguments)
            elif name == "output_ids":
                fields[name] = tuple(results)
            elif stem in ("output", "output1"):
                fields[name] = results[0]
            elif stem.startswith("output"):
                fields[name] = self._value(indices_type(op)) if op.schema.base != "AvgPool2D" else -1
            elif stem == name:
                fields[name] = arguments.get(name, None if name == "rounding_mode" else 0)
            else:
                given = cast("SSAValue | list[SSAValue] | None", arguments.get(stem))
                fields[name] = tuple(map(self._number, given)) if isinstance(given, list) else -1 if given is None else self._number(given)
        limits = MinMax(arguments["min_value"], arguments["max_value"]) if isinstance(op, ClampNodeOp) else None
        return Node(table.record(**fields), limits)
