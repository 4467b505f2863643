"""Where the state lies that the methods of a program share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import StateOp, nbytes
from flambeau.passes.planning.buffers import align
from flambeau.passes.storage.slot_rewrites import methods_of


@dataclass(frozen=True)
class SharedState:
    """The arenas of state, after those of a method's own, in each of which a state has the same offset for every method."""

    places: Mapping[str, tuple[int, int]]
    """The arena, counted from 0, and the offset of each state, by the name of its global."""
    sizes: Sequence[int]
    """The bytes of each of these arenas."""
    banks: Sequence[int]
    """The bank of each."""

    def bytes_in(self, bank: int) -> int:
        """Returns the bytes that state takes of a bank."""
        return sum(size for size, own in zip(self.sizes, self.banks, strict=True) if own == bank)


def states_of(method: MethodOp) -> dict[str, StateOp]:
    """Returns the states of a method by the names of the globals."""
    return {op.global_name.string_value(): op for op in method.slots if isinstance(op, StateOp)}


def shared_state(method: MethodOp, alignment: int, bank_of: Callable[[StateOp], int], *, everything: bool) -> SharedState:
    """Returns the arenas of the state that a method has in common with others, the same for each of these methods.

    Args:
        method: one of a program's.
        alignment: of the offsets, in bytes.
        bank_of: gives the bank of a state.
        everything: whether state of a program of several methods is shared, although only one of them has it.
    """
    module = method.parent_op()
    states = {item: states_of(item) for item in (methods_of(module) if isinstance(module, ModuleOp) else [])}
    users = Counter(name for found in states.values() for name in found)
    least = 1 if everything and len(states) > 1 else 2
    sharing = [found for found in states.values() if any(users[name] >= least for name in found)]
    if states.get(method) not in sharing:
        return SharedState({}, (), ())
    ops = {name: op for found in sharing for name, op in found.items()}
    bank = {name: bank_of(op) for name, op in ops.items()}
    banks = sorted(set(bank.values()))
    ends = [0] * len(banks)
    places: dict[str, tuple[int, int]] = {}
    for name, op in ops.items():
        arena = banks.index(bank[name])
        places[name] = arena, ends[arena]
        ends[arena] += align(nbytes(op.slot.type), alignment)
    return SharedState(places, ends, banks)
