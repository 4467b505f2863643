"""The interface of targets, and the targets that exist: the files of this folder, and those of plug-ins."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

import flambeau.passes.targets
from flambeau.dialects.ir.tensor_types import element_of
from flambeau.dialects.schema.operators import find_op, level_ops
from flambeau.dialects.schema.out_variants import out_variant
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_table import cached_over_rows
from flambeau.passes.analysis.operator_table import Limit, Rule, first_reason
from flambeau.support.tables import RegistrationError, Table, hint, note_registration


@dataclass(frozen=True)
class Allowance:
    """One kernel, with element types that the kernel takes although its target otherwise lacks these types."""

    kernel: str
    """The qualified name of the kernel."""
    elements: frozenset[Attribute]
    limits: tuple[Limit, ...] = ()
    """The limits of the kernel for calls with these element types."""

    def why_not(self, op: SchemaOp) -> str | None:
        """Returns the reason why the kernel does not take a call with one of the element types; None if there is no reason."""
        elements = (element_of(value) for value in (*op.operands, *op.results) if isinstance(value.type, TensorType))
        if (element := next((element for element in elements if element in self.elements), None)) is None:
            return None
        reason = first_reason(self.limits, op)
        return None if reason is None else f"{reason} where a tensor is of {element}"


@dataclass(frozen=True, eq=False)
class Target:
    """A runtime as the compiler sees it: the kernels, layouts and element types that a program for this runtime may use.

    Passes ask a target and never compare its name, so a pass serves every target that has the kernels that the pass needs.
    """

    name: str
    operators: frozenset[str]
    """The qualified names of the kernels: `aten::add.out`. A target with `flambeau::linear.out` has the fused form `fused.linear`, etc."""
    views: frozenset[str] = frozenset()
    """The names of kernels that are missing and not needed, because programs call their operators only where the result is a view."""
    dim_orders: frozenset[tuple[int, ...]] | Literal["any"] = frozenset()
    """The dim orders besides row-major in which the kernels take tensors if the operators' rows allow such tensors: `{CHANNELS_LAST}`."""
    input_orders: frozenset[tuple[int, ...]] | Literal["any"] = "any"
    """The dim orders besides row-major in which callers can give an input."""
    lacks: frozenset[Attribute] = frozenset()
    """The element types that some or all kernels do not take."""
    lacking: frozenset[str] = frozenset()
    """The kernels that do not take the element types in `lacks`; empty if no kernel takes them."""
    takes_too: tuple[Allowance, ...] = ()
    """The exceptions: kernels that nevertheless take element types in `lacks`, each kernel once."""
    contracts: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    """The limits of kernels that their schemas do not express, by the kernels' qualified names, `aten::linear.out`."""
    alignment: int = 16
    """The alignment of each offset in an arena, in bytes, unless the planner's options give another alignment."""
    library: Path | None = None
    """The shared library with the kernels that are not built into our C runtime, `fl_kernels_<name>`. Our runtime uses them if the library
    is there when the target is registered."""

    def has(self, kind: type[SchemaOp]) -> bool:
        """Returns whether the target has the kernel of an operator, or needs no kernel because `views` contains it."""
        out = out_variant(kind.at("edge").schema)
        return out is not None and out.qualified_name in self.operators | self.views

    def keeps(self, kind: type[SchemaOp]) -> bool:
        """Returns whether a program may keep an operator whole: there is a kernel for it, or for its fused form."""
        return _kernel(kind) in self.operators | self.views

    def contract(self, op: SchemaOp) -> Rule | None:
        """Returns the contract of the kernel, or of the fused form, that an operation becomes."""
        return self.contracts.get(_kernel(type(op)))

    def missing(self, kernel: str, values: Iterable[SSAValue]) -> str | None:
        """Returns a message about a tensor whose element type a kernel does not take; None if the kernel takes the types of all tensors."""
        elements = (element_of(value) for value in values if isinstance(value.type, TensorType)) if self.lacks else ()
        found = next((element for element in elements if element in self.lacks and not self._allows(kernel, element)), None)
        return None if found is None else f"a tensor is of {found}, and its kernel does not take that"

    def _allows(self, kernel: str, element: Attribute) -> bool:
        if self.lacking and kernel not in self.lacking:
            return True
        return (allowance := _allowances(self).get(kernel)) is not None and element in allowance.elements

    def missing_type(self, op: SchemaOp) -> str | None:
        """Returns a message about a tensor of an operation whose element type the kernel does not take; None if there is no such tensor."""
        return self.missing(_kernel(type(op)), (*op.operands, *op.results))

    def why_not(self, op: SchemaOp) -> str | None:
        """Returns the reason why the kernel of an operation does not take the operation; None if the kernel takes it."""
        return self.missing_type(op) or self.beyond(op)

    def beyond(self, op: SchemaOp) -> str | None:
        """Returns the reason why an operation is beyond the limits of its kernel; None if it is within the limits.

        Also returns None if the kernel does not take the element types of the operation.
        """
        if self.missing_type(op) is not None:
            return None
        contract, allowance = self.contract(op), _allowances(self).get(_kernel(type(op)))
        return (contract.why_not(op) if contract is not None else None) or (allowance.why_not(op) if allowance is not None else None)

    def instead(self, op: SchemaOp) -> Callable[..., Any] | None:
        """Returns what computes an operation that is beyond the limits of its kernel; None where the contract does not say."""
        takes_types = self.missing_type(op) is None
        contract = self.contract(op) if takes_types and self.keeps(type(op)) else None
        return None if contract is None else contract.instead

    def runs(self, op: SchemaOp) -> bool:
        """Returns whether a program may keep an operation whole: there is a kernel for the operator, and the kernel takes the operands."""
        return self.keeps(type(op)) and self.why_not(op) is None

    def takes(self, order: Sequence[int]) -> bool:
        """Returns whether the target's kernels take tensors in a dim order, outermost dimension first."""
        return _is_among(order, self.dim_orders)

    def takes_input(self, order: Sequence[int]) -> bool:
        """Returns whether a caller can give an input in a dim order, outermost dimension first."""
        return _is_among(order, self.input_orders)

    @property
    def is_plain(self) -> bool:
        """Whether the target has no fused form and takes row-major tensors only."""
        return not self.dim_orders and not any(self.has(kind) for kind in level_ops("fused"))


def _is_among(order: Sequence[int], orders: frozenset[tuple[int, ...]] | Literal["any"]) -> bool:
    return orders == "any" or tuple(order) in orders or list(order) == sorted(order)


@cache  # keyed by the target, because after a plug-in is reloaded another target may have its name
def _allowances(target: Target) -> dict[str, Allowance]:
    return {allowance.kernel: allowance for allowance in target.takes_too}


@cached_over_rows
def _kernel(kind: type[SchemaOp]) -> str:
    """Returns the name of the kernel of an operator, or of its fused form if PyTorch declares no out-variant; "" without a kernel."""
    out = out_variant(kind.at("edge").schema)
    fused = find_op(f"fused.{kind.schema.name}") if out is None else None
    out = out_variant(fused.schema) if fused is not None else out
    return "" if out is None else out.qualified_name


class UnknownTargetError(ValueError):
    """An error for a name that no target has."""


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
    """Returns the target with this name. Raises UnknownTargetError, whose message lists the targets that exist."""
    if name in _own_names():
        return _own(name)
    found = _TARGETS.find(name)
    if found is None:
        raise UnknownTargetError(f"there is no target {name!r}{hint(name, list(target_names()), listing=True)}")
    return found


TargetName: TypeAlias = Annotated[str, find_target]
"""An option that names a target."""
