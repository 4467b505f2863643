"""Payloads of NeuroPilot where MediaTek's compiler is installed: one that stands in for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from vendor_converter import VendorConverter, check_only_devices_run, lowered, payload_of

from flambeau import get_delegation_info
from flambeau.backends.litert.label import LABEL_BYTES
from flambeau.backends.neuropilot import NeuropilotOptions


def test_the_compiler_is_used_where_the_architecture_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "for the option 'arch'" in (NeuropilotOptions().only_here or "")
    assert "ncc-tflite is not on PATH" in (NeuropilotOptions(arch="mdla5.1").only_here or "")
    compiler, backend, model = (
        VendorConverter(tmp_path, monkeypatch, "FLAMBEAU_NCC_TFLITE"),
        "neuropilot{arch=mdla5.1}",
        lowered("litert")[0],
    )
    assert NeuropilotOptions(arch="mdla5.1").only_here is None
    assert any("no kernel for CONV_2D" in reason for _, reason in get_delegation_info(lowered(backend)[0]).refused)
    assert compiler.words == "--arch=mdla5.1 model.tflite -d compiled.bin"
    compiler.writes(b"a network of bytes")
    edge, x = lowered(backend)
    assert compiler.given == payload_of(model)[:-LABEL_BYTES]
    assert payload_of(edge) == b"\1\1\0\0\0\1\0\0\0\x12\0\0\0a network of bytes"
    check_only_devices_run(edge, x)
    assert payload_of(lowered("neuropilot")[0]).endswith(payload_of(model)[:-LABEL_BYTES])
