"""Dialects declared in IR: MLIR's `irdl`, in the text of MLIR 19, where arguments have no names, and of later versions, where they do.

xDSL's dialect of this name reads the later text only. `irdl_import` makes dialects of such modules, `irdl_export` writes them.
"""

from xdsl.ir import Dialect

from flambeau.dialects.irdl.attributes import AttributeType, RegionType, VariadicityArrayAttr, VariadicityAttr
from flambeau.dialects.irdl.constraints import AllOfOp, AnyOfOp, AnyOp, BaseOp, CPredOp, IsOp, ParametricOp, RegionOp
from flambeau.dialects.irdl.definitions import (
    AttributeOp,
    AttributesOp,
    DialectOp,
    OperandsOp,
    OperationOp,
    ParametersOp,
    RegionsOp,
    ResultsOp,
    TypeOp,
)

DIALECT = Dialect(
    "irdl",
    [
        AllOfOp,
        AnyOfOp,
        AnyOp,
        AttributeOp,
        AttributesOp,
        BaseOp,
        CPredOp,
        DialectOp,
        IsOp,
        OperandsOp,
        OperationOp,
        ParametersOp,
        ParametricOp,
        RegionOp,
        RegionsOp,
        ResultsOp,
        TypeOp,
    ],
    [AttributeType, RegionType, VariadicityAttr, VariadicityArrayAttr],
)
