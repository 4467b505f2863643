"""Products of matrices."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import i8, i16
from xdsl.ir import Attribute, SSAValue

from flambeau.backends.litert.converters.building import CONVERTERS, inputs_of, limited, operator_of, types
from flambeau.backends.litert.dialect import elements as e
from flambeau.backends.litert.dialect.products import BatchMatmulOp
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator
from flambeau.passes.delegation.interface import RefusedError
from flambeau.passes.rewriting.constants import ModuleConstants

_SUMS: Mapping[Attribute, tuple[int, int]] = {i8: (255, 31), i16: (1 << 15, 47)}
"""The greatest distance of an activation from its zero point, and the bits of sums."""

CONVERTERS.of_operands({"mm": BatchMatmulOp, "bmm": BatchMatmulOp})


@CONVERTERS("addmm")
def _sum_of_product(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    bias, a, b = op.operands
    return e.AddOp(BatchMatmulOp(a, b).result, bias).result


@CONVERTERS.integers("mm", "bmm")
def _integer_product(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    a, b = inputs_of(found)
    largest, bits = _SUMS[a.type.storage]
    most = largest**2 * shape_of(a.value)[-1]
    if most > 2**bits - 1 or most * a.type.scale * b.type.scale / found.to.scale > 2**31 - 1:
        raise RefusedError({operator_of(found): "its sums of products may not fit int32"})
    return limited(BatchMatmulOp(a.value, b.value, **types(a.type, b.type, found.to)).result, found, constants)
