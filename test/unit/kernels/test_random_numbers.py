"""Random numbers: Philox's own, the same in the C runtime and in the interpreter, chosen by a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch_programs import export
from xdsl.dialects.builtin import f32

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.aten.library.philox import RandomStream, drawing
from flambeau.dialects.aten.random_numbers.distributions import CauchyOp, ExponentialOp, GeometricOp, LogNormalOp, MultinomialOp, UniformOp
from flambeau.dialects.aten.random_numbers.training import AlphaDropoutOp, FeatureDropoutOp, RreluOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import import_program
from flambeau.runtime import Runtime
from flambeau.runtime.interpreter.function_runner import FunctionProgram
from flambeau.runtime.interpreter.method_runner import MethodProgram

pytestmark = pytest.mark.every_library


def drawn(x: Tensor) -> tuple[Tensor, ...]:
    """Each operator that draws, in several types."""
    return (
        torch.rand(3, 5),
        torch.rand(7, dtype=torch.float64),
        torch.rand(6, dtype=torch.float16),
        torch.randn(5, 3),
        torch.randn(4, dtype=torch.float64),
        torch.rand_like(x) + torch.randn_like(x),
        torch.randint(-3, 9, (11,)),
        torch.randint_like(x, 2, 7),
        torch.randperm(9),
        F.dropout(x, 0.25, training=True),
        torch.bernoulli(x.abs().clamp(0, 1)),
        F.alpha_dropout(x, 0.25, training=True),
        F.dropout2d(x.reshape(1, 4, 3, 2), 0.5, training=True),
        F.rrelu(x, 0.1, 0.4, training=True),
        torch.zeros(4, 5).normal_(2.0, 0.5),
        torch.zeros(9).uniform_(-1, 3),
        torch.zeros(9, dtype=torch.int64).geometric_(0.2),
        torch.zeros(9, dtype=torch.float64).exponential_(2.0),
        torch.zeros(9, dtype=torch.float16).cauchy_(),
        torch.zeros(9).log_normal_(),
        torch.multinomial(x.abs(), 3),
        torch.multinomial(x.abs(), 9, replacement=True),
        torch.view_as_real(torch.randn(5, dtype=torch.complex64)),
        torch.view_as_real(torch.rand(3, dtype=torch.complex128)),
    )


def test_the_words_are_those_of_the_published_cipher() -> None:
    assert [hex(word) for word in RandomStream().words(4).tolist()] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]


def test_the_interpreter_and_the_c_runtime_draw_the_same_numbers() -> None:
    context = FlambeauContext()
    compilation = Compilation(import_program(export(drawn, torch.randn(4, 6)), context), context)
    compilation.to("edge")
    early = FunctionProgram(compilation.module.clone(), context)
    method = Runtime.get().load_program(compilation.emit()).load_method("forward")
    late = MethodProgram(compilation.module, context)
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)

    def check() -> list[Any]:
        results = method.execute([x])
        for other in (early.run("forward", [x]), late.run("forward", [x])):
            for got, want in zip(results, other, strict=True):
                assert got.dtype == np.asarray(want).dtype
                np.testing.assert_allclose(got.astype(np.float64), np.asarray(want, np.float64), rtol=1e-6, atol=1e-12)
        return results

    first, second = check(), check()
    assert all((a != b).any() for a, b in zip(first, second, strict=True))
    for engine in (early, late):
        engine.seed("forward", 2**40 + 7)
    method.seed(2**40 + 7)
    seeded = check()
    assert (seeded[0] != first[0]).any()
    method.reset()
    np.testing.assert_array_equal(method.execute([x])[0], seeded[0])
    method.seed(0)
    np.testing.assert_array_equal(method.execute([x])[0], first[0])


def test_numbers_are_distributed_as_they_should_be() -> None:
    stream = RandomStream(1)
    uniform, normal = stream.uniform((100_000,), f32), stream.normal((100_001,), f32)
    assert 0 <= uniform.min() < 1e-4 and 1 - 1e-4 < uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.005
    assert abs(normal.mean()) < 0.02 and abs(normal.std() - 1) < 0.01 and abs((normal**3).mean()) < 0.05


def test_distributions_have_their_means_and_places_are_drawn_by_their_weights() -> None:
    x = np.zeros((200, 100), np.float32)
    with drawing(RandomStream(3)):
        assert abs(UniformOp.numpy(x, -1.0, 3.0).mean() - 1) < 0.03
        assert abs(ExponentialOp.numpy(x, 2.0).mean() - 0.5) < 0.02
        assert abs(GeometricOp.numpy(x.astype(np.int64), 0.25).mean() - 4) < 0.1 and GeometricOp.numpy(x, 0.9).min() == 1
        assert abs(np.median(CauchyOp.numpy(x, 2.0, 0.5)) - 2) < 0.03
        assert abs(np.log(LogNormalOp.numpy(x, 1.0, 2.0)).std() - 2) < 0.05
        weights = np.array([1.0, 0.0, 3.0, 0.0])
        found = np.bincount(MultinomialOp.numpy(weights, 20_000, True), minlength=4)
        assert found[1] == found[3] == 0 and abs(found[2] / found[0] - 3) < 0.2
        pairs = [MultinomialOp.numpy(weights, 2, False).tolist() for _ in range(400)]
        assert {tuple(pair) for pair in pairs} == {(0, 2), (2, 0)} and 60 < pairs.count([0, 2]) < 140
        kept = AlphaDropoutOp.numpy(np.random.default_rng(0).standard_normal((200, 200)), 0.3, True)
        assert abs(kept.mean()) < 0.03 and abs(kept.std() - 1) < 0.03
        channels = FeatureDropoutOp.numpy(np.ones((40, 50, 3, 3)), 0.25, True)
        assert np.unique(channels.sum((2, 3))).tolist() == [0.0, 12.0] and abs(channels.mean() - 1) < 0.05
        slopes = RreluOp.numpy(np.full(20_000, -1.0), 0.2, 0.4, True)
        assert -0.4 <= slopes.min() < -0.39 and -0.21 < slopes.max() <= -0.2
