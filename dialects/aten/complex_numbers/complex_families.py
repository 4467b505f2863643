"""Base classes of rows, one for each way to treat complex tensors, that define `on_parts`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.complex_numbers.complex_arithmetic import Operand, added, imaginary, pairs_of, parts_of, truth
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.tensor_types import dtype_of, is_complex, part_of
from flambeau.dialects.schema.complex_parts import Parts
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp


def converted(x: Operand, /, dtype: Attribute | None) -> Parts | SSAValue:
    """Numbers in another element type; the real parts where it is not complex."""
    if not isinstance(x, Parts):
        assert isinstance(x, SSAValue) and dtype is not None
        return Parts(to_element(x, part_of(dtype)), None)
    if dtype is None:
        return x
    if dtype_of(dtype).category == 0:
        return truth(x)
    if not is_complex(dtype):
        return to_element(x.real, dtype)
    element = part_of(dtype)
    return Parts(to_element(x.real, element), None if x.imaginary is None else to_element(x.imaginary, element))


def _each_part(x: Any, index: int) -> Any:
    """Returns an argument for the operator on the real parts (0) or on the imaginary parts (1)."""
    if isinstance(x, Parts):
        return imaginary(x) if index else x.real
    if isinstance(x, list | tuple) and any(isinstance(item, Parts) for item in cast("Sequence[Any]", x)):
        pairs = [parts_of(*pair) for pair in pairs_of(*cast("Sequence[Operand]", x))]
        return [imaginary(pair) if index else pair.real for pair in pairs]
    return part_of(x) if isinstance(x, Attribute) else cast(Any, x)


class PartwiseOp(SchemaOp):
    """Operators that apply the same real operator to the real parts and to the imaginary parts."""

    numbers: ClassVar[int] = 0
    """How many of the first tensors are numbers, so that a real one has imaginary parts of 0 if another is complex."""

    @classmethod
    def on_parts(cls, *given: Any) -> list[Any]:
        arguments: list[Any] = [
            Parts(cast(SSAValue, item), None) if index < cls.numbers and isinstance(item, SSAValue) else item
            for index, item in enumerate(given)
        ]
        for place, argument in enumerate(cls.schema.arguments):
            if argument.name == "dtype" and arguments[place] is not None:
                # What is added up is converted first.
                arguments[0], arguments[place] = converted(arguments[0], arguments[place]), None
                if not isinstance(arguments[0], Parts):
                    return [cls(*arguments[:place], given[place], *arguments[place + 1 :]).result]
        found = [cls(*(_each_part(item, index) for item in arguments)).results for index in (0, 1)]
        return [Parts(real, imaginary) for real, imaginary in zip(*found, strict=True)]


class RealNumberOp(SchemaOp):
    """Operators with a real number as an argument, which is replaced by 0 for the imaginary parts."""

    @classmethod
    def on_parts(cls, *given: Any) -> Parts | SSAValue:
        if any(isinstance(item, Attribute) and not is_complex(item) for item in given):
            return cls(*(_each_part(item, 0) for item in given)).result
        zero = [0.0 if argument.type.base == "Scalar" else item for argument, item in zip(cls.schema.arguments, given, strict=True)]
        real = cls(*(_each_part(item, 0) for item in given)).result
        return Parts(real, cls(*(_each_part(item, 1) for item in zero)).result)


class TruthOperandsOp(SchemaOp):
    """Operators whose result depends only on whether the elements of the operands differ from 0."""

    @classmethod
    def on_parts(cls, *given: Any) -> SSAValue:
        return cls(*(truth(cast(Operand, item)) if isinstance(item, Parts | SSAValue) else item for item in given)).result


class BilinearOp(SchemaOp):
    """Products of two operands, which are linear in each operand."""

    @classmethod
    def on_parts(cls, a: Parts, b: Parts, /) -> Parts:
        real = cls(a.real, b.real).result
        if a.imaginary is not None and b.imaginary is not None:
            real = aten.sub.Tensor(real, cls(a.imaginary, b.imaginary).result)
        first = None if b.imaginary is None else cls(a.real, b.imaginary).result
        second = None if a.imaginary is None else cls(a.imaginary, b.real).result
        return parts_of(real, added(first, second))


class StayingOp(SchemaOp):
    """Operators that are kept for complex tensors: they make complex tensors from real tensors, or have complex kernels."""

    @staticmethod
    def on_parts() -> None:
        """Nothing: the operator stays."""
