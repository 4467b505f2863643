"""The IRDL definitions of operations that follow an operator schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    BaseAttr,
    IRDLOption,
    OpDef,
    OperandDef,
    OptOperandDef,
    OptPropertyDef,
    ResultDef,
    VarOperandDef,
    VarResultDef,
)
from xdsl.irdl.constraints import AttrConstraint

from flambeau.dialects.schema.operation_syntax import ABSENT, SEGMENTS

if TYPE_CHECKING:
    from flambeau.dialects.schema.row import SchemaOp

_TENSOR: AttrConstraint = BaseAttr(TensorType)
_ANY: AttrConstraint = AnyAttr()


def irdl_definition(cls: type[SchemaOp]) -> OpDef:
    """Returns the definition of the operations of a class: operands, results and properties."""
    schema = cls.schema
    operands: list[tuple[str, OperandDef]] = []
    for argument in schema.operands:
        make = VarOperandDef if argument.type.is_list else OptOperandDef if argument.type.optional else OperandDef
        operands.append((argument.name, make(_TENSOR)))
    kinds = [VarResultDef if kind.is_list or kind.optional else ResultDef for kind in schema.returns]
    if kinds.count(VarResultDef) > 1:
        kinds = [VarResultDef]
    results = [(f"result{index}", kind(_ANY)) for index, kind in enumerate(kinds)]
    properties = {name: OptPropertyDef(_ANY) for name in (*schema.attributes, ABSENT)}
    options: list[IRDLOption] = []
    if cls.has_segments():
        properties[SEGMENTS] = OptPropertyDef(_ANY)
        options = [AttrSizedOperandSegments(as_property=True)]
    return OpDef(cls.name, operands=operands, results=results, properties=dict(properties), options=options, traits=cls.traits)
