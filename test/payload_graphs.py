"""Payloads that are written node by node, with the programs around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from executorch.backends.xnnpack.serialization import xnnpack_graph_schema as xnn
from executorch.backends.xnnpack.serialization.xnnpack_graph_serialize import serialize_xnnpack_binary
from runtime_programs import OURS, plan, tensor, write

from flambeau.runtime import Runtime, pte

NONE = 2**32 - 1
FP32, FP16 = xnn.XNNDatatype.xnn_datatype_fp32, xnn.XNNDatatype.xnn_datatype_fp16
CHAR, FLOAT, HALF, LONG = pte.ScalarType.CHAR, pte.ScalarType.FLOAT, pte.ScalarType.HALF, pte.ScalarType.LONG
TYPES = {FP32: FLOAT, FP16: HALF}
GENERATOR = np.random.default_rng(7)


class Graph:
    """A payload and the program around it. Values are inputs, then outputs, then the others."""

    def __init__(self, *inputs: tuple[int, ...], datatype: xnn.XNNDatatype = FP32):
        self.datatype = datatype
        self.values: list[Any] = []
        self.nodes: list[Any] = []
        self.constants = bytearray()
        self.places = [xnn.ConstantDataOffset(offset=NONE, size=0, named_key="")]
        self.inputs, self.outputs = inputs, list[tuple[tuple[int, ...], pte.ScalarType]]()
        for shape in inputs:
            self.value(shape, external=len(self.values), flags=1)

    def value(self, shape: tuple[int, ...], external: int = NONE, flags: int = 0, buffer: int = 0) -> int:
        fields = {"constant_buffer_idx": buffer, "external_id": external, "flags": flags, "id_out": len(self.values)}
        value = xnn.XNNTensorValue(datatype=self.datatype, num_dims=len(shape), dims=list(shape), **fields)
        self.values.append(xnn.XValue(xvalue_union=value))
        return len(self.values) - 1

    def constant(self, array: Any) -> int:
        data = np.ascontiguousarray(array, "float32").tobytes()
        self.places.append(xnn.ConstantDataOffset(offset=len(self.constants), size=len(data), named_key=""))
        self.constants += data + bytes(-len(data) % 16)
        return self.value(array.shape, buffer=len(self.places) - 1)

    def output(self, shape: tuple[int, ...], type: pte.ScalarType | None = None) -> int:
        self.outputs.append((shape, TYPES[self.datatype] if type is None else type))
        return self.value(shape, external=len(self.inputs) + len(self.outputs) - 1, flags=2)

    def integers(self, number: int, scale: float, zero_point: int = 0) -> int:
        """Makes a value one of int8."""
        value = self.values[number].xvalue_union
        value.datatype = xnn.XNNDatatype.xnn_datatype_qint8
        self.values[number] = xnn.XValue(
            xvalue_union=xnn.XNNQuantizedTensorValue(value, xnn.PerTensorQuant(scale=scale, zero_point=zero_point))
        )
        return number

    def node(self, node: Any, limits: tuple[float, float] | None = None) -> None:
        bounds = None if limits is None else xnn.OutputMinMax(output_min=limits[0], output_max=limits[1])
        self.nodes.append(xnn.XNode(xnode_union=node, debug_handle=len(self.nodes), output_min_max=bounds))

    def payload(self, externals: int | None = None) -> bytes:
        count = len(self.inputs) + len(self.outputs) if externals is None else externals
        graph = xnn.XNNGraph("0", self.nodes, self.values, count, [], [], self.places)
        return serialize_xnnpack_binary(graph, self.constants)

    def named(self, name: str, array: Any) -> int:
        self.places.append(xnn.ConstantDataOffset(offset=NONE, size=array.nbytes, named_key=name))
        return self.value(array.shape, buffer=len(self.places) - 1)

    def program(
        self,
        payload: bytes | None = None,
        named_data: Mapping[str, Any] | None = None,
        before: tuple[pte.BackendDelegate, ...] = (OURS,),
        **tensor_fields: Any,
    ) -> bytes:
        """A method that calls the payload; inputs and outputs lie where the caller has them.

        ExecuTorch's adapter and XNNPACK need not survive what is wrong with it: a delegate that ExecuTorch lacks is `before` it.
        """
        values = [tensor(*shape, type=TYPES[self.datatype], **tensor_fields) for shape in self.inputs]
        values += [tensor(*shape, type=type, **tensor_fields) for shape, type in self.outputs]
        ids = tuple(range(len(values)))
        delegates = (*before, pte.BackendDelegate("XnnpackBackend", memoryview(self.payload() if payload is None else payload)))
        calls: list[pte.Instruction] = [pte.DelegateCall(len(before), ids)]
        method = plan([*values], calls, [], [*ids[: len(self.inputs)]], [*ids[len(self.inputs) :]], delegates=delegates)
        named = tuple(pte.NamedData(key, memoryview(array.tobytes())) for key, array in (named_data or {}).items())
        return write(method, named_data=named)

    def run(self, *inputs: Any) -> list[Any]:
        return Runtime.get().load_program(self.program()).load_method("forward").execute(inputs)


def random(*shape: int) -> Any:
    return GENERATOR.standard_normal(shape).astype("float32")


def tensor_of(graph: Graph, index: int) -> Any:
    return graph.values[index].xvalue_union
