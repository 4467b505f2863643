"""Second names of operators."""

from __future__ import annotations

from typing import Any

from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp, class_name

ALIASES = (
    ("absolute(Tensor self) -> Tensor", "abs"),
    ("arccos(Tensor self) -> Tensor", "acos"),
    ("arccosh(Tensor self) -> Tensor", "acosh"),
    ("arcsin(Tensor self) -> Tensor", "asin"),
    ("arcsinh(Tensor self) -> Tensor", "asinh"),
    ("arctan(Tensor self) -> Tensor", "atan"),
    ("arctan2(Tensor self, Tensor other) -> Tensor", "atan2"),
    ("arctanh(Tensor self) -> Tensor", "atanh"),
    ("fix(Tensor self) -> Tensor", "trunc"),
    ("negative(Tensor self) -> Tensor", "neg"),
    ("special_erf(Tensor self) -> Tensor", "erf"),
    ("special_erfc(Tensor self) -> Tensor", "erfc"),
    ("special_erfinv(Tensor self) -> Tensor", "erfinv"),
    ("special_gammaln(Tensor self) -> Tensor", "lgamma"),
    ("special_digamma(Tensor self) -> Tensor", "digamma"),
    ("special_psi(Tensor self) -> Tensor", "digamma"),
    ("special_polygamma(int n, Tensor self) -> Tensor", "polygamma"),
    ("special_i0(Tensor self) -> Tensor", "i0"),
    ("special_modified_bessel_i0(Tensor self) -> Tensor", "i0"),
    ("special_modified_bessel_i1(Tensor self) -> Tensor", "special_i1"),
    ("special_exp2(Tensor self) -> Tensor", "exp2"),
    ("special_expit(Tensor self) -> Tensor", "sigmoid"),
    ("special_expm1(Tensor self) -> Tensor", "expm1"),
    ("special_log1p(Tensor self) -> Tensor", "log1p"),
    ("special_logit(Tensor self, float? eps=None) -> Tensor", "logit"),
    ("special_sinc(Tensor self) -> Tensor", "sinc"),
    ("special_xlogy(Tensor self, Tensor other) -> Tensor", "xlogy.Tensor"),
    ("special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor", "xlogy.Scalar_Other"),
    ("special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor", "xlogy.Scalar_Self"),
    ("special_round(Tensor self, *, int decimals=0) -> Tensor", "round.decimals"),
    ("special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", "logsumexp"),
    ("special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", "softmax.int"),
    ("special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", "log_softmax.int"),
    ("subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "sub.Tensor"),
    ("subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", "sub.Scalar"),
    ("multiply.Tensor(Tensor self, Tensor other) -> Tensor", "mul.Tensor"),
    ("multiply.Scalar(Tensor self, Scalar other) -> Tensor", "mul.Scalar"),
    ("divide.Tensor(Tensor self, Tensor other) -> Tensor", "div.Tensor"),
    ("divide.Scalar(Tensor self, Scalar other) -> Tensor", "div.Scalar"),
    ("divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", "div.Tensor_mode"),
    ("divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", "div.Scalar_mode"),
    ("true_divide.Tensor(Tensor self, Tensor other) -> Tensor", "div.Tensor"),
    ("true_divide.Scalar(Tensor self, Scalar other) -> Tensor", "div.Scalar"),
    ("clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", "clamp"),
    ("clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", "clamp.Tensor"),
    ("greater.Tensor(Tensor self, Tensor other) -> Tensor", "gt.Tensor"),
    ("greater.Scalar(Tensor self, Scalar other) -> Tensor", "gt.Scalar"),
    ("greater_equal.Tensor(Tensor self, Tensor other) -> Tensor", "ge.Tensor"),
    ("greater_equal.Scalar(Tensor self, Scalar other) -> Tensor", "ge.Scalar"),
    ("less.Tensor(Tensor self, Tensor other) -> Tensor", "lt.Tensor"),
    ("less.Scalar(Tensor self, Scalar other) -> Tensor", "lt.Scalar"),
    ("less_equal.Tensor(Tensor self, Tensor other) -> Tensor", "le.Tensor"),
    ("less_equal.Scalar(Tensor self, Scalar other) -> Tensor", "le.Scalar"),
    ("not_equal.Tensor(Tensor self, Tensor other) -> Tensor", "ne.Tensor"),
    ("not_equal.Scalar(Tensor self, Scalar other) -> Tensor", "ne.Scalar"),
    ("__and__.Tensor(Tensor self, Tensor other) -> Tensor", "bitwise_and.Tensor"),
    ("__and__.Scalar(Tensor self, Scalar other) -> Tensor", "bitwise_and.Scalar"),
    ("__or__.Tensor(Tensor self, Tensor other) -> Tensor", "bitwise_or.Tensor"),
    ("__or__.Scalar(Tensor self, Scalar other) -> Tensor", "bitwise_or.Scalar"),
    ("__xor__.Tensor(Tensor self, Tensor other) -> Tensor", "bitwise_xor.Tensor"),
    ("__xor__.Scalar(Tensor self, Scalar other) -> Tensor", "bitwise_xor.Scalar"),
    ("argwhere(Tensor self) -> Tensor", "nonzero"),
    ("__lshift__.Tensor(Tensor self, Tensor other) -> Tensor", "bitwise_left_shift.Tensor"),
    ("__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", "bitwise_left_shift.Tensor_Scalar"),
    ("__rshift__.Tensor(Tensor self, Tensor other) -> Tensor", "bitwise_right_shift.Tensor"),
    ("__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", "bitwise_right_shift.Tensor_Scalar"),
    ("max.other(Tensor self, Tensor other) -> Tensor", "maximum"),
    ("min.other(Tensor self, Tensor other) -> Tensor", "minimum"),
    ("concat(Tensor[] tensors, int dim=0) -> Tensor", "cat"),
    ("concatenate(Tensor[] tensors, int dim=0) -> Tensor", "cat"),
    ("slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", "slice.Tensor"),
    ("select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", "select.int"),
    ("permute_copy(Tensor self, int[] dims) -> Tensor", "permute"),
    ("transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", "transpose.int"),
    ("t_copy(Tensor self) -> Tensor", "t"),
    ("unsqueeze_copy(Tensor self, int dim) -> Tensor", "unsqueeze"),
    ("squeeze_copy(Tensor self) -> Tensor", "squeeze"),
    ("squeeze_copy.dim(Tensor self, int dim) -> Tensor", "squeeze.dim"),
    ("squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", "squeeze.dims"),
    ("expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor", "expand"),
    ("view_copy(Tensor self, SymInt[] size) -> Tensor", "view"),
    ("cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor", "_cdist_forward"),
    ("pdist(Tensor self, float p=2.) -> Tensor", "_pdist_forward"),
)
"""Schemas, each with the name of the operator that has the same arguments and the same meaning."""


def declare_alias(schema: str, name: str) -> None:
    """Declares the row of an operator that decomposes to the operator of this name."""
    target = find_op(f"aten.{name}")
    assert target is not None, name

    def decompose(*arguments: Any) -> Any:
        return target(*arguments).result

    members = {
        "__doc__": f"The same as `{name}`.",
        "__module__": __name__,
        "infer": staticmethod(target.infer),
        "numpy": staticmethod(target.numpy),
        "decompose": staticmethod(decompose),
        "inplace": target.inplace,
    }
    aten(schema)(type(class_name(schema.partition("(")[0]), (SchemaOp,), members))


for _schema, _name in ALIASES:
    declare_alias(_schema, _name)
