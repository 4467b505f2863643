"""The `irdl` dialect, which declares dialects in IR, in the syntax of MLIR 19, where arguments have no names, and of later versions.

xDSL's dialect of this name parses only the later syntax. `load.py` makes dialects from IRDL, `export.py` writes dialects as IRDL.
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
