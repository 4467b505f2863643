"""The target `executorch`: the kernels of stock ExecuTorch, which take row-major tensors; its callers have channels-last images too."""

from importlib import resources

from flambeau.dialects.edge.layout import CHANNELS_LAST
from flambeau.passes.targets.interface import Target

_KERNELS = resources.files("flambeau.passes.targets").joinpath("executorch.txt").read_text(encoding="utf-8").split()

TARGET = Target("executorch", frozenset(_KERNELS), input_orders=frozenset({CHANNELS_LAST}))
