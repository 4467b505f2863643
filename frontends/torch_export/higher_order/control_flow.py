"""Imports higher-order operators: branches and loops as regions of `scf`, calls of subgraphs inline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, cast

import torch
from torch import fx
from torch._ops import HigherOrderOperator
from torch.utils._pytree import tree_flatten, tree_unflatten
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, LocationAttr, f64, i1, i64
from xdsl.dialects.utils.dynamic_index_list import split_dynamic_index_list
from xdsl.ir import Attribute, Block, Operation, SSAValue

from flambeau.dialects.flambeau.symbol_operations import ValueOp
from flambeau.dialects.ir.extents import is_known, provably_equal
from flambeau.dialects.ir.tensor_types import Tensor, may_equal, shape_of, tensor_type
from flambeau.dialects.ir.tensor_types import tensor as make_type
from flambeau.dialects.schema.namespace import aten
from flambeau.frontends.torch_export.data_numbers import Arithmetic, DataNumber
from flambeau.frontends.torch_export.exported_symbols import Symbols
from flambeau.frontends.torch_export.higher_order.subgraph_writes import have_subgraph_writes
from flambeau.frontends.torch_export.imported_operators import UnsupportedError, tensor_type_of
from flambeau.frontends.torch_export.symbolic_numbers import import_value, refuse_inexpressible

_NUMBERS: dict[Attribute, Any] = {i1: bool | torch.SymBool, i64: int | torch.SymInt, f64: float | torch.SymFloat}
"""The Python and PyTorch types of numbers, by the types of numbers in the IR."""
_WRAPPED = torch.ops.export.access_subclass_inner_tensor.default
"""The operator that reads a plain tensor of a weight that is a tensor subclass, such as torchao's quantized weights."""


def _is_value(value: object) -> TypeGuard[SSAValue]:
    return isinstance(value, SSAValue)


class Builder(Protocol):
    """A protocol for emitting the calls of a graph."""

    symbols: Symbols
    """The symbols of the program."""

    block: Block
    """The current block."""

    def add(self, op: Operation, where: LocationAttr) -> None:
        """Adds an operation to the current block."""
        ...

    def emitting_to(self, block: Block) -> AbstractContextManager[None]:
        """Makes `block` the current block."""
        ...

    def inline(self, module: fx.GraphModule, operands: Sequence[Any]) -> list[Any]:
        """Emits the calls of a graph with operands for its placeholders, and returns the values of its outputs."""
        ...


def needs_retracing(module: fx.GraphModule) -> bool:
    """Returns whether only PyTorch's retracing can resolve some part of the graph.

    Such a part is an enabled autocast, `vmap`, a write inside of a subgraph, or a read of the plain tensors that a weight wraps.
    """
    subgraphs = [item for item in module.modules() if item is not module and isinstance(item, fx.GraphModule)]
    calls = [node for graph in (module, *subgraphs) for node in graph.graph.nodes if node.op == "call_function"]
    return have_subgraph_writes(module) or any(_is_retraced(node) for node in calls)


def _is_retraced(node: fx.Node) -> bool:
    if node.target is _WRAPPED:
        return True
    if node.target is torch.ops.higher_order.wrap_with_autocast:
        return node.args[2] is not False
    return getattr(node.target, "__module__", None) == "torch._functorch.predispatch"


