"""The target `cadence`: the kernels of ExecuTorch's runtime for Cadence's HiFi DSPs, which compute with quantized numbers."""

from importlib import resources

from flambeau.passes.analysis.number_format import NumberFormat
from flambeau.passes.targets.interface import Target

TARGET = Target(
    "cadence",
    frozenset(resources.files("flambeau.passes.targets").joinpath("cadence.txt").read_text(encoding="utf-8").split()),
    input_orders=frozenset(),
    # Two memories of the processor, and the system's: memory ids 1, 2 and 3 of ExecuTorch.
    banks=("dram0:64K", "dram1:64K", "sysmem"),
    numbers=NumberFormat(scale_per_output=False),
    choose="networks of 8-bit integers on audio DSPs: the operators of ExecuTorch 1.5.1 for HiFi",
    hardware="Cadence's DSPs HiFi; any CPU",
    runs_on="Flambeau's runtime, ExecuTorch's for HiFi",
)
