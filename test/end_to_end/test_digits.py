"""A small network is trained on scikit-learn's digits and then classifies, on the C runtime, digits that it has not seen."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from digits import TRAINING, digits, trained_cnn
from engines import run_executorch

import flambeau
from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import export_module, import_program
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime


def predicted(program: bytes, images: torch.Tensor) -> np.ndarray:
    method = Runtime.get().load_program(program).load_method("forward")
    return np.array([int(method.execute([image[None].numpy()])[0].argmax()) for image in images])


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
def test_the_c_runtime_recognises_digits(target: str) -> None:
    images, labels = digits()[0][TRAINING:], digits()[1][TRAINING:].numpy()
    context = FlambeauContext()
    program = Compilation(export_module(trained_cnn(), (images[:1],), context), context, PipelineOptions(target=target)).emit()
    found = predicted(program, images)
    assert (found == labels).mean() >= 0.95
    expected = trained_cnn()(images).argmax(1).numpy()
    assert (found == expected).all()
    if target == "executorch":
        assert run_executorch(program, (images[:1],)).argmax() == expected[0]


def test_integers_recognise_as_many_digits_within_half_a_point() -> None:
    images, labels = digits()[0][TRAINING:], digits()[1][TRAINING:].numpy()
    samples = [(image[None],) for image in digits()[0][:64]]
    quantized = flambeau.quantize((trained_cnn(), (images[:1],)), samples)
    assert quantized.report().snr > 25
    context = FlambeauContext()
    program = Compilation(import_program(quantized.program, context), context, PipelineOptions(target="flambeau")).emit()
    expected = trained_cnn()(images).argmax(1).numpy()
    assert (predicted(program, images) == labels).mean() >= (expected == labels).mean() - 0.005