@dataclass
class _Importer:
    """An importer of one call of a higher-order operator."""

    builder: Builder
    where: LocationAttr
    results: Sequence[Any]
    """PyTorch's metadata of the results: tensors and numbers."""

    def __post_init__(self) -> None:
        self.types = [self._type(item) for item in self.results]

    def _type(self, value: Any) -> Attribute:
        if isinstance(value, torch.Tensor):
            return tensor_type_of(value, self.builder.symbols)
        for kind, held in _NUMBERS.items():
            if isinstance(value, held):
                return kind
        what = "None" if value is None else f"a {type(value).__name__}"
        raise UnsupportedError(f"one of its results is {what}; make it a tensor or a number")

    def insert(self, op: Operation) -> None:
        """Adds an operation."""
        self.builder.add(op, self.where)

    def emit(self, op: Operation) -> SSAValue:
        """Adds an operation and returns its first result."""
        self.insert(op)
        return op.results[0]

    def number(self, value: int) -> SSAValue:
        """Emits a number or an extent as a value of type `index`, and returns this value."""
        return self.emit(ValueOp(value, IndexType()) if not is_known(value) else arith.ConstantOp(IntegerAttr(value, IndexType())))

    def sizes(self, shape: Sequence[int]) -> list[SSAValue | int]:
        """Returns the sizes of a shape: numbers unchanged, and extents as emitted values of type `index`."""
        return [size if is_known(size) else self.number(size) for size in shape]

    def values(self, given: Sequence[Any], types: Sequence[Attribute]) -> list[SSAValue]:
        """Returns tensors and numbers as values of the given types; emits a copy of a tensor in another layout.

        Raises UnsupportedError if the counts differ, or if a type does not fit.
        """
        if len(given) != len(types):
            raise UnsupportedError(f"a subgraph gives {len(given)} values where {len(types)} are expected")
        return [self._value(item, kind) for item, kind in zip(given, types, strict=True)]

    def _value(self, value: Any, kind: Attribute) -> SSAValue:
        if kind in _NUMBERS and isinstance(value, int | float | DataNumber):
            return Arithmetic(self.insert).value(value, kind)
        if not _is_value(value) or kind in _NUMBERS:
            raise UnsupportedError(f"it passes a {type(value).__name__} from one region to another; make it a tensor or a number")
        if value.type == kind:
            return value
        if not may_equal(shape_of(value), shape_of(kind)) or tensor_type(value).element_type != cast(Tensor, kind).element_type:
            raise UnsupportedError(f"a subgraph gives {value.type} where {kind} is expected")
        return self.emit(aten.clone(value, result_types=[kind]).op)

    def condition(self, predicate: Any) -> SSAValue:
        """Returns a condition as a value of type `i1`: a bool, or the only element of a tensor. Raises UnsupportedError."""
        arithmetic = Arithmetic(self.insert)
        if isinstance(predicate, DataNumber | bool):
            return arithmetic.value(predicate, i1)
        refuse_inexpressible(predicate)
        if not _is_value(predicate):
            raise UnsupportedError(f"its condition is a {type(predicate).__name__}; make it a tensor")
        return arithmetic.truth(predicate)

    def enter(self, module: fx.GraphModule, args: Sequence[SSAValue], extra: Sequence[Any]) -> list[Any]:
        """Emits the calls of a graph whose first placeholders are arguments of the current block, and returns the values of its outputs."""
        held = [node.meta.get("val") for node in module.graph.nodes if node.op == "placeholder"]
        return self.builder.inline(module, [*map(self._held, args, held), *extra])

    def _held(self, value: SSAValue, known: Any) -> Any:
        return import_value(value, known, self.builder.symbols, self.insert)

    def given(self) -> list[Any]:
        """Returns the results of the last operator as values for its users: extents for `index` results, else SSA values."""
        last = self.builder.block.last_op
        assert last is not None
        return list(map(self._held, last.results, self.results))

    def branch(self, module: fx.GraphModule, operands: Sequence[Any]) -> tuple[Block, list[Any]]:
        """Returns the block of a branch, and the values of its outputs."""
        block = Block()
        with self.builder.emitting_to(block):
            return block, self.builder.inline(module, operands)

    def end(self, block: Block, values: Sequence[Any]) -> Block:
        """Adds the `scf.yield` of a block."""
        with self.builder.emitting_to(block):
            self._emit_yield(values)
        return block

    def _emit_yield(self, values: Sequence[Any]) -> None:
        self.insert(scf.YieldOp(*self.values(values, self.types)))

    def cond(self, predicate: Any, on_true: fx.GraphModule, on_false: fx.GraphModule, operands: Sequence[Any]) -> Operation:
        """Returns the `scf.if` of a `torch.cond`."""
        condition = self.condition(predicate)
        branches = [self.branch(module, operands) for module in (on_true, on_false)]
        given = zip(*(values for _, values in branches), strict=True)
        self.types = [self._common(kind, values) for kind, values in zip(self.types, given, strict=True)]
        on_true_block, on_false_block = (self.end(*branch) for branch in branches)
        return scf.IfOp(condition, self.types, [on_true_block], [on_false_block])

    def _common(self, kind: Attribute, values: Sequence[Any]) -> Attribute:
        """Returns the result type `kind`; where all branches give the same size, this size replaces the declared symbol.

        From then on, this size also replaces the symbol in the rest of the program.
        """
        shapes = [shape_of(value) for value in values if _is_value(value)]
        if kind in _NUMBERS or any(len(shape) != len(shape_of(kind)) for shape in shapes):
            return kind
        for declared, first, *others in zip(shape_of(kind), *shapes, strict=True):
            if all(provably_equal(first, other) for other in others):
                self.builder.symbols.equate(declared, first)
        return self.builder.symbols.renewed(cast(Tensor, kind))

    def while_loop(self, test: fx.GraphModule, body: fx.GraphModule, carried: Sequence[Any], extra: Sequence[Any]) -> Operation:
        """Returns the `scf.while` of a `while_loop`."""
        start = self.values(carried, self.types)
        before, after = Block(arg_types=self.types), Block(arg_types=self.types)
        with self.builder.emitting_to(before):
            (predicate,) = self.enter(test, before.args, extra)
            self.insert(scf.ConditionOp(self.condition(predicate), *before.args))
        with self.builder.emitting_to(after):
            self._emit_yield(self.enter(body, after.args, extra))
        return scf.WhileOp(start, self.types, [before], [after])

    def scan(self, body: fx.GraphModule, start: Sequence[Any], sequences: Sequence[Any], extra: Sequence[Any]) -> Operation:
        """Returns the `scf.for` of a `scan` over the outermost dimension of the sequences, or of a `map` if nothing is carried."""
        rows = [item for item in sequences if _is_value(item)]
        if len(rows) != len(sequences):
            raise UnsupportedError("one of its sequences is not a tensor")
        carried = self.values(start, self.types[: len(start)])
        block = Block(arg_types=[IndexType(), *self.types[: len(start)]])
        index, *held = block.args
        with self.builder.emitting_to(block):
            outputs = self.enter(body, held, [*(self._row(item, index) for item in rows), *extra])
        # Some sizes are known only after the body was imported.
        kinds = [self._type(item) for item in self.results[len(start) :]]
        self.types[len(start) :] = kinds
        stacked = [self._empty(kind) for kind in kinds]
        zero, length, one = self.number(0), self.number(shape_of(rows[0])[0]), self.number(1)
        whole = [block.insert_arg(kind, len(block.args)) for kind in kinds]
        with self.builder.emitting_to(block):
            parts = self.values(outputs[len(start) :], [_row_type(kind) for kind in kinds])
            wholes = [self._with_row(item, part, index) for item, part in zip(whole, parts, strict=True)]
            self._emit_yield([*outputs[: len(start)], *wholes])
        return scf.ForOp(zero, length, one, [*carried, *stacked], block)

    def _empty(self, kind: Attribute) -> SSAValue:
        return self.emit(tensor.EmptyOp([self.number(size) for size in shape_of(kind) if not is_known(size)], kind))

    def _row(self, source: SSAValue, index: SSAValue) -> SSAValue:
        rest = shape_of(source)[1:]
        offsets: list[SSAValue | int] = [index, *(0 for _ in rest)]
        return self.emit(tensor.ExtractSliceOp(source, offsets, [1, *self.sizes(rest)], [1] * len(offsets), _row_type(source)))

    def _with_row(self, whole: SSAValue, part: SSAValue, index: SSAValue) -> SSAValue:
        sizes, dynamic = split_dynamic_index_list([1, *self.sizes(shape_of(whole)[1:])], DYNAMIC_INDEX)
        return self.emit(tensor.InsertSliceOp.get(part, whole, sizes, offsets=[index], sizes=dynamic))


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
"""For each operator that calls a subgraph once: a function from its arguments to the subgraph and the operands of the subgraph."""


def check_higher_order(operator: HigherOrderOperator) -> None:
    """Raises UnsupportedError for an operator that has no form in the IR."""
    supported = sorted((*_CALLS, *_CONTROL_FLOW))
    if operator.name() not in supported:
        raise UnsupportedError(f"this higher-order operator has no form in the IR; those with one are {', '.join(supported)}")


def import_higher_order(operator: HigherOrderOperator, args: Sequence[Any], results: Any, where: LocationAttr, builder: Builder) -> Any:
    """Emits a call of a higher-order operator that `check_higher_order` accepts, and returns its results in PyTorch's nesting.

    Args:
        operator: the operator.
        args: its arguments, values in place of nodes.
        results: PyTorch's metadata of its results.
        where: the location of the emitted operations.
        builder: emits the calls of the subgraphs.

    Raises:
        UnsupportedError: an input or output of its subgraphs is neither a tensor nor a number.
    """
    name = operator.name()
    leaves, nesting = tree_flatten(results)
    if name in _CALLS:
        return tree_unflatten(builder.inline(*_CALLS[name](args)), nesting)
    importer = _Importer(builder, where, leaves)
    importer.insert(_CONTROL_FLOW[name](importer, args))
    return tree_unflatten(importer.given(), nesting)
