"""The fused linear layer."""

from __future__ import annotations

from flambeau.dialects.fused.epilogue import apply_epilogue, check_activation
from flambeau.dialects.fused.packing import PANEL, panels, unpack_linear_weight
from flambeau.dialects.ir.tensor_types import Tensor, element_of, f32, shape_of, tensor
from flambeau.dialects.schema.families import require_same_element
from flambeau.dialects.schema.row import SchemaOp, row
from flambeau.support.lazy import Array


@row(
    "fused",
    "flambeau",
    "linear(Tensor input, Tensor packed_weight, Tensor? bias, Tensor? addend, int out_features, str activation='none') -> Tensor",
)
class FusedLinearOp(SchemaOp):
    """activation(input @ weight.T + bias + addend), with the weight packed in panels of 16 output features."""

    takes = frozenset((f32,))

    @staticmethod
    def infer(x: Tensor, packed: Tensor, /, bias: Tensor | None, addend: Tensor | None, out_features: int, activation: str) -> Tensor:
        check_activation(activation)
        require_same_element(x, packed, bias, addend)
        shape = shape_of(x)
        expected = (panels(out_features), shape[-1], PANEL)
        if shape_of(packed) != expected:
            raise ValueError(f"packed_weight must have the shape {list(expected)}, got {list(shape_of(packed))}")
        result = (*shape[:-1], out_features)
        if bias is not None and shape_of(bias) != (out_features,):
            raise ValueError(f"bias must have the shape {[out_features]}, got {list(shape_of(bias))}")
        if addend is not None and shape_of(addend) != result:
            raise ValueError(f"addend must have the result's shape {list(result)}, got {list(shape_of(addend))}")
        return tensor(element_of(x), result)

    @staticmethod
    def numpy(x: Array, packed: Array, /, bias: Array | None, addend: Array | None, out_features: int, activation: str) -> Array:
        product = x @ unpack_linear_weight(packed, out_features).T
        return apply_epilogue(product if bias is None else product + bias, addend, activation)
