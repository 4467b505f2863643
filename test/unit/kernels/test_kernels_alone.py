"""Each kernel alone, without passes: on samples of its row, in several layouts and over its operands, against the row's `numpy`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
import torch
from kernel_harness import KernelError, Out, dim_order, kernels, libraries, run, schema_of, using
from row_exceptions import KNOWN, NOT_A_NUMBER, OVERFLOW, OWN_STEPS, Known
from row_harness import assert_close, from_torch, to_torch
from row_walk import UNINITIALIZED, Case, cases_of
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.exec.row_kernels import row_kernels
from flambeau.dialects.ir.tensor_types import dtype_of, element_of, is_static, shape_of
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_operations import arrays_of, meaning, operation

SHARE = 0.1
"""Of the variations of a row."""
CONTIGUOUS = "must be contiguous"
LAYOUT = "laid out as the input"
WEIGHT, BIAS = "the weight must have", "the bias must have"
ALIKE = "the operands and the result must be laid out alike"
REFUSED: dict[str, tuple[str, ...]] = {
    "aten::_fft_c2c.out": (CONTIGUOUS,),
    "aten::_fft_c2r.out": (CONTIGUOUS,),
    "aten::_fft_r2c.out": (CONTIGUOUS,),
    "aten::_linalg_eigh.eigenvalues": (CONTIGUOUS,),
    "aten::_linalg_svd.U": (CONTIGUOUS,),
    "aten::_native_batch_norm_legit.no_stats_out": ("only training mode has a meaning",),
    "aten::addmm.out": ("beta and alpha must be integers",),
    "aten::baddbmm.out": ("beta and alpha must be integers",),
    "aten::view_as_real_copy.out": (CONTIGUOUS,),
    "aten::geqrf.a": (CONTIGUOUS,),
    "aten::linalg_cholesky_ex.L": (CONTIGUOUS,),
    "aten::linalg_eig.out": (CONTIGUOUS,),
    "aten::linalg_householder_product.out": (CONTIGUOUS,),
    "aten::linalg_ldl_factor_ex.out": (CONTIGUOUS,),
    "aten::linalg_ldl_solve.out": (CONTIGUOUS,),
    "aten::linalg_lu_factor_ex.out": (CONTIGUOUS,),
    "aten::linalg_matrix_exp.out": (CONTIGUOUS,),
    "aten::linalg_solve_triangular.out": (CONTIGUOUS,),
    "aten::lu_unpack.out": (CONTIGUOUS,),
    "aten::linear.out": (CONTIGUOUS, BIAS, "the input needs a dimension, and the weight two"),
    "aten::max_pool2d_with_indices_backward.grad_input": (CONTIGUOUS,),
    "aten::native_group_norm.out": (CONTIGUOUS, WEIGHT),
    "aten::native_layer_norm.out": (CONTIGUOUS, WEIGHT, BIAS),
    "aten::select_scatter.out": ("the source must have self's type",),
    "aten::slice_scatter.out": ("the source must have self's type",),
    "flambeau::cached_attention.out": ("innermost", "the same number of dimensions"),
    "flambeau::conv2d.out": (CONTIGUOUS, "the input must be stored channels last", "the result must be stored channels last"),
    "flambeau::dequantize_packed.out": (CONTIGUOUS, "the weight must be packed"),
    "flambeau::dynamic_quantized_linear.out": (CONTIGUOUS, "the weight must be packed"),
    "flambeau::layer_norm.out": (CONTIGUOUS,),
    "flambeau::linear.out": (CONTIGUOUS, "the weight must be packed"),
    "flambeau::quantized_add.out": (ALIKE,),
    "flambeau::quantized_mul.out": (ALIKE,),
    "flambeau::quantized_table.out": ("the input and the result must be laid out alike",),
    "flambeau::quantized_conv2d.out": (CONTIGUOUS, "the input must be stored channels last", "the result must be stored channels last"),
    "flambeau::quantized_linear.out": (CONTIGUOUS,),
    "flambeau::rms_norm.out": (CONTIGUOUS,),
    "flambeau::weight_only_linear.out": (CONTIGUOUS, "the weight must be packed"),
    "flambeau::scaled_dot_product_attention.out": ("innermost", "the same number of dimensions", "the mask must be of bool or float32"),
    **{
        name: (CONTIGUOUS,)
        for name in kernels()
        if name.startswith("cadence::quantized_") and not name.startswith(("cadence::quantized_add", "cadence::quantized_relu"))
    },
    **{name: (ALIKE,) for name in kernels() if name.startswith(("cadence::quantized_add", "cadence::quantized_relu"))},
    **dict.fromkeys(("cadence::quantize_per_tensor.out", "cadence::dequantize_per_tensor.out"), (LAYOUT,)),
    "quantized_decomposed::choose_qparams_per_token_asymmetric.out": (CONTIGUOUS,),
    "quantized_decomposed::dequantize_per_channel.out": (LAYOUT,),
    "quantized_decomposed::dequantize_per_tensor.out": (LAYOUT,),
    "quantized_decomposed::dequantize_per_tensor.Tensor_out": (LAYOUT,),
    "quantized_decomposed::dequantize_per_token.out": (CONTIGUOUS,),
    "quantized_decomposed::embedding_4bit.dtype_out": (CONTIGUOUS,),
    "quantized_decomposed::embedding_4bit.out": (CONTIGUOUS,),
    "quantized_decomposed::embedding_byte.dtype_out": (CONTIGUOUS,),
    "quantized_decomposed::embedding_byte.out": (CONTIGUOUS,),
    "quantized_decomposed::mixed_linear.out": (CONTIGUOUS,),
    "quantized_decomposed::mixed_mm.out": (CONTIGUOUS,),
    "quantized_decomposed::quantize_per_channel.out": (LAYOUT,),
    "quantized_decomposed::quantize_per_tensor.out": (LAYOUT,),
    "quantized_decomposed::quantize_per_tensor.Tensor_out": (LAYOUT,),
    "quantized_decomposed::quantize_per_token.out": (LAYOUT, CONTIGUOUS),
}
"""What kernels say of calls that their rows allow: the passes give them other operands, or do not call them."""
DIFFERENT = (
    Known("alone", "aten.prod.dim_int", "special *float*", NOT_A_NUMBER),
    Known("alone", "aten.rsub.Tensor", "alpha = *", OVERFLOW),
    Known("alone", "quantized_decomposed.*quantize_per_token", "*float16", OWN_STEPS),
)
"""What kernels compute otherwise than their rows, beside what the walk through the passes knows."""


# As programs import them: their operands need not be of one type.
ROWS = {name: described.row.siblings["row"] for name in sorted(kernels()) if (described := row_kernels().get(name)) is not None}
KERNELS = [name for name, row in ROWS.items() if row.name not in UNINITIALIZED]


def is_known(case: Case) -> bool:
    """Whether kernels are known to compute something else for a case, or the row's numpy is known not to."""
    kinds = ("numpy differs", "differs on flambeau", "alone")
    return any(each.covers(kind, case.row.name, case.what) for each in (*KNOWN, *DIFFERENT) for kind in kinds)


