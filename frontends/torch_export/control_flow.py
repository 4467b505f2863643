"""Imports higher-order operators: branches and loops as regions of `scf`, calls of subgraphs in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, cast

import torch
from torch import fx
from torch._higher_order_ops.auto_functionalize import auto_functionalized, auto_functionalized_v2
from torch._ops import HigherOrderOperator, OpOverload
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor_type
from flambeau.dialects.ir.tensor_types import tensor as make_type
from flambeau.dialects.schema.operators import find_op
from flambeau.frontends.torch_export.exported_graph import Overload, schema_of
from flambeau.frontends.torch_export.imported_operators import UnsupportedError


def _is_value(value: object) -> TypeGuard[SSAValue]:
    return isinstance(value, SSAValue)


class Builder(Protocol):
    """What emits the calls of a graph."""

    def add(self, op: Operation, where: LocationAttr) -> None:
        """Adds an operation to the current block."""
        ...

    def emitting_to(self, block: Block) -> AbstractContextManager[None]:
        """Makes `block` the current block."""
        ...

    def inline(self, module: fx.GraphModule, operands: Sequence[Any]) -> list[Any]:
        """Emits the calls of a graph for the values of its placeholders; gives those of its outputs."""
        ...


def needs_retracing(module: fx.GraphModule) -> bool:
    """Whether the graph has what only PyTorch's retracing resolves: an enabled autocast, `vmap`, a write inside of a subgraph."""
    subgraphs = [item for item in module.modules() if item is not module and isinstance(item, fx.GraphModule)]
    calls = [node for graph in (module, *subgraphs) for node in graph.graph.nodes if node.op == "call_function"]
    writes = [node for graph in subgraphs for node in graph.graph.nodes if _writes(node.target)]
    return bool(writes) or any(_is_context(node) for node in calls)


def _writes(target: Any) -> bool:
    return isinstance(target, OpOverload) and schema_of(cast(Overload, target)).is_mutable


def _is_context(node: fx.Node) -> bool:
    if node.target is torch.ops.higher_order.wrap_with_autocast:
        return node.args[2] is not False
    return getattr(node.target, "__module__", None) == "torch._functorch.predispatch"


@dataclass
class _Importer:
    """One call of a higher-order operator."""

    builder: Builder
    where: LocationAttr
    types: Sequence[Tensor]
    """The types of its results."""

    def emit(self, op: Operation) -> SSAValue:
        """Adds an operation; gives its first result."""
        self.builder.add(op, self.where)
        return op.results[0]

    def number(self, value: int) -> SSAValue:
        """A constant of type `index`."""
        return self.emit(arith.ConstantOp(IntegerAttr(value, IndexType())))

    def values(self, given: Sequence[Any], types: Sequence[Attribute]) -> list[SSAValue]:
        """Tensors as values of these types, row-major where they have another dim order. Raises UnsupportedError."""
        if len(given) != len(types):
            raise UnsupportedError(f"a subgraph gives {len(given)} values where {len(types)} are expected")
        return [self._value(item, kind) for item, kind in zip(given, types, strict=True)]

    def _value(self, value: Any, kind: Attribute) -> SSAValue:
        if not _is_value(value):
            raise UnsupportedError(f"it passes a {type(value).__name__} from one region to another; make it a tensor")
        if value.type == kind:
            return value
        if shape_of(value) != shape_of(kind) or tensor_type(value).element_type != cast(Tensor, kind).element_type:
            raise UnsupportedError(f"a subgraph gives {value.type} where {kind} is expected")
        clone = find_op("aten.clone")
        assert clone is not None
        return self.emit(clone(value, result_types=[kind]))

    def condition(self, predicate: Any) -> SSAValue:
        """The only element of a tensor of bools."""
        if not _is_value(predicate):
            raise UnsupportedError(f"its condition is a {type(predicate).__name__}; make it a tensor")
        return self.emit(tensor.ExtractOp(predicate, [self.number(0) for _ in shape_of(predicate)], element_of(tensor_type(predicate))))

    def branch(self, module: fx.GraphModule, operands: Sequence[Any]) -> Block:
        """The block of a branch."""
        block = Block()
        with self.builder.emitting_to(block):
            self._emit_yield(self.builder.inline(module, operands))
        return block

    def _emit_yield(self, values: Sequence[Any]) -> None:
        self.builder.add(scf.YieldOp(*self.values(values, self.types)), self.where)

    def cond(self, predicate: Any, on_true: fx.GraphModule, on_false: fx.GraphModule, operands: Sequence[Any]) -> Operation:
        """`torch.cond`."""
        condition = self.condition(predicate)
        return scf.IfOp(condition, self.types, [self.branch(on_true, operands)], [self.branch(on_false, operands)])

    def while_loop(self, test: fx.GraphModule, body: fx.GraphModule, carried: Sequence[Any], extra: Sequence[Any]) -> Operation:
        """`while_loop`."""
        start = self.values(carried, self.types)
        before, after = Block(arg_types=self.types), Block(arg_types=self.types)
        with self.builder.emitting_to(before):
            (predicate,) = self.builder.inline(test, [*before.args, *extra])
            self.builder.add(scf.ConditionOp(self.condition(predicate), *before.args), self.where)
        with self.builder.emitting_to(after):
            self._emit_yield(self.builder.inline(body, [*after.args, *extra]))
        return scf.WhileOp(start, self.types, [before], [after])

    def scan(self, body: fx.GraphModule, start: Sequence[Any], sequences: Sequence[Any], extra: Sequence[Any]) -> Operation:
        """`scan` over the outermost dimension of the sequences; with nothing carried, `map`."""
        rows = [item for item in sequences if _is_value(item)]
        if len(rows) != len(sequences):
            raise UnsupportedError("one of its sequences is not a tensor")
        carried = self.values(start, self.types[: len(start)])
        stacked = [self.emit(tensor.EmptyOp([], kind)) for kind in self.types[len(start) :]]
        zero, length, one = self.number(0), self.number(shape_of(rows[0])[0]), self.number(1)
        block = Block(arg_types=[IndexType(), *self.types])
        index, *held = block.args
        with self.builder.emitting_to(block):
            outputs = self.builder.inline(body, [*held[: len(start)], *(self._row(item, index) for item in rows), *extra])
            parts = self.values(outputs[len(start) :], [_row_type(kind) for kind in self.types[len(start) :]])
            wholes = [self._with_row(whole, part, index) for whole, part in zip(held[len(start) :], parts, strict=True)]
            self._emit_yield([*outputs[: len(start)], *wholes])
        return scf.ForOp(zero, length, one, [*carried, *stacked], block)

    def _row(self, source: SSAValue, index: SSAValue) -> SSAValue:
        rest = shape_of(source)[1:]
        offsets: list[SSAValue | int] = [index, *(0 for _ in rest)]
        return self.emit(tensor.ExtractSliceOp(source, offsets, [1, *rest], [1] * len(offsets), _row_type(source)))

    def _with_row(self, whole: SSAValue, part: SSAValue, index: SSAValue) -> SSAValue:
        return self.emit(tensor.InsertSliceOp.get(part, whole, [1, *shape_of(whole)[1:]], offsets=[index]))


