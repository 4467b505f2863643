"""Converts `edge` operators to those of ONNX, operator by operator."""

from __future__ import annotations

from flambeau.backends.onnxruntime.converters import attention, elements, layers, movement, places
from flambeau.backends.onnxruntime.converters.building import CONVERTERS
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.transforms.cse import CsePass

FAMILIES = (attention, elements, layers, movement, places)
"""The files with the converters."""


def convert(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> None:
    """Rewrites a partition in `onnxruntime` operators. Raises ConversionError, which lists the operators that have no converter."""
    CONVERTERS.apply(partition, constants)
    CsePass().apply_to(FlambeauContext(), partition)
