"""What the walk over rows may find, each with its reason. An entry that no longer finds anything on any machine is an error.

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

    @property
    def is_everywhere(self) -> bool:
        """Whether every machine finds it: no vector code and no library decides it."""
        return not ("differs" in self.kind and self.reason in BY_VECTOR_CODE)


NO_KERNEL = "no runtime has the kernel"
NOT_IN_STOCK = "stock ExecuTorch does not have the kernel"
PARAMETERS = "stock ExecuTorch takes whole zero points, and parameters in types that others convert to with other results"
TRAINING = "training, which programs do not do"
SINGULAR = "no operator of a program computes singular values"
OVERFLOW = "extremes overflow in an order that is torch's own, or are multiplied and added at once"
STEPS = "which sums of a transform an infinity or an extreme reaches depends on its steps"
STATISTICS = "torch updates a running mean, which turns infinities into NaN"
ZERO_WEIGHTS = "some of torch's algorithms multiply what does not count by 0, which makes NaN of infinities"
ROW_BY_ROW = "passes resample by a matrix, or a volume plane by plane, and 0 times an infinity is NaN"
BYTES = "torch resamples bytes with weights rounded to integers"
DOUBLES = "torch computes the weights of these overloads in single precision, or in double where the row does not"
OWN_STEPS = "each operand is computed with in its own type, or each step rounds to the half type"
NOT_A_NUMBER = "what an infinite, NaN or huge attribute gives is torch's own"
NO_ELEMENTS = "what torch gives for tensors without elements is not of the shape or the type that it declares"
FEWER_CHECKS = "torch does not check what has no elements, or what it computes nothing with"
NOT_CHECKED = "torch does not check what its documentation says must fit"
TIES = "torch chooses among equal elements as its algorithm happens to"
OTHER_PATH = "torch computes some shapes by another path, which knows more or fewer types"
FEWER_TYPES = "the row takes fewer types, and says so"
QUANTISED = "the row takes what quantised numbers are, bytes and scales that fit; torch computes with anything"
STRIDES = "torch reads memory in the order of the operand's strides, which the passes copy to row-major"
DATA = "what is refused is in the data"
NOT_FINITE = "torch refuses some matrices with NaN or infinities, and finds NaN for others, as their sizes and triangles decide"
DEGREES = "torch takes as many steps as a degree says, which may be thousands of millions"
UNORDERED = "where NaN, and slices with NaN, come in order is torch's own"
FACTORS = "which elements of its factors an infinite or extreme element reaches depends on LAPACK's steps"
UNWRITTEN = "torch gives what its memory happened to hold"
OF_PASSES = "passes make it of operands that fit"
BY_VECTOR_CODE = frozenset(
    (OVERFLOW, STEPS, STATISTICS, ZERO_WEIGHTS, ROW_BY_ROW, OWN_STEPS, NOT_A_NUMBER, TIES, UNORDERED, FACTORS, NOT_FINITE, UNWRITTEN)
)
"""The reasons for other numbers that come with the order of sums, with fused multiply-adds, and with vectorised functions."""


def _listed(kind: str, what: str, reason: str, *rows: str) -> tuple[Known, ...]:
    return tuple(Known(kind, row, what, reason) for row in rows)


KNOWN: tuple[Known, ...] = (
    *_listed("numpy differs", "special *", DEGREES, "aten.special_*polynomial_*"),
    *_listed("numpy differs", "n = *", DEGREES, "aten.special_*polynomial_*.n_scalar"),
    *_listed("numpy differs", "tensor 1 in uint8", UNWRITTEN, "aten.special_*polynomial_[luw]"),
    *_listed("numpy differs", "*", UNWRITTEN, "aten.resize", "aten.resize_as"),
    *_listed("numpy differs", "special float*", STEPS, "aten._fft_r2c"),
    *_listed("numpy differs", "special float*", NOT_FINITE, "aten._linalg_eigh"),
    *_listed("numpy differs", "*", FEWER_CHECKS, "aten.repeat_interleave.self_Tensor", "aten.repeat_interleave.Tensor"),
    # What programs do not do.
    *_listed("* on *", "* int64", NO_KERNEL, "aten.avg_pool2d_backward"),
    *_listed(
        "* on *", "*", NO_KERNEL, "quantized_decomposed.choose_qparams_symmetric.tensor", "quantized_decomposed.choose_qparams_per_token"
    ),
    *_listed("* on *", "*", NO_KERNEL, "quantized_decomposed.quantize_per_channel_group"),
    *_listed("does not compile on executorch", "tensor 2 in *float*", PARAMETERS, "quantized_decomposed.*quantize_per_tensor.tensor"),
    *_listed("does not compile on executorch", "*float*", PARAMETERS, "quantized_decomposed.quantize_per_[ct]*"),
    *_listed("does not compile on executorch", "*float64", PARAMETERS, "quantized_decomposed.choose_qparams_per_token_asymmetric"),
    *_listed("numpy differs", "special *float*", UNORDERED, "aten.unique_dim"),
    *_listed("numpy differs", "dim = 0", OTHER_PATH, "aten.unique_consecutive"),
    *_listed("numpy differs", "special *", FACTORS, "aten.geqrf", "aten.qr", "aten.linalg_qr", "aten.linalg_householder_product"),
    *_listed("numpy differs", "special *", FACTORS, "aten.linalg_cholesky_ex", "aten.cholesky_inverse", "aten._linalg_slogdet"),
    *_listed("numpy differs", "special *", FACTORS, "aten.linalg_matrix_exp", "aten.ormqr", "aten.linalg_ldl_*"),
    *_listed("numpy differs", "in *float16", OVERFLOW, "aten.linalg_matrix_exp"),
    *_listed("torch refuses", "special *", FACTORS, "aten.*cholesky", "aten.cholesky_inverse"),
    *_listed("torch refuses", "extent *", DATA, "aten.linalg_lu_solve"),
    *_listed("row refuses", "tensor 0 empty", FEWER_CHECKS, "aten.linalg_pinv*"),
    *_listed("row refuses", "*", FEWER_CHECKS, "aten.exponential"),
    *_listed("row refuses", "tensor ? broadcast", NOT_CHECKED, "aten.linalg_pinv.*"),
    *_listed("numpy differs", "special *", FACTORS, "aten.*pinv*"),
    *_listed("numpy differs", "transposed", STRIDES, "aten._linalg_*det"),
    *_listed("numpy differs", "channels last", STRIDES, "aten._linalg_*det"),
    *_listed("row refuses", "tensor ? in *", NOT_CHECKED, "aten.linalg_solve_triangular"),
    *_listed("row refuses", "*", FEWER_TYPES, "aten.lu_unpack"),
    *_listed("row refuses", "tensor 0 empty", FEWER_CHECKS, "aten.cholesky"),
    *_listed("* on executorch", "*", NOT_IN_STOCK, "aten.linalg_*", "aten._linalg_*", "aten.*cholesky*", "aten.triangular_solve"),
    *_listed(
        "* on executorch", "*", NOT_IN_STOCK, "aten.inverse", "aten.pinverse", "aten.lu_unpack", "aten.geqrf", "aten.ormqr", "aten.qr"
    ),
    *_listed("* on executorch", "*", NOT_IN_STOCK, "aten.special_*_polynomial_*", "aten.gcd", "aten.lcm", "aten.nextafter"),
    *_listed("row refuses", "t* = True", TRAINING, "aten.batch_norm"),
    *_listed("row refuses", "use_input_stats = True", TRAINING, "aten.instance_norm"),
    *_listed("row refuses", "dropout_p = 0.5", TRAINING, "aten.scaled_dot_product_attention"),
    *_listed("row refuses", "ord = 2", SINGULAR, "aten.linalg_*norm"),
    *_listed("torch refuses", "tensor 2 *", STRIDES, "aten._trilinear"),
    *_listed("row refuses", "tensor ? empty", FEWER_CHECKS, "aten._trilinear"),
    # Extremes.
    *_listed("numpy differs", "special *", OWN_STEPS, "aten._trilinear"),
    *_listed("numpy differs", "special *", OVERFLOW, "aten.gcd", "aten.lcm", "aten.special_zeta*", "aten.special_scaled_modified_bessel_*"),
    *_listed("numpy differs", "special float64", OVERFLOW, "aten.lgamma"),
    *_listed("numpy differs", "special *", OVERFLOW, "aten.add.*", "aten.sub.*", "aten.rsub.*", "aten.fmod.*", "aten.remainder.*"),
    *_listed("numpy differs", "special *", OVERFLOW, "aten.gelu", "aten.scaled_dot_product_attention", "aten._cdist_forward"),
    *_listed("numpy differs", "special *", OVERFLOW, "aten.avg_pool*", "aten.embedding_dense_backward", "aten.einsum"),
    *_listed("numpy differs", "special *", OVERFLOW, "aten.*embedding_bag", "quantized_decomposed.dequantize_per_channel_group"),
    *_listed("differs on *", "special *", OVERFLOW, "aten.add.*", "aten.rsub.*", "aten.sub.*"),
    *_listed("differs on *", "alpha = 10000000000.0", OVERFLOW, "aten.rsub.Tensor"),
    *_listed("numpy differs", "special *", STATISTICS, "aten.*_norm*", "aten.std_mean.*", "aten.var_mean.*"),
    *_listed("numpy differs", "special *", ZERO_WEIGHTS, "aten.conv*", "aten.*upsample_*linear*", "aten.*upsample_bicubic*"),
    *_listed("numpy differs", "special *", ZERO_WEIGHTS, "aten.grid_sampler*"),
    *_listed("differs on *", "special *", ROW_BY_ROW, "aten.*upsample_*linear*", "aten.*upsample_bicubic*", "aten.conv_transpose3d.input"),
    *_listed("differs on *", "special *", ROW_BY_ROW, "aten.*avg_pool2d_backward"),
    # Precision.
    *_listed("row refuses", "* uint8", BYTES, "aten.*upsample_bi*"),
    *_listed("numpy differs", "in float64", DOUBLES, "aten.*upsample_*.vec"),
    *_listed("numpy differs", "extent *", DOUBLES, "aten._upsample_*_aa*"),
    *_listed("differs on *", "in float64", DOUBLES, "aten._upsample_*_aa*"),
    *_listed("differs on *", "out_dtype = float64", DOUBLES, "quantized_decomposed.dequantize_per_tensor*"),
    *_listed("numpy differs", "in *float16", OWN_STEPS, "aten.grid_sampler_[23]d", "aten.rnn_relu.input"),
    *_listed("numpy differs", "special int*", OWN_STEPS, "aten.special_airy_ai"),
    *_listed("differs on *", "in *float16", OWN_STEPS, "aten.rnn_relu.input", "quantized_decomposed.quantize_per_token"),
    *_listed("numpy differs", "tensor * in *", OWN_STEPS, "aten.cosine_similarity", "aten.einsum", "aten.ldexp.Tensor"),
    *_listed("numpy differs", "*float16", OWN_STEPS, "quantized_decomposed.choose_qparams*"),
    *_listed("differs on *", "* bfloat16", OWN_STEPS, "quantized_decomposed.mixed_linear"),
    *_listed("differs on *", "tensor 1 in *float16", OWN_STEPS, "quantized_decomposed.dequantize_per_[ct]*"),
    *_listed("numpy differs", "alpha = 10000000000.0", NOT_A_NUMBER, "aten.add.Tensor", "aten.sub.Tensor"),
    *_listed("numpy differs", "* = inf", NOT_A_NUMBER, "aten.addmm", "aten.addbmm", "aten.celu", "aten.elu", "aten.softplus"),
    *_listed("numpy differs", "* = nan", NOT_A_NUMBER, "aten.celu", "aten.elu", "aten.softplus"),
    *_listed("row refuses", "step = inf", NOT_A_NUMBER, "aten.arange.start_step"),
    *_listed("does not compile on *", "other = 10000000000.0", NOT_A_NUMBER, "aten.where.ScalarOther"),
    # No elements.
    *_listed("numpy differs", "extent *", NO_ELEMENTS, "aten.addmv", "aten.native_dropout", "aten.pixel_unshuffle", "aten.conv1d.padding"),
    *_listed("numpy differs", "tensor * empty", NO_ELEMENTS, "aten.addmv", "aten.native_dropout", "aten.pixel_unshuffle"),
    *_listed("row refuses", "extent * is 0", NO_ELEMENTS, "aten.median", "aten.nanmedian"),
    *_listed("row refuses", "tensor 0 empty", NO_ELEMENTS, "aten.median", "aten.nanmedian"),
    *_listed("torch refuses", "extent * is 0", NO_ELEMENTS, "aten.put", "aten.unbind.int"),
    *_listed("torch refuses", "tensor 0 empty", NO_ELEMENTS, "aten.put", "aten.unbind.int"),
    *_listed("row refuses", "*int*", FEWER_CHECKS, "aten.log_normal", "aten.normal_functional"),
    *_listed("row refuses", "in bool", FEWER_CHECKS, "aten.log_normal", "aten.normal_functional"),
    *_listed("row refuses", "extent * is 0", FEWER_CHECKS, "aten.*conv*", "aten.grid_sampler*", "aten.histc"),
    *_listed("row refuses", "tensor * empty", FEWER_CHECKS, "aten.histc", "aten.convolution_backward", "aten.scaled_dot_product_attention"),
    *_listed("row refuses", "tensor 0 empty", FEWER_CHECKS, "aten._transformer_encoder_layer_fwd"),
    *_listed("row refuses", "extent 8 is 0", FEWER_CHECKS, "aten._transformer_encoder_layer_fwd"),
    *_listed("row refuses", "tensor 4 in *", NOT_CHECKED, "aten._native_multi_head_attention"),
    *_listed("row refuses", "tensor 2 in *", NOT_CHECKED, "aten._transformer_encoder_layer_fwd"),
    *_listed("numpy differs", "extent * is 0", NO_ELEMENTS, "aten._native_multi_head_attention"),
    *_listed("row refuses", "in *", FEWER_CHECKS, "aten.*softmax*", "aten._pdist_forward", "aten.mm", "aten.chain_matmul", "aten.kthvalue"),
    *_listed("row refuses", "*int*", FEWER_CHECKS, "aten.randn_like"),
    *_listed("row refuses", "*bool*", FEWER_CHECKS, "aten.randn_like"),
    *_listed("row refuses", "special *int*", FEWER_CHECKS, "aten.*softmax*", "aten._pdist_forward"),
    *_listed("row refuses", "*float16", FEWER_CHECKS, "aten._linalg_svd"),
    *_listed("row refuses", "in *", FEWER_CHECKS, "aten._linalg_eigh"),
    *_listed("row refuses", "special *", FEWER_CHECKS, "aten._linalg_eigh"),
    *_listed("row refuses", "dtype = *", FEWER_CHECKS, "aten.*softmax.int", "aten.cumprod", "aten.cumsum", "aten.rand*_like"),
    # Shapes.
    *_listed("row refuses", "*", NOT_CHECKED, "aten._fused_rms_norm"),
    *_listed("row refuses", "extent * is 1", NOT_CHECKED, "aten.convolution_backward", "aten.pad"),
    *_listed("row refuses", "tensor * broadcast", NOT_CHECKED, "aten.rnn_*.input"),
    *_listed("row refuses", "* without dimensions", NOT_CHECKED, "aten.scaled_dot_product_attention", "aten.index_put"),
    *_listed("row refuses", "is_causal = True", NOT_CHECKED, "aten.scaled_dot_product_attention"),
    *_listed("row refuses", "extent 2 is 0", NOT_CHECKED, "aten.scaled_dot_product_attention"),
    *_listed("numpy differs", "extent * is 0", NOT_CHECKED, "aten.scaled_dot_product_attention"),
    *_listed("numpy differs", "tensor 2 empty", NOT_CHECKED, "aten.scaled_dot_product_attention"),
    *_listed("numpy differs", "transposed", STRIDES, "aten.as_strided_scatter"),
    *_listed("torch refuses", "tensor 0 without dimensions", OTHER_PATH, "aten.index_reduce"),
    *_listed("numpy differs", "transposed", STRIDES, "aten.as_strided", "aten.native_group_norm_backward"),
    *_listed("numpy differs", "extent *", OF_PASSES, "fused.*"),
    *_listed("numpy differs", "tensor * empty", OF_PASSES, "fused.*"),
    *_listed("numpy differs", "tensor * broadcast", OF_PASSES, "fused.*attention"),
    *_listed("fails on flambeau", "*", OF_PASSES, "fused.*"),
    *_listed("differs on flambeau", "special float*", ZERO_WEIGHTS, "fused.*attention"),
    *_listed("row refuses", "tensor * in *", NOT_CHECKED, "aten.searchsorted.Tensor", "aten.bucketize.Tensor"),
    # Types.
    *_listed("row refuses", "*float16", FEWER_TYPES, "aten.nextafter", "aten.complex", "aten.view_as_complex"),
    *_listed("row refuses", "in bool", FEWER_TYPES, "aten.index_reduce"),
    *_listed("row refuses", "tensor * in *", FEWER_TYPES, "aten.as_strided_scatter"),
    *_listed("row refuses", "extent 3 is 0", NO_ELEMENTS, "aten.fractional_max_pool2d"),
    *_listed("row refuses", "*float16", FEWER_TYPES, "aten.fractional_max_pool[23]d", "aten.histogram.bin*"),
    *_listed("row refuses", "tensor 0 *", NOT_CHECKED, "aten.fractional_max_pool[23]d"),
    *_listed("row refuses", "in bool", FEWER_TYPES, "aten.searchsorted.Scalar", "aten.bucketize.Scalar"),
    *_listed("row refuses", "tensor * in *", FEWER_TYPES, "aten.instance_norm", "aten.lstm_cell"),
    *_listed("row refuses", "tensor * in *", OTHER_PATH, "aten.convolution_backward", "aten.rnn_*.input", "aten.index_put"),
    *_listed("torch refuses", "* int64", OTHER_PATH, "aten.convolution_backward"),
    *_listed("torch refuses", "tensor 1 in uint8", OTHER_PATH, "aten.index_put"),
    *_listed("torch refuses", "weight = None", OTHER_PATH, "aten.native_group_norm_backward"),
    # Quantised numbers.
    *_listed("row refuses", "*", QUANTISED, "quantized_decomposed.*"),
    *_listed("numpy differs", "eps = 0.0", NOT_A_NUMBER, "quantized_decomposed.choose_qparams.tensor"),
    *_listed("numpy differs", "special *", NOT_A_NUMBER, "quantized_decomposed.choose_qparams.tensor"),
    *_listed("numpy differs", "out_scale = 0.0", NOT_A_NUMBER, "quantized_decomposed.add"),
    # Data.
    *_listed("numpy differs", "special *float*", UNORDERED, "aten.mode"),
    *_listed("numpy differs", "extent *", DATA, "aten.index_add"),
    *_listed("numpy differs", "tensor * empty", DATA, "aten.index_add"),
    *_listed("numpy differs", "tensor 2 in *", DATA, "aten.index.Tensor"),
    *_listed("torch refuses", "tensor 0 in uint8", DATA, "aten.masked_fill.Tensor"),
    *_listed("torch refuses", "special *", DATA, "quantized_decomposed.quantize_per_channel_group"),
    *_listed("numpy differs", "special *", DATA, "torchvision.roi_align"),
    *_listed("numpy differs", "extent 2 is *", DATA, "torchvision.roi_align"),
    *_listed("numpy differs", "tensor 0 empty", DATA, "torchvision.roi_align"),
    *_listed("numpy differs", "*", TIES, "aten.kthvalue", "aten.sort.stable", "aten.argsort.stable"),
)
"""What is known to disagree."""
