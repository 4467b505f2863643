"""The interface of targets, and the targets that exist: the files of this folder, and those of plug-ins."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

import flambeau.passes.targets
from flambeau.dialects.exec.out_variants import out_variant
from flambeau.dialects.ir.tensor_types import element_of
from flambeau.dialects.schema.operators import find_op, level_ops
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_table import cached_over_rows
from flambeau.passes.analysis.operator_table import Limit, Rule, first_reason
from flambeau.support.tables import RegistrationError, Table, hint, note_registration


@dataclass(frozen=True)
class Allowance:
    """A kernel that takes element types which the kernels of its target do not take otherwise."""

    kernel: str
    """Its qualified name."""
    elements: frozenset[Attribute]
    limits: tuple[Limit, ...] = ()
    """What it takes of them."""

    def why_not(self, op: SchemaOp) -> str | None:
        """Returns what does not fit in a call with one of the element types; None when all does."""
        elements = (element_of(value) for value in (*op.operands, *op.results) if isinstance(value.type, TensorType))
        if (element := next((element for element in elements if element in self.elements), None)) is None:
            return None
        reason = first_reason(self.limits, op)
        return None if reason is None else f"{reason} where a tensor is of {element}"


@dataclass(frozen=True, eq=False)
class Target:
    """A runtime as the compiler sees it: what a program for it may use.

    Passes ask a target and never compare its name, so each pass that serves one target serves all that have what it needs.
    """

    name: str
    operators: frozenset[str]
    """The qualified names of its kernels, `aten::add.out`. With `flambeau::linear.out` it has the fused form `fused.linear`, and so on."""
    views: frozenset[str] = frozenset()
    """The names of kernels that it lacks and does not need, because programs call their operators only where the result is a view."""
    dim_orders: frozenset[tuple[int, ...]] | Literal["any"] = frozenset()
    """The dim orders beside row-major in which its kernels take tensors, where the operators' rows allow it: `{CHANNELS_LAST}`."""
    input_orders: frozenset[tuple[int, ...]] | Literal["any"] = "any"
    """The dim orders beside row-major in which its callers can give an input."""
    lacks: frozenset[Attribute] = frozenset()
    """The element types that its kernels do not take."""
    lacking: frozenset[str] = frozenset()
    """The kernels that do not, where most do; empty: all of them."""
    takes_too: tuple[Allowance, ...] = ()
    """The kernels that take such element types all the same, each once."""
    contracts: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    """The limits of its kernels beyond what their schemas say, by the kernels' qualified names, `aten::linear.out`."""
    alignment: int = 16
    """Of each offset in an arena, in bytes, unless the planner's options say otherwise."""
    library: Path | None = None
    """The shared library with the kernels that are not built into our C runtime, `fl_kernels_<name>`. Our runtime uses them if the library
    is there when the target is registered."""

    def has(self, kind: type[SchemaOp]) -> bool:
        """Returns whether it has the kernel that an operator becomes."""
        out = out_variant(kind.at("edge").schema)
        return out is not None and out.qualified_name in self.operators | self.views

    def keeps(self, kind: type[SchemaOp]) -> bool:
        """Returns whether a program may keep an operator whole: there is a kernel for it, or for its fused form."""
        return _kernel(kind) in self.operators | self.views

    def contract(self, op: SchemaOp) -> Rule | None:
        """Returns the contract of the kernel, or of the fused form, that an operation becomes."""
        return self.contracts.get(_kernel(type(op)))

    def missing(self, kernel: str, values: Iterable[SSAValue]) -> str | None:
        """Returns which of these tensors a kernel does not take because of its element type; None without one."""
        elements = (element_of(value) for value in values if isinstance(value.type, TensorType)) if self.lacks else ()
        found = next((element for element in elements if element in self.lacks and not self._allows(kernel, element)), None)
        return None if found is None else f"a tensor is of {found}, and its kernel does not take that"

    def _allows(self, kernel: str, element: Attribute) -> bool:
        if self.lacking and kernel not in self.lacking:
            return True
        return (allowance := _allowances(self).get(kernel)) is not None and element in allowance.elements

    def missing_type(self, op: SchemaOp) -> str | None:
        """Returns which tensor the kernel of an operation does not take because of its element type; None without one."""
        return self.missing(_kernel(type(op)), (*op.operands, *op.results))

    def why_not(self, op: SchemaOp) -> str | None:
        """Returns what the kernel of an operation does not take of it; None when it takes all."""
        return self.missing_type(op) or self.beyond(op)

    def beyond(self, op: SchemaOp) -> str | None:
        """Returns what is beyond the limits of the kernel of an operation of element types that it takes; None when nothing is."""
        if self.missing_type(op) is not None:
            return None
        contract, allowance = self.contract(op), _allowances(self).get(_kernel(type(op)))
        return (contract.why_not(op) if contract is not None else None) or (allowance.why_not(op) if allowance is not None else None)

    def runs(self, op: SchemaOp) -> bool:
        """Returns whether a program may keep an operation whole: it keeps the operator, and the kernel takes the operands."""
        return self.keeps(type(op)) and self.why_not(op) is None

    def takes(self, order: Sequence[int]) -> bool:
        """Returns whether its kernels take tensors in a dim order, outermost dimension first."""
        return _is_among(order, self.dim_orders)

    def takes_input(self, order: Sequence[int]) -> bool:
        """Returns whether a caller can give an input in a dim order, outermost dimension first."""
        return _is_among(order, self.input_orders)

    @property
    def is_plain(self) -> bool:
        """Whether it has no fused form and takes row-major tensors only."""
        return not self.dim_orders and not any(self.has(kind) for kind in level_ops("fused"))


