"""States of a program that a backend takes over: its runtime keeps them with the payload that reads and writes them."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Operation, OpResult

from flambeau.dialects.delegate.ops import STATES, CallOp, PartitionOp, states_of
from flambeau.dialects.ml_program import GlobalLoadOp, GlobalOp, GlobalStoreOp
from flambeau.passes.manager import count
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.uses import replace_uses
from flambeau.support.lazy import Array


def take_states(module: ModuleOp, constants: ModuleConstants, takes: Callable[[PartitionOp, Array], bool]) -> None:
    """Moves each state into the partition that alone reads and writes it, where `takes` says so of its first value.

    Its value becomes the last argument of the partition, and the new value its last result; the call has neither. A call keeps an
    argument and a result: a model has these.
    """
    partitions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, PartitionOp)}
    accesses: dict[str, list[GlobalLoadOp | GlobalStoreOp]] = {}
    for op in module.walk():
        if isinstance(op, GlobalLoadOp | GlobalStoreOp):
            accesses.setdefault(op.global_attr.string_value(), []).append(op)
    for item in [op for op in module.body.block.ops if isinstance(op, GlobalOp) and op.is_mutable is not None]:
        name = item.sym_name.data
        match accesses.get(name, []):
            case [GlobalLoadOp() as load, GlobalStoreOp() as store] if load.parent is store.parent:
                call, value = store.value.owner, constants.first_value(name)
                partition = partitions.get(call.callee.string_value()) if isinstance(call, CallOp) else None
                if partition is None or value is None or not isinstance(call, CallOp) or not _is_alone(load, store, call):
                    continue
                if call.parent is load.parent and takes(partition, value):
                    _move(partition, call, load, store, name)
                    item.detach()
                    item.erase()
                    count("states taken over")
            case _:
                pass


def _is_alone(load: GlobalLoadOp, store: GlobalStoreOp, call: CallOp) -> bool:
    """Returns whether a call alone reads a state, gives its new value to nothing else, and has other arguments and results."""
    readers = [use.operation for use in load.result.uses]
    return readers == [call] and store.value.has_one_use() and len(call.operands) > 1 and len(call.results) > 1


def _move(partition: PartitionOp, call: CallOp, load: GlobalLoadOp, store: GlobalStoreOp, name: str) -> None:
    block, end = partition.body.block, partition.body.block.last_op
    assert end is not None and isinstance(store.value, OpResult)
    argument, result = list(call.operands).index(load.result), store.value.index
    old = block.args[argument]
    last = block.insert_arg(old.type, len(block.args))
    replace_uses(old, last)
    block.erase_arg(old)
    values = list(end.operands)
    end.operands = [*values[:result], *values[result + 1 :], values[result]]
    partition.function_type = FunctionType.from_lists(list(block.arg_types), [value.type for value in end.operands])
    names = ArrayAttr([StringAttr(known) for known in (*states_of(partition), name)])
    partition.attributes[STATES] = names
    kept = [value for value in call.results if value.index != result]
    operands = [value for place, value in enumerate(call.operands) if place != argument]
    new = CallOp(call.callee, operands, [value.type for value in kept])
    new.attributes, new.location = {**call.attributes, STATES: names}, call.location
    assert call.parent is not None
    call.parent.insert_op_before(new, call)
    for before, after in zip(kept, new.results, strict=True):
        replace_uses(before, after)
    gone: tuple[Operation, ...] = (store, call, load)
    for op in gone:
        op.detach()
        op.erase()
