"""The rows of kernels: which operator a kernel such as `aten::add.out` is an out-variant of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import from_scalar_type
from flambeau.dialects.schema.operators import find_schema, level_ops
from flambeau.dialects.schema.out_variants import out_variant
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_table import cached_over_rows, load_rows
from flambeau.dialects.schema.schema import Schema, SchemaArgument


@dataclass(frozen=True)
class RowKernel:
    """An operator's out-variant, and the row of the operator that it computes."""

    row: type[SchemaOp]
    out: Schema

    def positions(self, operands: Sequence[int]) -> tuple[int, ...]:
        """Returns the position among the inputs of the kernel of each operand of the row."""
        names = [argument.name for argument in self.out.arguments if argument not in self.out.outs]
        wanted = [self.row.schema.operands[index].name for index in operands if index < len(self.row.schema.operands)]
        return tuple(names.index(name) for name in wanted if name in names)

    def arguments(self, ins: Sequence[Any], dtype: Attribute | None = None) -> list[Any]:
        """Returns the arguments of the row, in the order of its schema, for the inputs of the kernel.

        `dtype` is the element type of the out, from which a kernel takes the argument of this name.
        """
        inputs = [argument for argument in self.out.arguments if argument not in self.out.outs]
        given = {argument.name: value for argument, value in zip(inputs, ins, strict=True)}
        defaults = {"dtype": dtype}
        return [
            _as_argument(argument, given[argument.name]) if argument.name in given else defaults.get(argument.name, argument.default)
            for argument in self.row.schema.arguments
        ]


def _as_argument(argument: SchemaArgument, value: Any) -> Any:
    if argument.type.base == "ScalarType" and isinstance(value, int):
        row = from_scalar_type(value)
        return None if row is None else row.element
    return value


@cached_over_rows
def row_kernels() -> dict[str, RowKernel]:
    """Returns every kernel that a row describes, by qualified name, including ATen kernels that Flambeau's passes never call."""
    kernels: dict[str, RowKernel] = {}
    single = [kind for dialect in sorted(load_rows()) if dialect not in ("aten", "edge") for kind in level_ops(dialect)]
    for kind in (*level_ops("edge"), *single, *level_ops("aten")):
        schema = _copying(kind.schema) if kind.schema.is_view else kind.schema
        out = None if schema is None else out_variant(schema)
        if out is not None and kind.has("numpy"):
            kernels.setdefault(out.qualified_name, RowKernel(kind, out))
    return kernels


def _copying(view: Schema) -> Schema | None:
    """Returns the operator that copies the elements of a view."""
    return find_schema(f"{view.base}_copy.{view.overload}" if view.overload else f"{view.base}_copy")
