"""Kernels of the flambeau:: namespace against torch: packed linear, packed convolution, attention, norms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from kernel_harness import Out, dim_order, run

pytestmark = pytest.mark.every_library

torch.set_num_threads(1)


def gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    return F.gelu(x, approximate="tanh")


ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "none": torch.Tensor.clone,
    "relu": torch.relu,
    "relu6": F.relu6,
    "gelu": F.gelu,
    "gelu_tanh": gelu_tanh,
    "silu": F.silu,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def call(name: str, *args: Any, like: torch.Tensor, dynamic: bool = False) -> torch.Tensor:
    return run(name, *args, outs=[Out(tuple(like.shape), torch.float32, dim_order(like), dynamic)])[0]


def close(actual: torch.Tensor, expected: torch.Tensor, limit: float = 2e-6, sums: torch.Tensor | None = None) -> None:
    """Results differ by `limit` of the largest; of the largest of `sums`, where an activation makes small results of large sums."""
    largest = expected if sums is None else sums
    torch.testing.assert_close(
        actual, expected.float(), rtol=limit, atol=limit * max(1.0, float(largest.abs().max()) if largest.numel() else 1.0)
    )


def pack(weight: torch.Tensor) -> torch.Tensor:
    """[n, k] -> [ceil(n / 16), k, 16]."""
    n, k = weight.shape
    padded = torch.zeros((n + 15) // 16 * 16, k)
    padded[:n] = weight
    return padded.reshape((n + 15) // 16, 16, k).permute(0, 2, 1).contiguous()


def pack_conv(weight: torch.Tensor, depthwise: bool) -> torch.Tensor:
    if depthwise:
        channels = weight.shape[0]
        padded = torch.zeros(weight.shape[2] * weight.shape[3], (channels + 15) // 16 * 16)
        padded[:, :channels] = weight.reshape(channels, -1).T
        return padded
    return pack(weight.permute(0, 2, 3, 1).reshape(weight.shape[0], -1))


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 7, 13, 48, 200, 401])
def test_linear_rows(rows: int) -> None:
    for n, k in [(1, 1), (5, 3), (16, 8), (17, 33), (48, 64), (65, 100), (130, 7)]:
        x, w, b = random(rows, k), random(n, k), random(n)
        expected = F.linear(x.double(), w.double(), b.double())
        close(call("flambeau::linear.out", x, pack(w), b, None, n, "none", like=expected), expected, 4e-6)


@pytest.mark.parametrize("k", [0, 1, 383, 384, 576, 577, 1000, 3072])
def test_linear_depth_blocks(k: int) -> None:
    x, w, b, r = random(9, k), random(37, k), random(37), random(9, 37)
    expected = torch.relu(F.linear(x.double(), w.double(), b.double()) + r)
    close(call("flambeau::linear.out", x, pack(w), b, r, 37, "relu", like=expected), expected, 1e-5)


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_linear_activations(activation: str) -> None:
    for n in (16, 33):
        x, w, b, r = random(2, 11, 24) * 2, random(n, 24), random(n), random(2, 11, n)
        for bias in (b, None):
            for addend in (r, None):
                product = F.linear(x.double(), w.double(), None if bias is None else bias.double())
                expected = ACTIVATIONS[activation](product if addend is None else product + addend)
                close(call("flambeau::linear.out", x, pack(w), bias, addend, n, activation, like=expected), expected)


def test_activations_keep_nan_and_limits() -> None:
    x = torch.tensor([[float("nan")], [float("inf")], [-float("inf")], [0.0], [-100.0], [100.0]])
    for name, function in ACTIVATIONS.items():
        # One by one: PyTorch's AVX-512 code for gelu gives NaN for infinities, its scalar code does not.
        expected = torch.stack([function(row) for row in x])
        result = call("flambeau::linear.out", x, pack(torch.ones(1, 1)), None, None, 1, name, like=expected)
        torch.testing.assert_close(result, expected, rtol=1e-6, atol=1e-30, equal_nan=True)


# Of Winograd's algorithm: as the kernel chooses, none, of 2 and of 4.
TILES = (-1, 0, 2, 4)

CONVOLUTIONS = [
    # channels, out, size, kernel, stride, padding, dilation
    (3, 8, (9, 11), (3, 3), (1, 1), (1, 1), (1, 1)),
    (3, 32, (33, 35), (3, 3), (2, 2), (1, 1), (1, 1)),
    (16, 20, (7, 7), (1, 1), (1, 1), (0, 0), (1, 1)),
    (16, 20, (7, 8), (1, 1), (2, 2), (0, 0), (1, 1)),
    (5, 17, (12, 10), (5, 3), (2, 1), (2, 0), (1, 1)),
    (8, 16, (13, 13), (3, 3), (1, 1), (2, 2), (2, 2)),
    (4, 7, (10, 300), (3, 3), (1, 1), (1, 1), (1, 1)),
    (3, 16, (40, 40), (7, 7), (2, 2), (3, 3), (1, 1)),
    (2, 3, (4, 4), (4, 4), (1, 1), (0, 0), (1, 1)),
    (2, 3, (2, 2), (3, 3), (1, 1), (4, 5), (1, 2)),
    (70, 33, (6, 6), (3, 3), (1, 1), (1, 1), (1, 1)),
    (130, 16, (6, 5), (3, 3), (3, 2), (1, 1), (1, 1)),
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_conv2d(case: tuple[Any, ...]) -> None:
    channels, out, size, kernel, stride, padding, dilation = case
    for batch in (1, 2):
        x = random(batch, channels, *size).to(memory_format=torch.channels_last)
        w, b = random(out, channels, *kernel), random(out)
        product = F.conv2d(x.double(), w.double(), b.double(), stride, padding, dilation)
        r = random(*product.shape).contiguous(memory_format=torch.channels_last)
        for addend, activation in [(None, "none"), (r, "relu6"), (r, "silu")]:
            expected = ACTIVATIONS[activation](product if addend is None else product + addend).contiguous(
                memory_format=torch.channels_last
            )
            args = (x, pack_conv(w, False), b, addend, kernel, stride, padding, dilation, 1, out, activation)
            # Where tiles are impossible, the definition computes it, whatever is asked for.
            found = [call("flambeau::conv2d.out", *args, tile, like=expected) for tile in TILES]
            close(found[0], expected, 4e-6, product)
            assert all(torch.equal(result, found[0]) for result in found)


TILED = [
    # channels, out, size, padding: kernels of 3 x 3 and stride 1, in tiles of 4 and of 2, whole and cut at each side
    (64, 48, (24, 24), (1, 1)),
    (32, 64, (31, 45), (1, 1)),
    (16, 16, (70, 37), (1, 1)),
    (64, 80, (3, 94), (2, 0)),
    (176, 32, (17, 15), (0, 2)),
    (320, 32, (14, 14), (1, 1)),
    (96, 80, (8, 8), (1, 1)),
    (80, 96, (9, 6), (1, 2)),
]


@pytest.mark.parametrize("case", TILED, ids=str)
def test_conv2d_in_tiles(case: tuple[Any, ...]) -> None:
    """Rounds by at most 1e-5 of the largest sum, with each choice of tiles and each epilogue, and of planes."""
    channels, out, size, padding = case
    for batch, with_bias in ((1, True), (3, False)):
        x = random(batch, channels, *size).to(memory_format=torch.channels_last)
        w, b = random(out, channels, 3, 3), random(out) if with_bias else None
        product = F.conv2d(x.double(), w.double(), None if b is None else b.double(), padding=padding)
        limit = 1e-5 * float(product.abs().max())
        planes = call(
            "aten::convolution.out", x.contiguous(), w, b, [1, 1], padding, [1, 1], False, [0], 1, like=product.float().contiguous()
        )
        assert float((planes - product).abs().max()) <= limit
        r = random(*product.shape).contiguous(memory_format=torch.channels_last)
        for addend, activation in [(None, "none"), (r, "relu"), (r, "relu6"), (None, "silu")]:
            expected = ACTIVATIONS[activation](product if addend is None else product + addend)
            expected = expected.contiguous(memory_format=torch.channels_last)
            args = (x, pack_conv(w, False), b, addend, (3, 3), (1, 1), padding, (1, 1), 1, out, activation)
            for tile in TILES:
                found = call("flambeau::conv2d.out", *args, tile, like=expected)
                assert float((found - expected).abs().max()) <= limit, tile


@pytest.mark.parametrize("channels", [8, 16, 19, 40, 5])
@pytest.mark.parametrize("kernel", [(3, 3), (5, 5), (1, 1), (3, 5), (7, 7)])
def test_conv2d_depthwise(channels: int, kernel: tuple[int, int]) -> None:
    for size in [(9, 11), (5, 4), (14, 14), (2, 2)]:
        for stride, dilation, padding in [
            ((1, 1), (1, 1), (kernel[0] // 2, kernel[1] // 2)),
            ((2, 2), (1, 1), (kernel[0] // 2, kernel[1] // 2)),
            ((1, 2), (2, 1), (6, 7)),
            ((3, 1), (1, 2), (8, 9)),
            ((1, 1), (1, 1), (0, 0)),
        ]:
            if any(s + 2 * p < d * (k - 1) + 1 for s, p, d, k in zip(size, padding, dilation, kernel, strict=True)):
                continue
            x = random(2, channels, *size).to(memory_format=torch.channels_last)
            w, b = random(channels, 1, *kernel), random(channels)
            product = F.conv2d(x.double(), w.double(), b.double(), stride, padding, dilation, channels)
            r = random(*product.shape).contiguous(memory_format=torch.channels_last)
            for addend, activation in [(None, "none"), (r, "relu6"), (r, "hardswish")]:
                expected = ACTIVATIONS[activation](product if addend is None else product + addend).contiguous(
                    memory_format=torch.channels_last
                )
                args = (x, pack_conv(w, True), b, addend, kernel, stride, padding, dilation, channels, channels, activation, -1)
                close(call("flambeau::conv2d.out", *args, like=expected), expected, 2e-6)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None, causal: bool, scale: float) -> torch.Tensor:
    """The definition, in float64; rows without an admitted key are zero."""
    group = q.shape[-3] // k.shape[-3]
    scores = q.double() @ k.double().repeat_interleave(group, -3).transpose(-1, -2) * scale
    if causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -torch.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    weights = torch.softmax(scores, -1)
    weights = torch.where((scores == -torch.inf).all(-1, keepdim=True), torch.zeros((), dtype=weights.dtype), weights)
    return weights @ v.double().repeat_interleave(group, -3)


def check_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None, causal: bool, permuted: bool) -> None:
    scale = q.shape[-1] ** -0.5
    expected = attention(q, k, v, mask, causal, scale)
    if permuted:
        q, k, v, expected = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v, expected))
    args = (q, k, v, mask, causal, scale, q.shape[1] != k.shape[1])
    close(call("flambeau::scaled_dot_product_attention.out", *args, like=expected), expected, 3e-6)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 17, 48, 49, 130])
def test_attention_lengths(length: int) -> None:
    for keys, width, value_width in [(1, 8, 8), (17, 16, 24), (128, 64, 64), (129, 5, 37), (300, 32, 32)]:
        q, k, v = random(2, 3, length, width), random(2, 3, keys, width, seed=1), random(2, 3, keys, value_width, seed=2)
        for causal in (False, True):
            check_attention(q, k, v, None, causal, False)
        check_attention(q, k, v, None, True, True)


@pytest.mark.parametrize("length", [2, 20, 140])
def test_attention_masks(length: int) -> None:
    q, k, v = random(2, 4, length, 16), random(2, 2, 150, 16, seed=1), random(2, 2, 150, 16, seed=2)
    for shape in [(2, 4, length, 150), (2, 1, 1, 150), (length, 150), (1, 1, length, 1), (150,), (1, 4, length, 150)]:
        additive = random(*shape) * 3
        check_attention(q, k, v, additive, False, True)
        check_attention(q, k, v, additive > 0, False, False)
        check_attention(q, k, v, torch.where(additive > 0, 0.0, -torch.inf), True, False)
    none_admitted = torch.ones(length, 150, dtype=torch.bool)
    none_admitted[0] = False
    none_admitted[1, 20:] = False
    none_admitted[1, :140] = False
    check_attention(q, k, v, none_admitted, False, False)


def test_attention_of_empty_and_large_values() -> None:
    q, k, v = random(1, 2, 5, 8) * 100, random(1, 2, 200, 8, seed=1) * 100, random(1, 2, 200, 8, seed=2)
    check_attention(q, k, v, None, False, False)
    check_attention(q, k[:, :, :0], v[:, :, :0], None, False, False)
    q[0, 0, 0, 0] = torch.nan
    scale = 8**-0.5
    result = call("flambeau::scaled_dot_product_attention.out", q, k, v, None, False, scale, False, like=torch.empty(1, 2, 5, 8))
    assert result[0, 0, 0].isnan().all() and result[0, 0, 1:].isfinite().all() and result[0, 1].isfinite().all()


@pytest.mark.parametrize("length", [1, 3, 5, 60])
def test_attention_over_a_cache(length: int) -> None:
    for places, heads, width in [(7, 1, 8), (300, 2, 16), (600, 4, 64)]:
        q, k, v = random(2, 4, length, width), random(2, heads, places, width, seed=1), random(2, heads, places, width, seed=2)
        for position in (0, 1, 4, 255, 290, 700, -2, -(2**60), 2**60):
            # What is not written yet may be anything.
            written = min(max(position + length, 0), places)
            k[:, :, written:] = v[:, :, written:] = torch.nan
            for window in (None, 1, 5, 260):
                own = (torch.arange(length) + position)[:, None]
                mask = (torch.arange(places) <= own) & (torch.arange(places) > own - (window or 2**62))
                expected = attention(q, k.nan_to_num(), v.nan_to_num(), mask, False, 0.3)
                args = (q, k, v, torch.tensor([position]), 0.3, window)
                close(call("flambeau::cached_attention.out", *args, like=expected), expected, 3e-6)
            k, v = random(2, heads, places, width, seed=1), random(2, heads, places, width, seed=2)


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 31), (2, 5, 64), (4, 1000), (2, 3, 4, 5)])
def test_norms(shape: tuple[int, ...]) -> None:
    for rank in range(1, len(shape) + 1):
        size = list(shape[-rank:])
        x, r, w, b = random(*shape) * 3 + 1, random(*shape, seed=5), random(*size), random(*size, seed=1)
        for addend in (None, r):
            total = (x if addend is None else x + addend).double()
            for weight, bias in [(w, b), (w, None), (None, None)]:
                wide = None if weight is None else weight.double()
                expected = F.layer_norm(total, size, wide, None if bias is None else bias.double(), 1e-5)
                close(call("flambeau::layer_norm.out", x, addend, size, weight, bias, 1e-5, like=expected), expected, 4e-6)
                expected = F.rms_norm(total, size, wide, 1e-6)
                close(call("flambeau::rms_norm.out", x, addend, size, weight, 1e-6, like=expected), expected, 4e-6)
