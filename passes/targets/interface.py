"""The interface of targets, and the targets that exist: the files of this folder, and those of plug-ins."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from xdsl.ir import Attribute

import flambeau.passes.targets
from flambeau.dialects.schema.operators import find_op, level_ops
from flambeau.dialects.schema.out_variants import out_variant
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_table import cached_over_rows
from flambeau.passes.analysis.number_format import NumberFormat
from flambeau.passes.analysis.operator_table import OperatorTable, Rule
from flambeau.support.tables import RegistrationError, Table, hint, note_registration


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
    """The element types that kernels do not take unless their contracts have their own `lacks`."""
    contracts: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    """The limits of kernels that their schemas do not express, by the kernels' qualified names, `aten::linear.out`."""
    in_parts: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    """Kernels that the target lacks, by their names as in `contracts`: what its programs compute in place of their operators."""
    alignment: int = 16
    """The alignment of each offset in an arena, in bytes, unless the planner's options give another alignment."""
    banks: tuple[str, ...] = ()
    """The banks of its devices' memory, the fastest first, with their sizes, `dram0:64K`, unless a user names others."""
    numbers: NumberFormat | None = None
    """The quantized numbers that a program gets for this target, of int8; None: those of Flambeau's kernels."""
    library: Path | None = None
    """The shared library with the kernels that are not built into our C runtime, `fl_kernels_<name>`. Our runtime uses them if the library
    is there when the target is registered."""
    choose: str = ""
    """When to take this target, for users."""
    hardware: str = "any CPU"
    """What its programs run on, for users."""
    runs_on: str = ""
    """The runtimes of its programs, for users."""

    @cached_property
    def table(self) -> OperatorTable:
        """The kernels, by their names: of each operator, or of its fused form."""
        rules = {name: self.contracts.get(name, _ANY) for name in self.operators | self.views}
        return OperatorTable(rules, in_parts=self.in_parts, lacks=self.lacks, named=_kernel, knows_sizes=True)

    def has(self, kind: type[SchemaOp]) -> bool:
        """Returns whether there is a kernel for an operator or for its fused form, or `views` contains it."""
        return self.table.rule(kind) is not None

    def takes(self, order: Sequence[int]) -> bool:
        """Returns whether the target's kernels take tensors in a dim order, outermost dimension first."""
        return _is_among(order, self.dim_orders)

    def takes_input(self, order: Sequence[int]) -> bool:
        """Returns whether a caller can give an input in a dim order, outermost dimension first."""
        return _is_among(order, self.input_orders)

    def has_of(self, dialect: str) -> bool:
        """Returns whether there is a kernel for any operator with a row in a dialect."""
        return any(self.has(kind) for kind in level_ops(dialect))

    @property
    def is_plain(self) -> bool:
        """Whether the target has no fused form and takes row-major tensors only."""
        return not self.dim_orders and not self.has_of("fused")


def _is_among(order: Sequence[int], orders: frozenset[tuple[int, ...]] | Literal["any"]) -> bool:
    return orders == "any" or tuple(order) in orders or list(order) == sorted(order)


_ANY = Rule()


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
