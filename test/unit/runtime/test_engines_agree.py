"""Torch, the interpreter and the C runtime compute the same from small modules, or all refuse; some inputs are NaN, infinite or 0."""

from __future__ import annotations

import re

import pytest
from engine_results import differences

MODULES = [
    # Numbers that a type does not hold are cut, or wrap around.
    "aten.threshold(%0) {threshold = -0.5, value = 2.7} : (tensor<5xi32>) -> tensor<5xi32>",
    "aten.threshold(%0) {threshold = 1.0e10, value = 0.5} : (tensor<5xf16>) -> tensor<5xf16>",
    "aten.hardtanh(%0) {min_val = 100} : (tensor<5xi32>) -> tensor<5xi32>",
    "aten.hardtanh(%0) {min_val = 9007199254740993, max_val = 9007199254740993} : (tensor<5xi64>) -> tensor<5xi64>",
    'aten.hardtanh(%0) {max_val = "nan"} : (tensor<7xf32>) -> tensor<7xf32>',
    'aten.hardtanh(%0) {min_val = "nan"} : (tensor<7xf64>) -> tensor<7xf64>',
    "aten.hardtanh(%0) {min_val = 1, max_val = -1} : (tensor<7xf32>) -> tensor<7xf32>",
    "aten.hardtanh(%0) {min_val = 1, max_val = -1} : (tensor<7xf64>) -> tensor<7xf64>",
    "aten.gt.Scalar(%0) {other = -7} : (tensor<5xui8>) -> tensor<5xi1>",
    "aten.le.Scalar(%0) {other = 300} : (tensor<5xui8>) -> tensor<5xi1>",
    "aten.eq.Tensor(%0, %1) : (tensor<5xi8>, tensor<i64>) -> tensor<5xi1>",
    "aten.clamp(%0) {max = -1} : (tensor<5xui8>) -> tensor<5xui8>",
    'aten.div.Scalar_mode(%0) {other = -7, rounding_mode = "floor"} : (tensor<5xui8>) -> tensor<5xui8>',
    "aten.remainder.Scalar(%0) {other = 256} : (tensor<5xui8>) -> tensor<5xui8>",
    "aten.addcmul(%0, %0, %0) {value = 2.7} : (tensor<5xi32>, tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>",
    # Integers divided by 0 are refused, unless there are none.
    "aten.floor_divide(%0, %0) : (tensor<9xi64>, tensor<9xi64>) -> tensor<9xi64>",
    'aten.div.Tensor_mode(%0, %0) {rounding_mode = "trunc"} : (tensor<9xi16>, tensor<9xi16>) -> tensor<9xi16>',
    'aten.div.Scalar_mode(%0) {other = 0, rounding_mode = "trunc"} : (tensor<0x2xi16>) -> tensor<0x2xi16>',
    "aten.fmod.Tensor(%0, %1) : (tensor<i8>, tensor<9xi1>) -> tensor<9xi8>",
    "aten.remainder.Scalar_Tensor(%0) {self = 0} : (tensor<9xi32>) -> tensor<9xi32>",
    "aten.remainder.Scalar(%0) {other = 0} : (tensor<9xi32>) -> tensor<9xi32>",
    # Reductions.
    "aten.any.dims(%0) {dim = []} : (tensor<3x1x3xf32>) -> tensor<3x1x3xi1>",
    "aten.all.dims(%0) {dim = [], keepdim = true} : (tensor<3x1x3xf32>) -> tensor<3x1x3xi1>",
    "aten.prod(%0) {dtype = i1} : (tensor<5xf32>) -> tensor<i1>",
    "aten.prod.dim_int(%0) {dim = 1, dtype = i1} : (tensor<5x4xf32>) -> tensor<5xi1>",
    "aten.sum.dim_IntList(%0) {dim = [1], dtype = i1} : (tensor<5x4xf32>) -> tensor<5xi1>",
    "aten._weight_norm(%0, %1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>",
    'aten.scatter_reduce.two(%0, %1, %2) {dim = 0, reduce = "prod"} : (tensor<3xi1>, tensor<2xi64>, tensor<2xi1>) -> tensor<3xi1>',
    "aten.histc(%0) {bins = 4} : (tensor<9xf32>) -> tensor<4xf32>",
    # A mask beside other indices.
    "aten.index_put(%0, [%1, %2], %3) : (tensor<3x4xf32>, tensor<3xi1>, tensor<1xi64>, tensor<f32>) -> tensor<3x4xf32>",
    "aten.index_put(%0, [%2, %1], %3) : (tensor<3x4xf32>, tensor<i64>, tensor<4xi1>, tensor<f32>) -> tensor<3x4xf32>",
    "aten.index_put(%0, [none, %1], %3) : (tensor<3x4x2xf32>, tensor<4xi1>, tensor<f32>) -> tensor<3x4x2xf32>",
    "aten.index_put(%0, [%1, none, %2], %3) : (tensor<3x4x2xf32>, tensor<3xi1>, tensor<1xi64>, tensor<1xf32>) -> tensor<3x4x2xf32>",
    "aten.index_put(%0, [%1, %2], %3) {accumulate = true} : (tensor<3x4x2xf32>, tensor<3x4xi1>, tensor<1xi64>, tensor<1xf32>)"
    " -> tensor<3x4x2xf32>",
    # Pools to nothing, and of nothing.
    "aten.adaptive_avg_pool1d(%0) {output_size = [0]} : (tensor<2x3x4xi16>) -> tensor<2x3x0xi16>",
    "aten._adaptive_avg_pool3d(%0) {output_size = [2, 0, 1]} : (tensor<2x3x4x4xf32>) -> tensor<2x2x0x1xf32>",
    "aten.adaptive_avg_pool2d(%0) {output_size = [1, 1]} : (tensor<2x3x0xf32>) -> tensor<2x1x1xf32>",
    # Resampling.
    "aten.upsample_bilinear2d(%0) {output_size = [1, 3], align_corners = true, scales_h = -1.0} : (tensor<1x2x5x2xf64>)"
    " -> tensor<1x2x1x3xf64>",
    "aten._upsample_bilinear2d_aa(%0) {output_size = [8, 2], align_corners = false} : (tensor<1x2x5x7xf32>) -> tensor<1x2x8x2xf32>",
    "aten._upsample_bilinear2d_aa(%0) {output_size = [3, 4], align_corners = true, scales_w = -1.0} : (tensor<1x2x9x2xf32>)"
    " -> tensor<1x2x3x4xf32>",
    # Sequences.
    'aten.linspace() {start = "inf", end = "nan", steps = 1, dtype = bf16} : () -> tensor<1xbf16>',
    'aten.linspace() {start = -1, end = "inf", steps = 7} : () -> tensor<7xf32>',
]


def module(operation: str) -> str:
    """A module of one operation on arguments."""
    given, _, result = operation.rpartition(" : (")[2].partition(") -> ")
    names = re.findall(r"%\d", operation.partition("(")[2].partition(")")[0])
    types = dict(zip(names, given.split(", "), strict=True)) if given else {}
    arguments = ", ".join(f"{name}: {kind}" for name, kind in types.items())
    return f"func.func @forward({arguments}) -> {result} {{\n  %r = {operation}\n  func.return %r : {result}\n}}"


@pytest.mark.parametrize("operation", MODULES)
def test_engines_agree(operation: str) -> None:
    wrong, word = differences(module(operation))
    assert not wrong
    assert not word.startswith("refused")
