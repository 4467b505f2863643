"""Quantization of PyTorch programs by torchao's PT2E: an ExportedProgram and samples in, an ExportedProgram with 8-bit integers out."""

from importlib import import_module

from flambeau.frontends.interface import require_torchao
from flambeau.support.logs import logs_silenced

require_torchao("quantization")
with logs_silenced():  # torchao logs that libraries for other machines are missing
    import_module("torchao.quantization.pt2e.quantize_pt2e")
