"""The settings beside a payload: as ExecuTorch's own reader reads them, and what its runtime does with a program that has them."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from flambeau import to_edge_transform_and_lower
from flambeau.backends.qnn import CHIPS, QnnOptions
from flambeau.backends.qnn.specification import KEY, specification
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.runtime.emit import read_pte


def program(options: str) -> bytes:
    module, x = nn.ReLU(), torch.ones(1, 3, 4, 4).half()
    edge = to_edge_transform_and_lower(torch.export.export(module, (x,)), partitioner=[f"qnn{{precision=f16 {options}}}"])
    return bytes(edge.to_executorch().buffer)


@pytest.mark.parametrize("soc", ["SM8650", "SAR2230P"])
@pytest.mark.parametrize("precision", ["int8", "f16"])
def test_executorch_reads_the_settings(soc: str, precision: str) -> None:
    serialization: Any = import_module("executorch.backends.qualcomm.serialization.qc_schema_serialize")
    schema: Any = import_module("executorch.backends.qualcomm.serialization.qc_schema")
    found = serialization.flatbuffer_to_option(specification(QnnOptions(soc=soc, precision=precision)))
    known = schema._soc_info_table[schema.QcomChipset[soc]]
    htp = schema.QnnExecuTorchHtpBackendOptions(precision=schema.QnnExecuTorchHtpPrecision(precision == "f16"))
    assert (found.soc_info.soc_model, found.soc_info.htp_info) == (known.soc_model, known.htp_info)
    assert found.backend_options == schema.QnnExecuTorchBackendOptions(schema.QnnExecuTorchBackendType.kHtpBackend, htp)
    assert found.is_from_context_binary and found.library_path == "" and not found.online_prepare


def test_the_chips_are_those_of_executorch() -> None:
    schema: Any = import_module("executorch.backends.qualcomm.serialization.qc_schema")
    known = {
        soc.name: (int(soc), int(info.htp_info.htp_arch), info.htp_info.vtcm_size_in_mb) for soc, info in schema._soc_info_table.items()
    }
    assert {name: (chip.number, chip.architecture, chip.megabytes) for name, chip in CHIPS.items()} == known


def test_a_program_keeps_the_settings_apart_from_the_options() -> None:
    context = FlambeauContext()
    module = read_pte(program("soc=SM8750"), context)
    (payload,) = (op for op in module.walk() if isinstance(op, PayloadOp))
    assert payload.specs is not None and set(payload.specs.data) == {KEY, "soc", "precision"}
    assert Partitioner.of(payload).options == QnnOptions(soc="SM8750", precision="f16")


_LOAD = """
import sys
from executorch.extension.pybindings import portable_lib
import torch
try:
    portable_lib._load_for_executorch(sys.argv[1]).forward([torch.ones(1, 3, 4, 4).half()])
except RuntimeError as error:
    print("refused:", error)
"""


def test_stock_executorch_refuses_a_program_without_qualcomms_libraries(tmp_path: Path) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(program(""))
    result = subprocess.run([sys.executable, "-c", _LOAD, str(path)], capture_output=True, text=True, check=False)
    assert result.returncode == 0 and "refused: " in result.stdout, result
