"""The target `flambeau`: the kernels of our C runtime, fused ones among them, which take tensors in any dim order."""

from flambeau.passes.targets.interface import Target
from flambeau.runtime.manifest import kernel_names

TARGET = Target("flambeau", kernel_names(), dim_orders="any")