class Call:
    """What a sample of its row gives a kernel."""

    def __init__(self, kernel: str, case: Case):
        self.kernel, self.case = kernel, case
        self.op, _ = operation(case.row, case.sample)
        given = dict(zip((argument.name for argument in case.row.schema.arguments), case.sample, strict=True))
        out = schema_of(kernel)
        assert out is not None
        self.inputs = [to_torch(given.get(argument.name, argument.default)) for argument in out.arguments if argument not in out.outs]

    def replaceable(self, wanted: Sequence[Array]) -> list[int]:
        """The inputs over which the kernel may write its first result."""
        places = [place for place, letter in enumerate(kernels()[self.kernel].access.decode()) if letter in "iI"]
        own = [to_torch(result) for result in wanted[:1]]
        tensors = {place: value for place in places if isinstance(value := self.inputs[place], torch.Tensor)}
        return [place for place, value in tensors.items() if [(value.shape, value.dtype)] == [(x.shape, x.dtype) for x in own]]

    def results(self, shapes: Sequence[tuple[int, ...]], innermost: int = -1, over: int | None = None) -> list[Array]:
        """What the kernel writes to outs of these shapes, with a dimension innermost; or over one of its inputs, in its dim order."""
        outs: list[Out] = []
        for kind, shape in zip(self.op.result_types, shapes, strict=True):
            order = sorted(range(len(shape)), key=lambda dim: dim == innermost) if over is None else dim_order(self.inputs[over])
            outs.append(Out(shape, getattr(torch, dtype_of(element_of(kind)).torch), order, not is_static(kind)))
        return [from_torch(result) for result in run(self.kernel, *self.inputs, outs=outs, over=over)]


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_computes_what_its_row_says(kernel: str) -> None:
    compared, met = 0, set[str]()
    for case in cases_of(ROWS[kernel].name, SHARE if kernel not in REFUSED else 1.0, 0, of_torch=False):
        try:
            call = Call(kernel, case)
        except VerifyException:
            continue
        try:
            wanted = meaning(call.op, arrays_of(case.sample))
        except Exception:
            shapes = [tuple(shape_of(kind)) for kind in call.op.result_types]
            if not is_known(case) and is_static(*call.op.result_types):
                for library in libraries():
                    with using(library), pytest.raises(KernelError):
                        call.results(shapes)
            continue
        shapes = [result.shape for result in wanted]
        ways: list[dict[str, Any]] = [{}, *({"over": place} for place in call.replaceable(wanted))]
        ways += [{"innermost": 1}] if any(len(shape) > 2 for shape in shapes) else []
        for way, library in product(ways, libraries()):
            try:
                with using(library):
                    assert_close(f"{case} {way}", call.results(shapes, **way), wanted, row=case.row)
                compared += 1
            except KernelError as error:
                texts = {text for text in REFUSED.get(kernel, ()) if text in error.message}
                assert texts, f"{case} {way}, {library}: {error.message}"
                met |= texts
            except AssertionError:
                if not is_known(case):
                    raise
    assert compared > 0
    assert met == set(REFUSED.get(kernel, ())), "no longer refused"
