"""Functions for loops over elements: one that computes a vector of elements, and one that goes through the tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, FunctionType, IndexType, IntegerAttr, StringAttr, TensorType, i32
from xdsl.dialects.emitc import EmitC_CallOpaqueOp, EmitC_PointerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from flambeau.dialects.cpu import ElementOp, LoopOp
from flambeau.dialects.emitc import ConstantOp, ForOp, FuncOp, ReturnOp, YieldOp
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.passes.emission.c_variables import Declarations, opaque, text
from flambeau.passes.emission.lanes import elementwise_row, number_of
from flambeau.passes.emission.loop_nests import LoopNest, loop_nest
from flambeau.passes.emission.slot_values import SlotValues, c_double

LANES_HEADER = "flambeau/kernels/lanes.h"
"""The header of the functions of vectors."""
_VECTOR = opaque("fl_vec")
_READ = EmitC_PointerType(opaque("const float"))
_WRITTEN = EmitC_PointerType(opaque("float"))


def call(function: str, *arguments: str | int | SSAValue, results: Sequence[Attribute] = ()) -> EmitC_CallOpaqueOp:
    """Returns a call of `function`: words are printed as they are, values by name."""
    values = [argument for argument in arguments if isinstance(argument, SSAValue)]
    written: list[Attribute] = []
    for argument in arguments:
        if isinstance(argument, SSAValue):
            written.append(IntegerAttr(values.index(argument), IndexType()))
        else:
            written.append(IntegerAttr(argument, i32) if isinstance(argument, int) else text(argument))
    return EmitC_CallOpaqueOp(function, values, list(results), ArrayAttr(written))


@dataclass
class LoopFunctions:
    """The functions of the loops of a program: loops that compute the same of other memory have one function."""

    declarations: Declarations
    ops: list[Operation] = field(default_factory=list[Operation])
    _known: dict[str, str] = field(default_factory=dict[str, str])

    def call(self, op: LoopOp, values: SlotValues) -> Operation:
        """Returns the call of a loop's function, which cannot fail, and declares the function at its first use.

        Raises OperationError for a loop that has none: over elements that do not follow each other, or operators of other types.
        """
        tensors = [index for index, slot in enumerate(op.ins) if isinstance(slot.type, TensorType)]
        slots = [*(op.ins[index] for index in tensors), *op.outs]
        nest = loop_nest(op.outs[0].type, [slot.type for slot in slots]) if op.outs else None
        if nest is None:
            raise OperationError(op, "a loop of C goes through tensors of static sizes whose innermost elements follow each other")
        pointers = [_READ] * len(tensors) + [_WRITTEN] * len(op.outs)
        made = [
            FuncOp("vector", FunctionType.from_lists([*pointers, IndexType()], []), ("FL_INLINE",), _vector_body(op, tensors, nest)),
            FuncOp("loop", FunctionType.from_lists(pointers, []), ("static",), _nest_body(nest, pointers)),
        ]
        content = "".join(map(str, made))
        if (name := self._known.get(content)) is None:
            name = self._known[content] = self.declarations.reserve(f"loop_{len(self._known)}")
            for function, suffix in zip(made, ("_vector", ""), strict=True):
                function.properties["sym_name"] = StringAttr(f"{name}{suffix}")
                for inner in function.walk():
                    if isinstance(inner, EmitC_CallOpaqueOp) and inner.callee.data == "vector":
                        inner.properties["callee"] = StringAttr(f"{name}_vector")
            self.ops += made
        at = [
            f"{'FL_FLOATS_AT' if type is _WRITTEN else 'FL_CONST_FLOATS_AT'}({values.elements(slot)})"
            for slot, type in zip(slots, pointers, strict=True)
        ]
        return call(name, *at)


def _vector_body(op: LoopOp, tensors: Sequence[int], nest: LoopNest) -> Region:
    """Returns the computation of as many elements as a vector has, or fewer."""
    block = Block(arg_types=[*[_READ] * len(tensors), *[_WRITTEN] * len(op.outs), IndexType()])
    for argument, hint in zip(block.args, [*["x"] * len(tensors), *["r"] * len(op.outs), "n"], strict=True):
        argument.name_hint = hint
    count = block.args[-1]
    known: dict[SSAValue, SSAValue] = {}
    for position, index in enumerate(tensors):
        pointer = block.args[position]
        is_vector = nest.strides[position][-1] != 0
        loaded = call("fl_load_lanes" if is_vector else "fl_load_splat", pointer, *([count] if is_vector else []), results=[_VECTOR])
        block.add_op(loaded)
        known[op.body.block.args[index]] = loaded.results[0]
    for item in op.elements:
        made = call(*_function(op, item, known), results=[_VECTOR])
        block.add_op(made)
        known[item.result] = made.results[0]
    for pointer, value in zip(block.args[len(tensors) : -1], op.yielded, strict=True):
        block.add_op(call("fl_store_lanes", pointer, known[value], count))
    block.add_op(ReturnOp())
    return Region(block)


def _function(op: LoopOp, item: ElementOp, known: dict[SSAValue, SSAValue]) -> tuple[str, *tuple[str | SSAValue, ...]]:
    """Returns the function of an operator, and its arguments."""
    slots: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, op.ins, strict=True))
    given = [slots.get(value, value) for value in item.arguments]
    row = elementwise_row(item.operator.data, given)
    if row is None:
        raise OperationError(item, f"no loop of C computes {item.operator.data} of these operands")
    arguments: list[str | SSAValue] = []
    for kind, value, slot in zip(row.arguments, item.arguments, given, strict=True):
        match kind, number_of(slot):
            case "v", _:
                arguments.append(known[value])
            case "s", float() as number:
                arguments.append(f"fl_set((float){c_double(number)})")
            case "p", float() as number:
                arguments.append(c_double(number))
            case _:
                pass
    return (row.function, *arguments)


def _nest_body(nest: LoopNest, pointers: Sequence[Attribute]) -> Region:
    """Returns the loops, of which the innermost one goes in steps of a vector."""
    block = whole = Block(arg_types=pointers)

    def constant(value: str) -> SSAValue:
        made = ConstantOp(text(value), IndexType())
        block.add_op(made)
        return made.result

    def moved(at: Sequence[SSAValue], by: str | SSAValue, strides: Sequence[int]) -> list[SSAValue]:
        found: list[SSAValue] = []
        for pointer, stride in zip(at, strides, strict=True):
            if stride:
                made = call("FL_AT", pointer, by, stride, results=[pointer.type])
                block.add_op(made)
                found.append(made.results[0])
            else:
                found.append(pointer)
        return found

    at: list[SSAValue] = list(block.args)
    for argument, type in zip(block.args, pointers, strict=True):
        argument.name_hint = "r" if type is _WRITTEN else "x"
    steps = list(zip(*nest.strides, strict=True))
    for depth, size in enumerate(nest.sizes[:-1]):
        body = Block(arg_types=[IndexType()])
        body.args[0].name_hint = "i"
        block.add_op(ForOp(constant("0"), constant(str(size)), constant("1"), Region(body)))
        block = body
        at = moved(at, body.args[0], steps[depth])
    size = nest.sizes[-1]
    body = Block(arg_types=[IndexType()])
    body.args[0].name_hint = "i"
    block.add_op(ForOp(constant("0"), constant(f"FL_WHOLE_LANES({size})"), constant("FL_LANES"), Region(body)))
    outer, block = block, body
    block.add_op(call("vector", *moved(at, body.args[0], steps[-1]), "FL_LANES"))
    block.add_op(YieldOp())
    block = outer
    if size % 16:
        block.add_op(call("vector", *moved(at, f"FL_WHOLE_LANES({size})", steps[-1]), f"{size} % FL_LANES"))
    while block is not whole:
        block.add_op(YieldOp())
        parent = block.parent_op()
        assert parent is not None and parent.parent is not None
        block = parent.parent
    block.add_op(ReturnOp())
    return Region(whole)
