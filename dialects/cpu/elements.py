"""The body of a loop: operators on elements, and the values that the loop writes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.exec.slots import TENSOR
from flambeau.runtime.manifest import elementwise_rows


@irdl_op_definition
class ElementOp(IRDLOperation):
    """`%m = cpu.element "aten::mul.out"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>`: an operator on elements.

    Its arguments are those of the out-variant without the outs.
    """

    name = "cpu.element"

    operator = prop_def(StringAttr)
    arguments = var_operand_def(AnyAttr())
    result = result_def(TENSOR)

    assembly_format = "$operator `(` $arguments `)` attr-dict `:` functional-type(operands, results)"

    def __init__(self, operator: str, arguments: Sequence[SSAValue], type: Attribute):
        super().__init__(operands=[arguments], result_types=[type], properties={"operator": StringAttr(operator)})

    def verify_(self) -> None:
        """Checks that loops can compute the operator."""
        if self.operator.data not in elementwise_rows():
            raise VerifyException(f"{self.operator.data} is not an operator that loops compute")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """`cpu.yield %m : tensor<4xf32>`: the values of the outs."""

    name = "cpu.yield"

    values = var_operand_def(TENSOR)

    traits = traits_def(IsTerminator())

    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values])
