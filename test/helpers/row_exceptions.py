"""What the walk over rows is known to find, each with its reason. An entry that no longer finds anything is an error.

An entry is a kind of disagreement, the rows, what is varied (both as in `fnmatch`), and the reason.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple


class Known(NamedTuple):
    """Disagreements that are known."""

    kind: str
    rows: str
    what: str
    reason: str

    def is_about(self, row: str, what: str | None = None) -> bool:
        """Whether it speaks of a row, and of what is varied."""
        return fnmatchcase(row, self.rows) and (what is None or fnmatchcase(what, self.what))

    def covers(self, kind: str, row: str, what: str) -> bool:
        """Whether a disagreement is among them."""
        return fnmatchcase(kind, self.kind) and self.is_about(row, what)


NO_KERNEL = "no runtime has the kernel"
NOT_IN_STOCK = "stock ExecuTorch does not have the kernel"
UNKNOWN_EXTENT = "the size of the result is in the data, and has no bound"
TRAINING = "training, which programs do not do"
OVERFLOW = "extremes overflow in an order that is torch's own, or are multiplied and added at once"
STATISTICS = "torch updates a running mean, which turns infinities into NaN"
RESAMPLED = "numpy adds up the weights of all entries, 0 among them, and 0 times NaN is NaN"
PADDED = "kernels leave the padding out, numpy multiplies it, and 0 times an infinity is NaN"
BYTES = "torch resamples bytes with weights rounded to integers"
DOUBLES = "the weights are single precision"
HALVES = "torch computes each step in the half type"
NOT_A_NUMBER = "what an infinite or NaN attribute gives is torch's own"
NOTHING_THERE = "torch refuses tensors without elements"
NOT_EMPTY = "what torch gives for tensors without elements is not of the shape or the type that it declares"
TIES = "torch chooses among equal elements as its algorithm happens to"
FALLBACK = "torch computes some shapes by another path, which knows more types"
SHAPES = "the row does not check how the shapes of parameters fit each other"
MIXED = "the row takes operands of one element type only"
STRIDES = "the row does not know the strides of its operand; the passes copy it to row-major memory"
DATA = "what is refused is in the data"


def _listed(kind: str, what: str, reason: str, *rows: str) -> tuple[Known, ...]:
    return tuple(Known(kind, row, what, reason) for row in rows)


KNOWN: tuple[Known, ...] = (
    # no kernel
    *_listed("* on *", "*", NO_KERNEL, "aten._adaptive_avg_pool2d_backward", "aten._embedding_bag", "aten.adaptive_max_pool3d"),
    *_listed("* on *", "*", NO_KERNEL, "aten.avg_pool2d_backward", "aten.convolution_backward", "aten.embedding_bag"),
    *_listed("* on *", "*", NO_KERNEL, "aten.embedding_dense_backward", "aten.max_pool2d_with_indices_backward"),
    *_listed("* on *", "*", NO_KERNEL, "aten.max_pool3d_with_indices", "aten.native_*_norm_backward"),
    *_listed("* on *", "*", NO_KERNEL, "quantized_decomposed.add", "quantized_decomposed.embedding_*", "quantized_decomposed.mixed_*"),
    *_listed("* on *", "*", NO_KERNEL, "quantized_decomposed.choose_qparams*", "quantized_decomposed.*quantize_per_channel_group"),
    *_listed("* on *", "*", NO_KERNEL, "quantized_decomposed.*quantize_per_tensor.tensor"),
    *_listed("* on executorch", "*", NOT_IN_STOCK, "aten.scatter.*reduce", "aten.scatter_reduce.two"),
    *_listed("does not compile on *", "*", UNKNOWN_EXTENT, "aten.nonzero", "aten.argwhere", "aten.masked_select", "aten.index.Tensor"),
    *_listed("* on *", "*", TRAINING, "aten.native_dropout"),
    *_listed("row refuses", "t* = *", TRAINING, "aten.*_dropout", "aten.rrelu"),
    *_listed("row refuses", "p = *", TRAINING, "aten.*_dropout"),
    *_listed("numpy differs", "* = True", TRAINING, "aten.batch_norm", "aten.instance_norm"),
    # values
    *_listed("numpy differs", "special *", OVERFLOW, "aten.add.*", "aten.sub.*", "aten.rsub.*", "aten.fmod.*", "aten.remainder.*"),
    *_listed("numpy differs", "special *", OVERFLOW, "aten.gelu", "aten.scaled_dot_product_attention"),
    *_listed(
        "numpy differs", "special *", OVERFLOW, "aten.*conv*", "aten.avg_pool*", "aten.embedding_dense_backward", "aten._cdist_forward"
    ),
    *_listed("numpy differs", "special *", OVERFLOW, "aten.*embedding_bag", "quantized_decomposed.dequantize_per_channel_group"),
    *_listed("numpy differs", "special *", STATISTICS, "aten.*_norm*", "aten.std_mean.*", "aten.var_mean.*"),
    *_listed("numpy differs", "special *", RESAMPLED, "aten.*upsample_*linear*", "aten.*upsample_bicubic*", "aten.grid_sampler*"),
    *_listed("differs on *", "special *", PADDED, "aten.*conv*"),
    *_listed("* differs*", "special *", RESAMPLED, "aten.*upsample_*linear*", "aten.*upsample_bicubic*"),
    *_listed("row refuses", "* uint8", BYTES, "aten.*upsample_bi*"),
    *_listed("numpy differs", "in float64", DOUBLES, "aten.*upsample_*.vec"),
    *_listed("numpy differs", "extent *", DOUBLES, "aten._upsample_*_aa*"),
    *_listed("numpy differs", "in *float16", HALVES, "aten.grid_sampler_2d", "aten.rnn_relu.input"),
    *_listed("numpy differs", "tensor * in *", HALVES, "aten.cosine_similarity", "aten.ldexp.Tensor"),
    *_listed("numpy differs", "* = *", NOT_A_NUMBER, "aten.add.Tensor", "aten.sub.Tensor", "aten.addmm", "aten.addbmm", "aten.celu"),
    *_listed("numpy differs", "* = *", NOT_A_NUMBER, "aten.elu", "aten.softplus", "aten.linspace", "aten.norm.*", "aten.*.correction"),
    *_listed("row refuses", "step = inf", NOT_A_NUMBER, "aten.arange.start_step"),
    *_listed("numpy differs", "special *", NOT_A_NUMBER, "quantized_decomposed.choose_qparams.tensor"),
    *_listed("numpy differs", "in *float16", HALVES, "quantized_decomposed.choose_qparams*"),
    *_listed("numpy differs", "special *float16", HALVES, "quantized_decomposed.choose_qparams_per_token_asymmetric", "aten.ldexp.Tensor"),
    *_listed("numpy differs", "in *float16", HALVES, "aten.ldexp.Tensor"),
    *_listed("numpy differs", "* = 0.0", NOT_A_NUMBER, "quantized_decomposed.add", "quantized_decomposed.choose_qparams.tensor"),
    *_listed("numpy differs", "tensor * in *", NOT_A_NUMBER, "quantized_decomposed.dequantize_per_channel*"),
    *_listed("numpy differs", "out_dtype = *", NOT_A_NUMBER, "quantized_decomposed.dequantize_per_tensor"),
    *_listed("torch refuses", "*", NOT_A_NUMBER, "quantized_decomposed.*"),
    *_listed("row refuses", "*", SHAPES, "quantized_decomposed.*"),
    # no elements
    *_listed("numpy differs", "extent *", NOT_EMPTY, "aten.addmv", "aten.native_dropout", "aten.pixel_unshuffle", "aten.conv1d.padding"),
    *_listed("numpy differs", "tensor * empty", NOT_EMPTY, "aten.addmv", "aten.native_dropout", "aten.pixel_unshuffle"),
    *_listed("torch refuses", "extent *", NOTHING_THERE, "aten.*pool*", "aten.*conv*", "aten.*2*m*", "aten.bilinear", "aten.*norm*"),
    *_listed("torch refuses", "tensor * empty", NOTHING_THERE, "aten.*pool*", "aten.*2*m*", "aten.bilinear", "aten.*norm*"),
    *_listed("torch refuses", "extent *", NOTHING_THERE, "aten.embedding", "aten.index_select"),
    *_listed("torch refuses", "tensor * empty", NOTHING_THERE, "aten.embedding", "aten.index_select"),
    *_listed("row refuses", "extent *", NOTHING_THERE, "aten.*conv*", "aten.grid_sampler*", "aten.histc", "aten._fused_rms_norm"),
    *_listed("row refuses", "tensor * empty", NOTHING_THERE, "aten.histc"),
    *_listed("numpy differs", "extent *", DATA, "aten.index_add", "aten.take_along_dim"),
    *_listed("numpy differs", "tensor * empty", DATA, "aten.index_add"),
    *_listed("numpy differs", "extent *", DATA, "aten.linalg_*norm"),
    *_listed("numpy differs", "tensor * empty", DATA, "aten.linalg_norm"),
    *_listed("numpy differs", "tensor * without dimensions", SHAPES, "quantized_decomposed.choose_qparams_per_token_asymmetric"),
    # types
    *_listed("numpy differs", "tensor * in *", "numpy does not broadcast an empty mask", "aten.index.Tensor"),
    *_listed("numpy differs", "dropout_p = 0.5", TRAINING, "aten.scaled_dot_product_attention"),
    *_listed("torch refuses", "dropout_p = *", TRAINING, "aten.scaled_dot_product_attention"),
    *_listed("numpy differs", "special *", OVERFLOW, "aten.einsum"),
    *_listed(
        "row refuses",
        "in *int*",
        FALLBACK,
        "aten.*conv*",
        "aten.*softmax*",
        "aten.dropout",
        "aten.pairwise_distance",
        "aten._pdist_forward",
    ),
    *_listed("row refuses", "special *int*", FALLBACK, "aten.*conv*", "aten.*softmax*", "aten.dropout", "aten.pairwise_distance"),
    *_listed("row refuses", "special *int*", FALLBACK, "aten._pdist_forward", "aten.avg_pool3d"),
    *_listed(
        "row refuses", "in *", FALLBACK, "aten.avg_pool3d", "aten.chain_matmul", "aten.mm", "aten.kthvalue", "aten.square", "aten.*softmax*"
    ),
    *_listed("row refuses", "in bool", FALLBACK, "aten.dropout", "aten._pdist_forward"),
    *_listed("row refuses", "dtype = *", FALLBACK, "aten.*softmax*", "aten.cumsum", "aten.linspace"),
    *_listed("row refuses", "tensor * in *", FALLBACK, "aten.index_put", "aten.take_along_dim"),
    *_listed("row refuses", "tensor * in *", MIXED, "aten.convolution_backward", "aten.einsum", "aten.instance_norm", "aten.lerp.Tensor"),
    *_listed("row refuses", "tensor * in *", MIXED, "aten.lstm_cell", "aten.rnn_*.input"),
    *_listed("numpy differs", "*int*", FALLBACK, "aten.einsum", "aten.rnn_tanh_cell"),
    *_listed("numpy differs", "in bool", FALLBACK, "aten.einsum"),
    *_listed("torch refuses", "in bool", FALLBACK, "aten.einsum", "aten.pad", "aten.clamp.Tensor", "aten.topk"),
    *_listed("* on *", "in bool", FALLBACK, "aten.scatter_reduce.two"),
    *_listed("torch refuses", "* in *", FALLBACK, "aten.ldexp.Tensor", "aten.masked_*", "aten.index_put", "aten.*_backward"),
    *_listed("torch refuses", "*special *", FALLBACK, "aten.*_backward"),
    # shapes and attributes
    *_listed(
        "torch refuses", "*", SHAPES, "aten.*_cell", "aten.rnn_*.input", "aten.convolution_backward", "aten.native_group_norm_backward"
    ),
    *_listed("torch refuses", "tensor *", SHAPES, "aten.bilinear", "aten.einsum"),
    *_listed("torch refuses", "*", SHAPES, "aten.batch_norm", "aten.instance_norm"),
    *_listed("torch refuses", "value = *", SHAPES, "aten.pad"),
    *_listed("torch refuses", "dtype = *", SHAPES, "aten.linspace"),
    *_listed("numpy differs", "tensor * broadcast", SHAPES, "aten.rnn_*.input", "fused.*"),
    *_listed("numpy differs", "tensor * empty", SHAPES, "fused.*", "aten.convolution_backward"),
    *_listed("numpy differs", "extent *", SHAPES, "fused.*", "aten.convolution_backward"),
    *_listed("row refuses", "* dimensions", SHAPES, "aten._fused_rms_norm", "aten.adjoint", "aten.m[HT]"),
    *_listed("row refuses", "tensor * broadcast", SHAPES, "aten._fused_rms_norm", "aten.tensordot"),
    *_listed("row refuses", "ord = 2", "no operator of a program computes singular values", "aten.linalg_*norm"),
    *_listed("row refuses", "dim = *", SHAPES, "aten.diff"),
    *_listed("row refuses", "value = 0.0", SHAPES, "aten.pad"),
    *_listed("fails on *", "*", SHAPES, "quantized_decomposed.dequantize_per_channel"),
    *_listed("numpy differs", "transposed", STRIDES, "aten.as_strided"),
    *_listed("numpy differs", "transposed", "torch reads other memory than that of the operand", "aten.native_group_norm_backward"),
    *_listed("* on flambeau", "*", "passes make it of operands in the layouts that it takes", "fused.*"),
    *_listed("numpy differs", "*", TIES, "aten.kthvalue", "aten.sort.stable", "aten.argsort.stable"),
)
"""What is known to disagree."""
