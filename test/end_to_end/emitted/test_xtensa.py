"""Networks of the target `cadence` on a HiFi processor in QEMU: the bits are those that numpy computes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from board import boards
from board_images import FORMS
from board_networks import Network, Speech, WakeWord, captured, case_of
from devices import row
from models import narrow_mobilenet_v2

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import import_program
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime.interpreter import interpret


def small_mobilenet_v2() -> Network:
    """MobileNetV2-0.35, on an image that the emulator is through with in seconds."""
    return narrow_mobilenet_v2()[0], (torch.randn(1, 3, 32, 32),)


NETWORKS: dict[str, Callable[[], Network]] = {
    "mobilenet_v2": small_mobilenet_v2,
    "speech": lambda: (Speech().eval(), (torch.randn(1, 40, 32),)),
    "wake_word": lambda: (WakeWord(8, 16).eval(), (torch.randn(1, 4, 8),)),
}
FOUND = [name for name in NETWORKS if boards()["xtensa"].missing is None]
"""The networks that this machine can run, which are all or none."""


@pytest.mark.parametrize("name", FOUND)
def test_a_network_has_the_bits_of_numpy(name: str) -> None:
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]  PyTorch does not say what it returns
    module, inputs = NETWORKS[name]()
    program, context = captured(module, inputs, "int8", "cadence"), FlambeauContext()
    case = case_of(program, inputs, "cadence")
    compilation = Compilation(import_program(program, context), context, PipelineOptions(target="cadence"))
    compilation.to("planned")
    expected = interpret(compilation.module, context).run("forward", [item.numpy() for item in inputs])
    assert [np.asarray(item).tobytes() for item in expected] == list(case.outputs)
    found = row(boards()["xtensa"], name, "cadence", FORMS[0], case)
    assert (found.why, found.difference) == ("", 0)
