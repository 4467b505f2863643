"""Compiles models with the installed OpenVINO."""

from __future__ import annotations

import importlib
import io
import platform
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from flambeau.backends.openvino.payload import read_payload, write_compiled
from flambeau.backends.openvino.representation import read_lines, write_model
from flambeau.passes.delegation.interface import BackendError

if TYPE_CHECKING:
    from flambeau.backends.openvino import OpenvinoOptions


def import_openvino() -> Any:
    """Imports and returns the package openvino. Hides the package openvino_telemetry, with which openvino reports its import to Intel."""
    modules = cast("dict[str, Any]", sys.modules)
    hidden = {"openvino_telemetry": modules.get("openvino_telemetry")} if "openvino_telemetry" in modules else {}
    modules["openvino_telemetry"] = None
    try:
        return importlib.import_module("openvino")
    finally:
        del modules["openvino_telemetry"]
        modules.update(hidden)


def compiled_payload(payload: bytes, options: OpenvinoOptions) -> bytes:
    """Returns a compiled payload of the model in `payload`. Raises BackendError if OpenVINO is absent, or refuses the model."""
    try:
        openvino = import_openvino()
    except ImportError as error:
        raise BackendError("openvino: to compile now it needs the package openvino: pip install 'flambeau[openvino]'") from error
    model, export = read_payload(memoryview(payload)), io.BytesIO()
    try:
        core = openvino.Core()
        read = core.read_model(write_model(read_lines(model.text)), bytes(model.constants))
        settings = {"INFERENCE_PRECISION_HINT": options.precision, "PERFORMANCE_HINT": "LATENCY"}
        if (options.device, options.precision) == ("CPU", "f32"):
            settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = "0"  # keeps the factors of integer weights in floats
        if options.device == "CPU" and not _adds_in_32_bits():
            settings["LP_TRANSFORMS_MODE"] = "NO"  # computes with quantized numbers in floats
        compiled = core.compile_model(read, options.device, settings)
        compiled.export_model(export)
    except RuntimeError as error:
        lines = [line for line in str(error).splitlines() if line and not line.startswith("Exception from")]
        raise BackendError(f"openvino: OpenVINO does not compile it for {options.device!r}: {' '.join(lines)}") from error
    return write_compiled(export.getvalue(), model.inputs, model.outputs)


def _adds_in_32_bits() -> bool:
    """Returns whether the processor adds products of 8-bit numbers in 32 bits, as `runtime/c/library` says."""
    if platform.machine().lower() not in ("x86_64", "amd64", "i386", "i686"):
        return True
    info = Path("/proc/cpuinfo")
    return info.exists() and re.search(r"\bavx(512)?_vnni\b", info.read_text(encoding="utf-8")) is not None
