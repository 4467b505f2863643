"""The gradient of an embedding."""

from __future__ import annotations

from xdsl.dialects.builtin import f64, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.indexing.embedding import require_indices
from flambeau.dialects.aten.library.gradients import require_gradient
from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.tensor_types import Tensor, element_of, holds_complex, is_float, shape_of, tensor
from flambeau.dialects.schema.families import wide_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@aten(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, "
    "bool scale_grad_by_freq) -> Tensor",
    core=True,
)
class EmbeddingDenseBackwardOp(SchemaOp):
    """The gradient of an embedding's table: the sum of the gradients of each row's uses; 0 for row `padding_idx`."""

    @staticmethod
    def infer(grad: Tensor, /, indices: Tensor, num_weights: int) -> Tensor:
        require_indices(indices)
        require_gradient(grad, (*shape_of(indices), shape_of(grad)[-1]))
        return tensor(element_of(grad), (num_weights, shape_of(grad)[-1]))

    @staticmethod
    def numpy(grad: Array, /, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> Array:
        flat = indices.reshape(-1)
        rows = widened(grad).reshape(flat.size, grad.shape[-1])
        if scale_grad_by_freq:
            rows = rows / np.bincount(flat, minlength=num_weights)[flat][:, None].astype(rows.dtype)
        result = np.zeros((num_weights, grad.shape[-1]), rows.dtype)
        kept = flat != padding_idx
        np.add.at(result, flat[kept], rows[kept])
        return result.astype(grad.dtype)

    @staticmethod
    def decompose(grad: SSAValue, /, indices: SSAValue, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> SSAValue:
        flat = aten.view(to_element(indices, i64), (-1,))
        is_divided = scale_grad_by_freq and not is_float(element_of(grad)) and not holds_complex(grad)
        wide = f64 if is_divided else wide_element(element_of(grad))
        size = (shape_of(flat)[0], shape_of(grad)[-1])
        rows = aten.view(to_element(grad, wide), size)
        if scale_grad_by_freq:
            counts = aten.scatter_add(aten.full((num_weights,), 0, wide), 0, flat, aten.full(size[:1], 1, wide))
            rows = aten.div.Tensor(rows, aten.unsqueeze(aten.index_select(counts, 0, flat), 1))
        if padding_idx >= 0:
            rows = aten.where.ScalarOther(aten.unsqueeze(aten.ne.Scalar(flat, padding_idx), 1), rows, 0)
        sums = aten.scatter_add(aten.full((num_weights, size[1]), 0, wide), 0, aten.expand(aten.unsqueeze(flat, 1), size), rows)
        return to_element(sums, element_of(grad))