def _row_type(kind: Attribute | SSAValue) -> Tensor:
    return make_type(tensor_type(kind).element_type, shape_of(kind)[1:])


_CONTROL_FLOW: dict[str, Callable[[_Importer, Sequence[Any]], Operation]] = {
    "cond": lambda importer, args: importer.cond(*args),
    "while_loop": lambda importer, args: importer.while_loop(*args),
    "map_impl": lambda importer, args: importer.scan(args[0], (), args[1], args[2]),
    "scan": lambda importer, args: importer.scan(*args),
}
_CALLS: dict[str, Callable[[Sequence[Any]], tuple[fx.GraphModule, Sequence[Any]]]] = {
    "invoke_subgraph": lambda args: (args[0], args[2:]),
    "tag_activation_checkpoint": lambda args: (args[0], args[1:]),
    "wrap_activation_checkpoint": lambda args: (args[0], args[1:]),
    "strict_mode": lambda args: (args[0], args[1]),
    "hints_wrapper": lambda args: (args[0], args[1]),
}
"""Operators that call a subgraph once: the subgraph and its operands."""


def check_operator(operator: HigherOrderOperator) -> None:
    """Raises UnsupportedError for an operator that has no form in the IR."""
    if operator in (auto_functionalized, auto_functionalized_v2):
        raise UnsupportedError("the custom operator that it calls writes to its arguments; give it a variant that returns new tensors")
    supported = sorted((*_CALLS, *_CONTROL_FLOW))
    if operator.name() not in supported:
        raise UnsupportedError(f"this higher-order operator has no form in the IR; those with one are {', '.join(supported)}")


def import_higher_order(
    operator: HigherOrderOperator, args: Sequence[Any], types: Sequence[Tensor], where: LocationAttr, builder: Builder
) -> list[Any]:
    """Emits a call of a higher-order operator that `check_operator` accepts; gives its results.

    Args:
        operator: what is called.
        args: its arguments, values in place of nodes.
        types: those of its results.
        where: the location of what is emitted.
        builder: emits the calls of the subgraphs.

    Raises:
        UnsupportedError: something that passes into its subgraphs or out of them is not a tensor.
    """
    name = operator.name()
    if name in _CALLS:
        return builder.inline(*_CALLS[name](args))
    op = _CONTROL_FLOW[name](_Importer(builder, where, types), args)
    builder.add(op, where)
    return list(op.results)
