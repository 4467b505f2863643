"""Second names of operators."""

from __future__ import annotations

from typing import Any

from flambeau.dialects.aten import arithmetic, comparison, conversion, logic, math, softmax, special
from flambeau.dialects.aten.activation import SigmoidOp
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp

ALIASES: tuple[tuple[str, type[SchemaOp]], ...] = (
    ("absolute(Tensor self) -> Tensor", math.AbsOp),
    ("arccos(Tensor self) -> Tensor", math.AcosOp),
    ("arccosh(Tensor self) -> Tensor", math.AcoshOp),
    ("arcsin(Tensor self) -> Tensor", math.AsinOp),
    ("arcsinh(Tensor self) -> Tensor", math.AsinhOp),
    ("arctan(Tensor self) -> Tensor", math.AtanOp),
    ("arctan2(Tensor self, Tensor other) -> Tensor", arithmetic.Atan2Op),
    ("arctanh(Tensor self) -> Tensor", math.AtanhOp),
    ("fix(Tensor self) -> Tensor", math.TruncOp),
    ("negative(Tensor self) -> Tensor", math.NegOp),
    ("special_erf(Tensor self) -> Tensor", math.ErfOp),
    ("special_exp2(Tensor self) -> Tensor", math.Exp2Op),
    ("special_expit(Tensor self) -> Tensor", SigmoidOp),
    ("special_expm1(Tensor self) -> Tensor", math.Expm1Op),
    ("special_log1p(Tensor self) -> Tensor", math.Log1pOp),
    ("special_logit(Tensor self, float? eps=None) -> Tensor", math.LogitOp),
    ("special_sinc(Tensor self) -> Tensor", special.SincOp),
    ("special_xlogy(Tensor self, Tensor other) -> Tensor", special.XlogyTensorOp),
    ("special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor", special.XlogyScalarOtherOp),
    ("special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor", special.XlogyScalarSelfOp),
    ("special_round(Tensor self, *, int decimals=0) -> Tensor", math.RoundDecimalsOp),
    ("special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", softmax.LogsumexpOp),
    ("special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", softmax.SoftmaxIntOp),
    ("special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", softmax.LogSoftmaxIntOp),
    ("subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", arithmetic.SubTensorOp),
    ("subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", arithmetic.SubScalarOp),
    ("multiply.Tensor(Tensor self, Tensor other) -> Tensor", arithmetic.MulTensorOp),
    ("multiply.Scalar(Tensor self, Scalar other) -> Tensor", arithmetic.MulScalarOp),
    ("divide.Tensor(Tensor self, Tensor other) -> Tensor", arithmetic.DivTensorOp),
    ("divide.Scalar(Tensor self, Scalar other) -> Tensor", arithmetic.DivScalarOp),
    ("divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", arithmetic.DivTensorModeOp),
    ("divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", arithmetic.DivScalarModeOp),
    ("true_divide.Tensor(Tensor self, Tensor other) -> Tensor", arithmetic.DivTensorOp),
    ("true_divide.Scalar(Tensor self, Scalar other) -> Tensor", arithmetic.DivScalarOp),
    ("clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", comparison.ClampOp),
    ("clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", comparison.ClampTensorOp),
    ("greater.Tensor(Tensor self, Tensor other) -> Tensor", comparison.GtTensorOp),
    ("greater.Scalar(Tensor self, Scalar other) -> Tensor", comparison.GtScalarOp),
    ("greater_equal.Tensor(Tensor self, Tensor other) -> Tensor", comparison.GeTensorOp),
    ("greater_equal.Scalar(Tensor self, Scalar other) -> Tensor", comparison.GeScalarOp),
    ("less.Tensor(Tensor self, Tensor other) -> Tensor", comparison.LtTensorOp),
    ("less.Scalar(Tensor self, Scalar other) -> Tensor", comparison.LtScalarOp),
    ("less_equal.Tensor(Tensor self, Tensor other) -> Tensor", comparison.LeTensorOp),
    ("less_equal.Scalar(Tensor self, Scalar other) -> Tensor", comparison.LeScalarOp),
    ("not_equal.Tensor(Tensor self, Tensor other) -> Tensor", comparison.NeTensorOp),
    ("not_equal.Scalar(Tensor self, Scalar other) -> Tensor", comparison.NeScalarOp),
    ("__lshift__.Tensor(Tensor self, Tensor other) -> Tensor", logic.BitwiseLeftShiftTensorOp),
    ("__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", logic.BitwiseLeftShiftTensorScalarOp),
    ("__rshift__.Tensor(Tensor self, Tensor other) -> Tensor", logic.BitwiseRightShiftTensorOp),
    ("__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", logic.BitwiseRightShiftTensorScalarOp),
    ("resolve_neg(Tensor(a) self) -> Tensor(a)", conversion.ResolveConjOp),
)
"""Schemas, each with the operator that has the same arguments and meaning."""


def declare_alias(schema: str, target: type[SchemaOp]) -> type[SchemaOp]:
    """The row of an operator that decomposes to `target`."""

    def decompose(*arguments: Any) -> Any:
        return target(*arguments).result

    members = {
        "__doc__": f"The same as `{target.schema.name}`.",
        "__module__": __name__,
        "infer": staticmethod(target.infer),
        "numpy": staticmethod(target.numpy),
        "decompose": staticmethod(decompose),
        "inplace": target.inplace,
    }
    name = "".join(part[:1].upper() + part[1:] for part in schema[: schema.index("(")].replace(".", "_").split("_"))
    return aten(schema)(type(f"{name}Op", (SchemaOp,), members))


ALIAS_OPS = tuple(declare_alias(schema, target) for schema, target in ALIASES)
"""The classes of the second names."""
