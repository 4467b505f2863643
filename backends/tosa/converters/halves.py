"""Operators of float16 that become several operators of TOSA: these are of float32, so that the result is rounded once, as PyTorch's is."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import f16, f32
from xdsl.ir import SSAValue

from flambeau.backends.tosa.converters.building import constant, in_type_of
from flambeau.backends.tosa.converters.functions import ACTIVATIONS
from flambeau.backends.tosa.dialect.choices import CastOp
from flambeau.backends.tosa.legality import is_of_pixels
from flambeau.dialects.ir.tensor_types import element_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.lowering.converters import Converter
from flambeau.passes.delegation.lowering.norms import NORMS
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np

IN_FLOAT32 = (
    *(f"{name}.Scalar" for name in ("add", "sub", "rsub", "mul", "div")),
    *("div.Tensor", "pow.Tensor_Scalar", "_softmax", "_log_softmax", "mean.dim", "sum.dim_IntList", "prod.dim_int"),
    *("_native_batch_norm_legit_no_training", *NORMS, *ACTIVATIONS),
)
"""The names of the operators."""


def _widened(argument: Any, constants: ModuleConstants) -> Any:
    """Returns a tensor of float16 in float32; another argument unchanged."""
    if not isinstance(argument, SSAValue):
        return argument
    value = cast("SSAValue", argument)
    if element_of(value) != f16:
        return value
    array = constants.array(value)
    return CastOp(value, dtype=f32).result if array is None else constant(constants, constants.name(value), array.astype(np.float32), f32)


def in_float32(convert: Converter) -> Converter:
    """Returns a converter that gives operators of float16 as those of float32, which are converted next."""

    def converted(op: SchemaOp, constants: ModuleConstants) -> Any:
        is_one_step = op.schema.base == "mean" and is_of_pixels(op)
        if element_of(op.results[0]) != f16 or is_one_step:
            return convert(op, constants)
        wide = type(op)(*(_widened(argument, constants) for argument in op.arguments()))
        return in_type_of(wide.results[0], op.results[0])

    return converted
