"""The interface of a method as the PyTorch model has it: the leaves of its inputs and outputs, in order, with their names.

A leaf is either a tensor, which is the next argument or result of the `func.func`, or a constant that the program was specialised to (a
number, a string, None), which is not an argument or result:

    func.func @forward(%x : tensor<2xf32>) -> tensor<2xf32> attributes {
      flambeau.inputs = [{name = "x"}, {name = "scale", value = 3 : i64}],
      flambeau.outputs = [{name = "y"}, {name = "output_1", value = none}],
      flambeau.in_spec = "…", flambeau.out_spec = "…"}

The last results may be the new values of inputs that the program writes. Such an output has `writes`, the name of the input, and the caller
finds it in its own tensor:

    flambeau.outputs = [{name = "y"}, {name = "x", writes = "x"}]

The specs are PyTorch's serialised tree specs, which say how the leaves are nested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DictionaryAttr, FloatAttr, IntegerAttr, NoneType, StringAttr, f64, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from flambeau.dialects.ir.attribute_values import to_value

INPUTS = "flambeau.inputs"
OUTPUTS = "flambeau.outputs"
IN_SPEC = "flambeau.in_spec"
OUT_SPEC = "flambeau.out_spec"

Constant: TypeAlias = bool | int | float | str | None


@dataclass(frozen=True)
class Leaf:
    """One input or output of a method."""

    name: str
    is_tensor: bool = True
    value: Constant = None
    """The constant, if the leaf is not a tensor."""
    writes: str | None = None
    """The input whose new value an output is; the caller's tensor gets it."""

    def attribute(self) -> DictionaryAttr:
        """Returns the leaf as an attribute."""
        entries: dict[str, Attribute] = {"name": StringAttr(self.name)}
        if not self.is_tensor:
            entries["value"] = _constant_attribute(self.value)
        if self.writes is not None:
            entries["writes"] = StringAttr(self.writes)
        return DictionaryAttr(entries)


def _constant_attribute(value: Constant) -> Attribute:
    if value is None:
        return NoneType()
    if isinstance(value, bool):
        return BoolAttr.from_bool(value)
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    return FloatAttr(value, f64) if isinstance(value, float) else StringAttr(value)


def leaves_attribute(leaves: Sequence[Leaf]) -> ArrayAttr[DictionaryAttr]:
    """Returns the value of `flambeau.inputs` or `flambeau.outputs`."""
    return ArrayAttr([leaf.attribute() for leaf in leaves])


def _leaves(method: FuncOp, key: str, count: int, stem: str) -> tuple[Leaf, ...]:
    listed = method.attributes.get(key)
    if listed is None:
        return tuple(Leaf(f"{stem}_{index}") for index in range(count))
    leaves: list[Leaf] = []
    entries: Sequence[Any] = cast("ArrayAttr[Any]", listed).data if isinstance(listed, ArrayAttr) else ()
    for entry in entries:
        name = entry.data.get("name") if isinstance(entry, DictionaryAttr) else None
        if not isinstance(name, StringAttr):
            raise ValueError(f'{key} of @{method.sym_name.data} must be a list of {{name = "…"}}, got {listed}')
        value = cast(DictionaryAttr, entry).data.get("value")
        constant = None if value is None or isinstance(value, NoneType) else cast(Constant, to_value(value))
        writes = cast(DictionaryAttr, entry).data.get("writes")
        leaves.append(Leaf(name.data, value is None, constant, writes.data if isinstance(writes, StringAttr) else None))
    if sum(leaf.is_tensor for leaf in leaves) != count:
        raise ValueError(f"{key} of @{method.sym_name.data} must list {count} tensors, got {listed}")
    return tuple(leaves)


def inputs_of(method: FuncOp) -> tuple[Leaf, ...]:
    """Returns the leaves of a method's inputs; without a list, its arguments as `input_0`, …. Raises ValueError for a malformed list."""
    return _leaves(method, INPUTS, len(method.function_type.inputs), "input")


def outputs_of(method: FuncOp) -> tuple[Leaf, ...]:
    """Returns the leaves of a method's outputs; without a list, its results as `output_0`, …. Raises ValueError for a malformed list."""
    leaves = _leaves(method, OUTPUTS, len(method.function_type.outputs), "output")
    written = [leaf.writes for leaf in leaves if leaf.writes is not None]
    tensors = [leaf.name for leaf in inputs_of(method) if leaf.is_tensor] if written else []
    if missing := [name for name in written if name not in tensors]:
        raise ValueError(
            f"{OUTPUTS} of @{method.sym_name.data} writes {missing[0]!r}, which is not one of its inputs: {', '.join(tensors)}"
        )
    if any(leaf.writes is None for leaf in leaves[len(leaves) - len(written) :]):
        raise ValueError(f"{OUTPUTS} of @{method.sym_name.data} must list the new values of inputs last")
    return leaves
