"""Imports calls of custom operators that write to their arguments, which PyTorch's functionalisation wraps in `auto_functionalized`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

import torch
from torch._higher_order_ops.auto_functionalize import (
    AsStridedViewInfo,
    SliceViewInfo,
    auto_functionalized,
    auto_functionalized_v2,
    get_mutable_args,
    read_view_information_from_args,
)
from torch._ops import OpOverload
from xdsl.ir import SSAValue

from flambeau.dialects.ir.tensor_types import element_of, shape_of, tensor
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_functions import flat_results
from flambeau.frontends.torch_export.exported_graph import Overload, Step, schema_of
from flambeau.frontends.torch_export.exported_symbols import Symbols
from flambeau.frontends.torch_export.imported_operators import NO_ROW, Insert, UnsupportedError, build, operator_class, out_class
from flambeau.frontends.torch_export.values import dense_order, tensor_type_of


def is_writing_call(step: Step) -> bool:
    """Returns whether a step calls an operator that writes to its arguments, in the functional form that returns their new values."""
    return step.node.target in (auto_functionalized, auto_functionalized_v2)


def _writing_row(overload: Any) -> type[SchemaOp]:
    """Returns the row of an operator that writes to its arguments. Raises UnsupportedError unless a row declares all of these writes."""
    if not isinstance(overload, OpOverload):
        raise UnsupportedError("it is a higher-order operator that writes to what it captures; return the new values instead")
    found = cast(Overload, overload)
    cls = out_class(found) if torch.Tag.out in found.tags else operator_class(found)
    if cls is None:
        raise UnsupportedError(NO_ROW)
    names = [] if torch.Tag.out in found.tags else get_mutable_args(found)[0]
    if list(cls.schema.written) != names:
        raise UnsupportedError(f"its row does not say that it writes to {', '.join(names)}; give the row the schema {schema_of(found)}")
    return cls


@dataclass
class WritingCall:
    """A call of an operator that writes to tensors or to views of them, and returns the new values after its results."""

    step: Step
    given: Mapping[str, Any]
    """The arguments by name, with values in place of nodes."""
    symbols: Symbols
    insert: Insert

    def emit(self) -> Any:
        """Emits the operator, and the updates of tensors from their views. Returns the operator's results, then the tensors' new values.

        Raises:
            UnsupportedError: the operator has no row that declares its writes, or two of the views share memory.
        """
        cls = _writing_row(self.step.args[0])
        overload = cast(Overload, self.step.args[0])
        given = dict(self.given)
        if torch.Tag.out in overload.tags:
            results = self._call(cls, given)
            return results if len(results) > 1 else results[0]
        if self.step.node.target is auto_functionalized:
            return self._results(cls, self._call(cls, given), [given[name] for name in cls.schema.written])
        bases = cast("list[SSAValue]", given.pop("_all_bases", []))
        views = read_view_information_from_args(*get_mutable_args(overload), given, cast(Any, bases))
        given.update({name: self._views(view, bases) for name, view in views.items()})
        results = self._call(cls, given)
        written = flat_results(list(views.values()))
        self._check_apart(written)
        news: list[SSAValue] = list(bases)
        for view, value in zip(written, results[len(results) - len(written) :], strict=True):
            base = int(view.base_index)
            news[base] = self._put(view, news[base], value)
        return [*self._returned(cls, results), *news]

    def _call(self, cls: type[SchemaOp], given: Mapping[str, Any]) -> list[SSAValue]:
        held = self.step.node.meta["val"]
        held = [held] if isinstance(held, torch.Tensor) else held
        written = flat_results([given[name] for name in cls.schema.written])
        computed = len(cls.schema.returns) - len(cls.schema.written)
        types = [tensor_type_of(item, self.symbols) for item in held[:computed]]
        op = build(cls, given, [*types, *(tensor(element_of(value), shape_of(value)) for value in written)], self.insert)
        for result, value in zip(op.results[computed:], written, strict=True):
            result.name_hint = value.name_hint
        op.verify_()
        self.insert(op)
        return list(op.results)

    def _returned(self, cls: type[SchemaOp], results: Sequence[SSAValue]) -> list[Any]:
        """Returns the operator's own results: [None] if it has none, the new value if it returns an argument that it writes."""
        if schema_of(cast(Overload, self.step.args[0])).returns and len(cls.schema.returns) == len(cls.schema.written):
            return list(results)
        return list(results[: len(cls.schema.returns) - len(cls.schema.written)]) or [None]

    def _results(self, cls: type[SchemaOp], results: Sequence[SSAValue], written: Sequence[Any]) -> list[Any]:
        news = iter(results[len(results) - len(flat_results(list(written))) :])
        nested = [
            [next(news) for _ in cast("Sequence[Any]", item)] if isinstance(item, list) else None if item is None else next(news)
            for item in written
        ]
        return [*self._returned(cls, results), *nested]

    # Views

    def _views(self, view: Any, bases: Sequence[SSAValue]) -> Any:
        if view is None or isinstance(view, list):
            return None if view is None else [self._views(item, bases) for item in cast("list[Any]", view)]
        base = bases[int(view.base_index)]
        match view:
            case SliceViewInfo():
                return self._emit("aten.slice.Tensor", base, view.dim, view.start, view.end, 1)
            case AsStridedViewInfo():
                return self._emit("aten.as_strided", self._in_memory_order(view, base), *_numbers(view))
            case _:
                return base

    def _put(self, view: Any, base: SSAValue, value: SSAValue) -> SSAValue:
        """Returns `base` with the elements of a view replaced by `value`."""
        match view:
            case SliceViewInfo():
                return self._emit("aten.slice_scatter", base, value, view.dim, view.start, view.end, 1)
            case AsStridedViewInfo():
                order = self._order(view)
                found = self._emit("aten.as_strided_scatter", self._in_memory_order(view, base), value, *_numbers(view))
                back = tuple(sorted(range(len(order)), key=order.__getitem__))
                return found if list(order) == sorted(order) else self._emit("aten.permute", found, back)
            case _:
                return value

    def _emit(self, name: str, *args: Any) -> SSAValue:
        cls = find_op(name)
        assert cls is not None
        op = cls(*args)
        self.insert(op)
        return op.result

    def _in_memory_order(self, view: AsStridedViewInfo, base: SSAValue) -> SSAValue:
        order = self._order(view)
        return base if list(order) == sorted(order) else self._emit("aten.permute", base, order)

    def _order(self, view: AsStridedViewInfo) -> tuple[int, ...]:
        """Returns the dimensions of the tensor that a view is based on, from the outermost to the innermost in memory.

        Raises UnsupportedError if the elements of that tensor overlap, leave gaps or do not begin at the start of its memory.
        """
        base = self._base(view)
        order = dense_order(base) if base.storage_offset() == 0 else None
        if order is None:
            raise UnsupportedError("it writes to a view of a tensor whose elements do not lie together; write to a clone()")
        return order

    def _base(self, view: Any) -> torch.Tensor:
        bases = cast("Sequence[Any]", self.step.kwargs["_all_bases"])
        return bases[int(view.base_index)].meta["val"]

    def _check_apart(self, views: Sequence[Any]) -> None:
        """Raises UnsupportedError for two written arguments that may share elements."""
        for a, b in combinations(views, 2):
            if a.base_index == b.base_index and not _are_apart(self._base(a), a, b):
                raise UnsupportedError("two of the arguments that it writes to may share memory; write to a clone() of one of them")


def _numbers(view: AsStridedViewInfo) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    return tuple(cast("Sequence[int]", view.size)), tuple(cast("Sequence[int]", view.stride)), view.storage_offset


def _are_apart(base: torch.Tensor, a: Any, b: Any) -> bool:
    """Returns whether two views of a tensor have no element in common; False if their sizes, strides or offsets are unknown."""
    try:
        if isinstance(a, SliceViewInfo) and isinstance(b, SliceViewInfo) and a.dim == b.dim and a.start >= 0 and b.start >= 0:
            return bool(a.end <= b.start or b.end <= a.start)
        places = torch.arange(int(base.untyped_storage().nbytes()) // base.element_size()).as_strided(base.shape, base.stride())
        seen = [set(view.regenerate_view([places] * (view.base_index + 1)).flatten().tolist()) for view in (a, b)]
    except (TypeError, ValueError, RuntimeError, AttributeError):
        return False
    return seen[0].isdisjoint(seen[1])
