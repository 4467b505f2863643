"""The types of slots other than tensors. A tensor slot has the tensor's type."""

from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition


@irdl_attr_definition
class IntType(ParametrizedAttribute, TypeAttribute):
    """An integer of 64 bits."""

    name = "exec.int"


@irdl_attr_definition
class DoubleType(ParametrizedAttribute, TypeAttribute):
    """A floating-point number of 64 bits."""

    name = "exec.double"


@irdl_attr_definition
class BoolType(ParametrizedAttribute, TypeAttribute):
    """A boolean."""

    name = "exec.bool"


@irdl_attr_definition
class StringType(ParametrizedAttribute, TypeAttribute):
    """A string."""

    name = "exec.string"


@irdl_attr_definition
class NoneType(ParametrizedAttribute, TypeAttribute):
    """The absence of an optional value."""

    name = "exec.none"


@irdl_attr_definition
class IntListType(ParametrizedAttribute, TypeAttribute):
    """A list of int slots."""

    name = "exec.int_list"


@irdl_attr_definition
class DoubleListType(ParametrizedAttribute, TypeAttribute):
    """A list of floating-point numbers."""

    name = "exec.double_list"


@irdl_attr_definition
class BoolListType(ParametrizedAttribute, TypeAttribute):
    """A list of booleans."""

    name = "exec.bool_list"


@irdl_attr_definition
class TensorListType(ParametrizedAttribute, TypeAttribute):
    """A list of tensor slots."""

    name = "exec.tensor_list"


@irdl_attr_definition
class OptionalTensorListType(ParametrizedAttribute, TypeAttribute):
    """A list of tensor slots, some of them absent."""

    name = "exec.optional_tensor_list"


TYPES: list[type[Attribute]] = [
    IntType,
    DoubleType,
    BoolType,
    StringType,
    NoneType,
    IntListType,
    DoubleListType,
    BoolListType,
    TensorListType,
    OptionalTensorListType,
]
