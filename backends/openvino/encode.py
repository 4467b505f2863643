"""Writes a partition of `openvino` operators as a payload, and its weights as named data whose keys are digests of their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from flambeau.backends.openvino.dialect.layers import LayerOp, attribute_name
from flambeau.backends.openvino.payload import aligned, write_payload
from flambeau.backends.openvino.representation import Layer, Port, write_lines
from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp
from flambeau.dialects.edge.layout import upper_bounds
from flambeau.dialects.ir.extents import is_known, least
from flambeau.dialects.ir.locations import module_paths
from flambeau.dialects.ir.tensor_types import element_of, f32, i1, i64, shape_of, ui8
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.passes.delegation.interface import BackendError, Encoded
from flambeau.support.lazy import Array, np

if TYPE_CHECKING:
    from typing_extensions import Buffer
    from xdsl.ir import Attribute

    from flambeau.backends.openvino import OpenvinoOptions
    from flambeau.passes.rewriting.constants import ModuleConstants

ELEMENTS: dict[Attribute, tuple[str, str]] = {
    f32: ("f32", "FP32"),
    i1: ("boolean", "BOOL"),
    i64: ("i64", "I64"),
    i8: ("i8", "I8"),
    ui8: ("u8", "U8"),
}
"""The name of an element type in data, and in ports."""
LEAST_NAMED = 512
"""The fewest bytes of a constant that is worth a name: its digest, twice, and the room up to where the named data begin."""


def encode(partition: PartitionOp, constants: ModuleConstants, options: OpenvinoOptions) -> Encoded:
    """Returns the payload of a partition of `openvino` operators. Raises BackendError for other operators."""
    if not options.compiled:
        encoder = _Encoder(partition, constants, LEAST_NAMED)
        return Encoded(encoder.encode(), encoder.named, modules=[layer.path for layer in encoder.layers])
    from flambeau.backends.openvino.compiled import compiled_payload

    return Encoded(compiled_payload(_Encoder(partition, constants, None).encode(), options))


class _Encoder:
    """Writes one partition as a model. Constants of `least_named` bytes or more become named data; with None, none does."""

    def __init__(self, partition: PartitionOp, constants: ModuleConstants, least_named: int | None):
        self.partition = partition
        self.constants = constants
        self.least_named = least_named
        self.named: dict[str, Buffer] = {}
        self.layers: list[Layer] = []
        self.sources: dict[SSAValue, tuple[int, int]] = {}
        self.pieces: list[Buffer] = []
        self.size = 0
        self.places: dict[str, int] = {}
        self.constant_layers: dict[tuple[str, Attribute, tuple[int, ...]], tuple[int, int]] = {}

    def encode(self) -> bytes:
        """Returns the bytes of the payload. Raises BackendError."""
        block = self.partition.body.block
        terminator = block.last_op
        assert isinstance(terminator, ReturnOp)
        for argument in block.args:
            self._add("", "Parameter", 1, _declared(argument), [], [argument])
        for op in block.ops:
            if isinstance(op, GlobalLoadConstantOp):
                name, array = op.global_attr.string_value(), self.constants.elements(op.result)
                self.sources[op.result] = self._constant(name, array, element_of(op.result))
            elif isinstance(op, LayerOp):
                self._layer(op)
            elif op is not terminator:
                raise self._error(f"holds {op.name}, which is not an operator of the openvino dialect")
        for value in terminator.values:
            self._add(self.layers[-1].path, "Result", 1, {}, [self.sources[value]], [])
        return write_payload(write_lines(self.layers), self.pieces, self.size, len(block.args), len(terminator.values))

    def _error(self, what: str) -> BackendError:
        return BackendError(f"openvino: partition @{self.partition.sym_name.data} {what}")

    def _add(
        self, path: str, kind: str, opset: int, data: dict[str, str], inputs: Sequence[tuple[int, int]], results: Sequence[SSAValue]
    ) -> None:
        self.sources |= {value: (len(self.layers), place) for place, value in enumerate(results)}
        self.layers.append(Layer(path, kind, str(opset), data, inputs, [Port(ELEMENTS[element_of(value)][1]) for value in results]))

    def _constant(self, path: str, array: Array, element: Attribute) -> tuple[int, int]:
        """Returns the output of the layer for a constant array, which equal constants share."""
        array = np.ascontiguousarray(array).reshape(array.shape)
        digest = self.constants.sha256(array)
        key = (digest, element, array.shape)
        if key not in self.constant_layers:
            self.constant_layers[key] = (len(self.layers), 0)
            data = array.reshape(-1).view(np.uint8).data
            kind, precision = ELEMENTS[element]
            fields = {"element_type": kind, "shape": _text(array.shape), **self._stored(data, digest), "size": str(len(data))}
            self.layers.append(Layer(path, "Const", "1", fields, [], [Port(precision)]))
        return self.constant_layers[key]

    def _stored(self, data: memoryview, digest: str) -> dict[str, str]:
        """Stores the bytes of a constant unless they are there, and returns the attribute that finds them."""
        if self.least_named is not None and len(data) >= self.least_named:
            self.named[digest] = data
            return {"key": digest}
        if digest not in self.places:
            self.places[digest] = self.size
            # OpenVINO refuses a constant without bytes, even if it has no elements.
            end = aligned(self.size + max(len(data), 1))
            self.pieces += [data, bytes(end - self.size - len(data))]
            self.size = end
        return {"offset": str(self.places[digest])}

    def _layer(self, op: LayerOp) -> None:
        data: dict[str, str] = {}
        inputs: list[tuple[int, int]] = []
        path = next(iter(module_paths(op.location)), "")
        for argument, value in zip(op.schema.arguments, op.arguments(), strict=True):
            if argument.keyword_only:
                data[attribute_name(argument.name)] = _text(value)
            elif argument.type.is_tensor:
                items = cast("list[SSAValue]", value if isinstance(value, list) else [value])
                inputs += [self.sources[item] for item in items]
            else:
                is_float = argument.type.base == "float"
                array = np.asarray(value, np.float32 if is_float else np.int64)
                inputs.append(self._constant(path, array, f32 if is_float else i64))
        self._add(path, op.schema.name, op.opset, data, inputs, op.results)


def _text(value: Any) -> str:
    """Returns the text of an attribute's value in the model's `data`."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(_text, cast("tuple[Any, ...]", value))) if isinstance(value, tuple) else str(value)


def _declared(argument: SSAValue) -> dict[str, str]:
    """Returns the attributes of the layer of an argument: its type and shape, with the range of a size that is unknown before the run."""
    sizes = [
        str(size) if is_known(size) else f"{least(size)}..{most}"
        for size, most in zip(shape_of(argument), upper_bounds(argument), strict=True)
    ]
    return {"element_type": ELEMENTS[element_of(argument)][0], "shape": ",".join(sizes)}
