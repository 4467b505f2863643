"""The names by which a user means storage classes, and the banks that pins give these classes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from flambeau.dialects.exec.slots import StateOp, TensorSlotOp
from flambeau.dialects.ir.locations import module_paths, name_without_handle
from flambeau.passes.planning.banks import Bank
from flambeau.passes.storage.classes import MethodStorage, StorageClass
from flambeau.support.suggestions import did_you_mean

_PIN = re.compile(r"(.+)[:=](\w+)", re.ASCII)


def pins_of(texts: Sequence[str], banks: Sequence[Bank]) -> dict[str, int]:
    """Returns the index of the bank of each pinned name, from texts such as `encoder.conv1:sram`. Raises ValueError for an unknown bank."""
    names = [bank.name for bank in banks]
    found: dict[str, int] = {}
    for text in texts:
        parts = _PIN.fullmatch(text)
        if parts is None:
            raise ValueError(f"a pin is a name and a bank, as conv1{'=' if '=' in text else ':'}sram; not {text!r}")
        name, bank = parts.groups()
        if bank not in names:
            there = f"the banks are {', '.join(names)}" if names else "there are no banks"
            raise ValueError(f"{name} cannot lie in a bank {bank!r}{did_you_mean(bank, names)}; {there}")
        found.pop(name, None)
        found[name] = names.index(bank)
    return found


def state_names(op: StateOp) -> tuple[str, ...]:
    """Returns the names of a state."""
    return tuple(dict.fromkeys(name for name in (op.public_name, op.global_name.string_value()) if name))


def named_classes(storage: MethodStorage) -> dict[str, list[StorageClass]]:
    """Returns the classes that take memory of a plan by the names of their slots, inputs, outputs and states, and the paths of modules."""
    method = storage.method
    found: dict[str, dict[StorageClass, None]] = {}

    def add(name: str, item: StorageClass) -> None:
        if item.span is not None:
            found.setdefault(name, {})[item] = None

    printed = Counter[str]()
    for op in method.slots:
        if not isinstance(op, TensorSlotOp):
            continue
        item = storage[op.slot]
        if hint := op.slot.name_hint:
            add(name_without_handle(hint), item)
            if number := printed[hint]:
                add(f"{hint}_{number}", item)
            printed[hint] += 1
        for name in state_names(op) if isinstance(op, StateOp) else ():
            add(name, item)
        for path in module_paths(op.location):
            for outer in accumulate(path.split("."), "{}.{}".format):
                add(outer, item)
    for slots, names in (
        (method.terminator.inputs, method.input_names),
        (method.terminator.outputs, method.output_names),
    ):
        for slot, name in zip(slots, names or (), strict=False):
            if isinstance(slot.owner, TensorSlotOp):
                add(name.data, storage[slot])
    return {name: list(items) for name, items in found.items()}


def pinned_classes(named: Mapping[str, Sequence[StorageClass]], pins: Mapping[str, int]) -> dict[StorageClass, int]:
    """Returns the bank of each class that pins name; the last one that names a class counts."""
    return {item: bank for name, bank in pins.items() for item in named.get(name, ())}
