"""A vendor's compiler of models that stands in for one that cannot be had: it keeps what it is given, and writes a file of the test."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from quantized_programs import quantized_by_pt2e
from torch import nn
from torch_programs import seed

from flambeau import EdgeProgramManager, to_edge_transform_and_lower
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import HardwareOnlyError, interpret


class VendorConverter:
    """A program that reads `model.tflite` and writes `compiled.bin`; until the test says its content, it refuses."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, variable: str):
        self.folder = folder
        program = folder / "converter"
        program.write_text(
            f'#!/bin/sh\necho "$@" > {folder}/words\ncp model.tflite {folder}/given\n'
            f"[ -e {folder}/written ] && cp {folder}/written compiled.bin || {{ echo 'no kernel for CONV_2D'; exit 1; }}\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv(variable, str(program))
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder))

    def writes(self, data: bytes) -> None:
        """Sets the file that it writes."""
        (self.folder / "written").write_bytes(data)

    @property
    def words(self) -> str:
        """The arguments of its last run."""
        return (self.folder / "words").read_text().strip()

    @property
    def given(self) -> bytes:
        """The model of its last run."""
        return (self.folder / "given").read_bytes()


def payload_of(edge: EdgeProgramManager) -> bytes:
    """The only payload of a program."""
    (payload,) = (op for op in edge.module.body.block.ops if isinstance(op, PayloadOp))
    return bytes(edge.context.blobs.get(payload.data))


def lowered(backend: str, batch: int = 1) -> tuple[EdgeProgramManager, torch.Tensor]:
    """A network between integers for a backend, and its input."""
    seed()
    network, x = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 5)).eval(), torch.randn(batch, 3, 16, 16)
    return to_edge_transform_and_lower(quantized_by_pt2e(network, x), partitioner=[backend]), x


def check_only_devices_run(edge: EdgeProgramManager, x: torch.Tensor) -> None:
    """Checks that numpy says of a program that its payload is compiled."""
    with pytest.raises(HardwareOnlyError, match=r"is compiled.*only a device reads it"):
        interpret(edge.module, edge.context, run_payload).run("forward", [x.numpy()])
