"""The target `executorch`: the kernels of stock ExecuTorch, which take the dim order of the exported program."""

from importlib import resources

from flambeau.passes.targets.interface import Target

_KERNELS = resources.files("flambeau.passes.targets").joinpath("executorch.txt").read_text(encoding="utf-8").split()

TARGET = Target("executorch", frozenset(_KERNELS))
