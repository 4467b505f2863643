"""How many bytes a run of a method moves through each storage class."""

from __future__ import annotations

from collections import Counter

from flambeau.dialects.exec.instructions import reads_and_writes
from flambeau.dialects.exec.slots import TensorSlotOp, nbytes
from flambeau.passes.storage.classes import MethodStorage, StorageClass


def traffic_of(storage: MethodStorage) -> Counter[StorageClass]:
    """Returns the bytes that instructions and the caller read and write, at the upper bounds of sizes.

    Each instruction counts once, also in a loop, whose rounds only the run knows.
    """
    found = Counter[StorageClass]()
    terminator = storage.method.terminator
    uses = [slot for op in storage.instructions for slots in reads_and_writes(op) for slot in slots]
    for slot in (*uses, *terminator.inputs, *terminator.outputs):
        if isinstance(slot.owner, TensorSlotOp):
            found[storage[slot]] += nbytes(slot.type)
    return found
