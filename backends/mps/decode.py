"""Reads a payload as a partition of `mps` operators, and checks every field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.backends.mps import BACKEND
from flambeau.backends.mps.dialect.functions import ClampNodeOp
from flambeau.backends.mps.dialect.nodes import NodeOp
from flambeau.backends.mps.encode import VERSION, indices_type
from flambeau.backends.mps.payload import DATATYPES, Graph, Node, read_payload, refused
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.tensor_types import Tensor, nbytes, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.schema.operators import find_op
from flambeau.passes.delegation.interface import partition_module

_ELEMENTS = {number: element for element, number in DATATYPES.items()}
_MOST_DIMENSIONS = 16
_MOST_ELEMENTS = 1 << 40


def decode(data: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore) -> ModuleOp:
    """Returns a module with the constants and the partition of a payload. Raises BackendError for damaged and unsupported payloads."""
    reader = _Reader(*read_payload(data), blobs)
    inputs = [reader.kind(number) for number in reader.graph.input_ids]
    return partition_module(BACKEND.identifier, inputs, reader.results, reader.globals)


class _Reader:
    """Reads one graph."""

    def __init__(self, graph: Graph, constants: memoryview, blobs: BlobStore):
        if graph.version != VERSION or graph.graph_type != 0:
            raise refused(f"it is of version {(graph.version or '')[:20]!r} and type {graph.graph_type}, not of {VERSION!r} and 0")
        self.graph = graph
        self.constants = constants
        self.blobs = blobs
        self.values: dict[int, SSAValue] = {}
        self.globals: list[GlobalOp] = []
        self.where = "the graph"

    def kind(self, number: int) -> Tensor:
        """Returns the type of a value. Raises BackendError where there is none of this number, or of another type than is known."""
        if not 0 <= number < len(self.graph.mps_values):
            raise refused(f"{self.where} names value {number} of {len(self.graph.mps_values)}")
        value = self.graph.mps_values[number]
        element, dims = _ELEMENTS.get(value.datatype), value.dims
        if element is None or len(dims) != value.num_dims or len(dims) > _MOST_DIMENSIONS or min(dims, default=0) < 1:
            raise refused(f"value {number} is of type {value.datatype} and sizes {list(dims[:20])}, which are not known here")
        if prod(dims) > _MOST_ELEMENTS:
            raise refused(f"value {number} has {prod(dims)} elements")
        return tensor(element, dims)

    def results(self, *arguments: SSAValue) -> Sequence[SSAValue]:
        """Builds the operators. Returns the results. Raises BackendError."""
        for number, argument in zip(self.graph.input_ids, arguments, strict=True):
            self._define(number, argument)
        for number in self.graph.constant_ids:
            self._constant(number)
        for place, node in enumerate(self.graph.mps_nodes):
            self.where = f"node {place}, {type(node.mpsnode_union).__name__},"
            self._node(node)
        self.where = "the graph"
        return [self._value(number) for number in self.graph.output_ids]

    def _define(self, number: int, value: SSAValue) -> None:
        if number in self.values or value.type != self.kind(number):
            raise refused(f"{self.where} gives value {number}, which is another one or of another type")
        self.values[number] = value

    def _constant(self, number: int) -> None:
        kind = self.kind(number)
        value = self.graph.mps_values[number]
        end = value.segment_offset + value.constant_buffer_size
        inline = None if value.constant_buffer is None else value.constant_buffer.storage
        if inline or value.constant_buffer_size != nbytes(kind) or end > len(self.constants):
            raise refused(f"value {number}, {kind}, is no constant of {len(self.constants)} bytes")
        name = f"value_{number}"
        self.globals.append(GlobalOp(name, kind, self.blobs.add(name, self.constants[value.segment_offset : end])))
        self._define(number, GlobalLoadConstantOp(name, kind).result)

    def _value(self, number: int) -> SSAValue:
        if number not in self.values:
            raise refused(f"{self.where} reads value {number}, which nothing before it gives")
        return self.values[number]

    def _node(self, node: Node) -> None:
        if node.mpsnode_union is None:
            raise refused(f"{self.where} is none")
        fields = _fields(node.mpsnode_union)
        row = find_op(f"{BACKEND.name}.{type(node.mpsnode_union).__name__}")
        if row is None or not issubclass(row, NodeOp):
            raise refused(f"{self.where} is not supported here")
        given: dict[str, Any] = {}
        for argument in row.schema.arguments:
            if argument.type.is_tensor and argument.type.is_list:
                given[argument.name] = [self._value(number) for number in fields[f"{argument.name}_ids"]]
            elif argument.type.is_tensor:
                number = fields[f"{argument.name}_id"]
                given[argument.name] = None if number == -1 and argument.may_be_absent else self._value(number)
            elif issubclass(row, ClampNodeOp):
                given[argument.name] = 0.0 if node.min_max is None else getattr(node.min_max, argument.name)
            else:
                given[argument.name] = fields[argument.name]
        try:
            op = row(**given)
        except (VerifyException, TypeError) as error:
            raise refused(f"{self.where} {error}") from error
        first: Sequence[int] = (
            fields["output_ids"] if "output_ids" in fields else [fields["output_id" if "output_id" in fields else "output1_id"]]
        )
        if len(first) != len(op.results):
            raise refused(f"{self.where} gives {len(op.results)} tensors, and names {len(first)}")
        for number, result in zip(first, op.results, strict=True):
            self._define(number, result)
        self._check_rest(op, fields)
        if (node.min_max is None) == isinstance(op, ClampNodeOp):
            raise refused(f"{self.where} has limits beside it, or lacks them")

    def _check_rest(self, op: NodeOp, fields: Mapping[str, Any]) -> None:
        """Checks the fields that no argument is: what is said of a list in two fields, modes, and results that nothing reads."""
        if fields.get("num_dims", -1) not in (-1, *(len(fields[name]) for name in ("dims", "perm", "shape") if name in fields)):
            raise refused(f"{self.where} says two lengths of its list")
        if fields.get("rounding_mode") is not None:
            raise refused(f"{self.where} rounds its result")
        for name in ("output2_id", "output3_id"):
            number = fields.get(name, -1)
            if number != -1 and (number in self.values or self.kind(number) != indices_type(op)):
                raise refused(f"{self.where} has {name} {number}, which is another value or of another type")


def _fields(record: object) -> dict[str, Any]:
    return record.__dict__
