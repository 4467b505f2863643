"""What each instruction of a method computed, copied while the method is executed."""

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flambeau.runtime.binding.arrays import from_tensor
from flambeau.runtime.binding.library import CValue
from flambeau.runtime.binding.metadata import ValueTag

if TYPE_CHECKING:
    from flambeau.runtime.binding.arrays import Array


class CEvent(ctypes.Structure):
    """`fl_event`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("args", ctypes.POINTER(ctypes.POINTER(CValue))),
        ("count", ctypes.c_uint32),
        ("chain", ctypes.c_uint32),
        ("instruction", ctypes.c_uint32),
        ("position", ctypes.c_uint32),
        ("status", ctypes.c_int),
        ("kind", ctypes.c_uint8),
        ("is_done", ctypes.c_uint8),
    )


_HOOK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(CEvent))


@dataclass(frozen=True, slots=True)
class CallValues:
    """The arguments of a kernel or a delegate after its call: copies of tensors, lists of these, and None for what is neither.

    Attributes:
        position: the number of the instruction, over all chains.
    """

    position: int
    arguments: "tuple[Array | list[Array | None] | None, ...]"


class Observation:
    """What the calls of one method had as arguments once they were done. Copying them takes time and memory."""

    def __init__(self) -> None:
        self.calls: list[CallValues] = []
        self.error: Exception | None = None
        """What went wrong in copying; nothing is kept from then on."""
        self.hook = _HOOK(self._see)

    def _see(self, _user: object, _method: object, pointer: Any) -> None:
        event: CEvent = pointer.contents
        if not event.is_done or not event.args or event.status or self.error is not None:
            return
        try:
            arguments = tuple(_argument(event.args[index].contents) for index in range(event.count))
            self.calls.append(CallValues(event.position, arguments))
        except Exception as error:  # C cannot pass it on
            self.error = error


def _argument(value: CValue) -> "Array | list[Array | None] | None":
    if value.tag == ValueTag.TENSOR:
        return _tensor(value)
    if value.tag in (ValueTag.TENSOR_LIST, ValueTag.OPTIONAL_TENSOR_LIST):
        items = ctypes.cast(value.payload.list.items, ctypes.POINTER(ctypes.POINTER(CValue)))
        return [_tensor(items[index].contents) if items[index] else None for index in range(value.payload.list.count)]
    return None


def _tensor(value: CValue) -> "Array | None":
    return from_tensor(value.payload.tensor.contents, None).copy() if value.tag == ValueTag.TENSOR else None
