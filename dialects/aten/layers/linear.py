"""Linear and bilinear layers."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.linear_algebra.matmul import MatmulOp, common_element, require_inner, require_rank
from flambeau.dialects.aten.movement.permute import permute
from flambeau.dialects.aten.movement.shape import expanded_shape, view
from flambeau.dialects.ir.tensor_types import Tensor, shape_of, tensor
from flambeau.dialects.schema.families import NUMBERS, require_shape
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@aten("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", keep=True)
class LinearOp(SchemaOp):
    """input @ weightᵀ + bias; weight is [out_features, in_features]."""

    takes = NUMBERS

    @staticmethod
    def infer(x: Tensor, /, weight: Tensor, bias: Tensor | None) -> Tensor:
        shape, kernel = shape_of(x), shape_of(weight)
        if not shape or len(kernel) not in (1, 2):
            raise ValueError(f"input {list(shape)} and weight {list(kernel)} are not those of a linear layer")
        require_inner(shape, kernel[::-1], shape[-1], kernel[-1])
        result = (*shape[:-1], *kernel[:-1])
        if bias is not None:
            expanded_shape(shape_of(bias), result)
        return tensor(common_element(x, weight, *([] if bias is None else [bias])), result)

    def whole(self) -> bool:
        """Returns whether the weight is a matrix and the bias has a number for each of its rows. If not, the operator is decomposed."""
        _, weight, bias = self.arguments()
        return len(shape_of(weight)) == 2 and (bias is None or shape_of(bias) == shape_of(weight)[:1])

    @staticmethod
    def numpy(x: Array, /, weight: Array, bias: Array | None) -> Array:
        result = np.matmul(widened(x), widened(weight).T)
        return (result if bias is None else result + bias).astype(x.dtype, copy=False)

    @staticmethod
    def decompose(x: SSAValue, /, weight: SSAValue, bias: SSAValue | None) -> SSAValue:
        shape, kernel = shape_of(x), shape_of(weight)
        if len(kernel) == 1:
            result = MatmulOp.decompose(x, weight)
            return result if bias is None else aten.add.Tensor(result, bias)
        rows = view(x, (math.prod(shape[:-1]), shape[-1]))
        columns = permute(weight, (1, 0))
        added = bias is not None and len(shape_of(bias)) < 2
        flat = aten.addmm(bias, rows, columns) if added else aten.mm(rows, columns)
        result = view(flat, (*shape[:-1], kernel[0]))
        return result if added or bias is None else aten.add.Tensor(result, bias)


@aten("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor")
class BilinearOp(SchemaOp):
    """x1 · weight[k] · x2 + bias[k] for each output feature k; weight is [out_features, in1_features, in2_features]."""

    takes = NUMBERS

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, weight: Tensor, bias: Tensor | None) -> Tensor:
        left, right = shape_of(a), shape_of(b)
        features, rows, columns = require_rank(weight, 3, "weight")
        if left[:-1] != right[:-1] or left[-1:] != (rows,) or right[-1:] != (columns,):
            raise ValueError(f"inputs {list(left)} and {list(right)} do not fit weight {list(shape_of(weight))}")
        if 0 in (rows, columns):
            raise ValueError(f"input {list(left)} and weight {list(shape_of(weight))} must not be empty")
        require_shape("bias", bias, (features,))
        return tensor(common_element(a, b, weight, *([] if bias is None else [bias])), (*left[:-1], features))

    @staticmethod
    def numpy(a: Array, b: Array, /, weight: Array, bias: Array | None) -> Array:
        result = np.einsum("...i,kij,...j->...k", widened(a), widened(weight), widened(b))
        return (result if bias is None else result + bias).astype(a.dtype)

    @staticmethod
    def decompose(a: SSAValue, b: SSAValue, /, weight: SSAValue, bias: SSAValue | None) -> SSAValue:
        left, (features, rows, columns) = shape_of(a), shape_of(weight)
        # [batch, in1] @ [in1, features * in2], then each row of `b` against its [features, in2] block.
        first = LinearOp.decompose(a, view(permute(weight, (0, 2, 1)), (features * columns, rows)), None)
        blocks = view(first, (*left[:-1], features, columns))
        result = view(MatmulOp.decompose(blocks, aten.unsqueeze(b, -1)), (*left[:-1], features))
        return result if bias is None else aten.add.Tensor(result, bias)