def _is_among(order: Sequence[int], orders: frozenset[tuple[int, ...]] | Literal["any"]) -> bool:
    return orders == "any" or tuple(order) in orders or list(order) == sorted(order)


@cache  # keyed by the target, because after a plug-in is reloaded another target may have its name
def _allowances(target: Target) -> dict[str, Allowance]:
    return {allowance.kernel: allowance for allowance in target.takes_too}


@cached_over_rows
def _kernel(kind: type[SchemaOp]) -> str:
    """Returns the name of the kernel of an operator, or of its fused form where PyTorch declares no out-variant; "" without any."""
    out = out_variant(kind.at("edge").schema)
    fused = find_op(f"fused.{kind.schema.name}") if out is None else None
    out = out_variant(fused.schema) if fused is not None else out
    return "" if out is None else out.qualified_name


class UnknownTargetError(ValueError):
    """A target's name that nobody knows."""


@cache
def _own_names() -> tuple[str, ...]:
    """Returns the built-in targets: the other files of this folder."""
    return tuple(sorted({module.name for module in pkgutil.iter_modules(flambeau.passes.targets.__path__)} - {"interface"}))


def _own(name: str) -> Target:
    return importlib.import_module(f"flambeau.passes.targets.{name}").TARGET


_TARGETS: Table[Target] = Table("target", lambda name: ("Flambeau", _own(name)) if name in _own_names() else None)


def register_target(target: Target) -> None:
    """Makes a target known by its name. Raises RegistrationError for a name that is taken, or operators without a namespace."""
    odd = sorted(operator for operator in target.operators if "::" not in operator)
    if odd:
        raise RegistrationError(f"target {target.name!r}: {odd[0]!r} is not a kernel's name; they are like 'aten::add.out'")
    _TARGETS.add(target.name, target)
    if target.library is not None and target.library.is_file():
        from flambeau.runtime.binding.libraries import add_kernels, remove_kernels

        add_kernels(target.name, target.library)
        note_registration(f"kernels of target {target.name!r}", lambda: remove_kernels(target.name))


def target_names() -> tuple[str, ...]:
    """Returns the targets that exist: built in, or registered."""
    return tuple(sorted((*_own_names(), *_TARGETS.items())))


def find_target(name: str) -> Target:
    """Returns the target with this name. Raises UnknownTargetError that lists those that exist."""
    if name in _own_names():
        return _own(name)
    found = _TARGETS.find(name)
    if found is None:
        raise UnknownTargetError(f"there is no target {name!r}{hint(name, list(target_names()), listing=True)}")
    return found


TargetName: TypeAlias = Annotated[str, find_target]
"""An option that names a target."""
