"""The mutable buffers of a loaded method, by name."""

from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from flambeau.runtime.binding.arrays import as_array
from flambeau.runtime.binding.library import FlambeauError, Status
from flambeau.runtime.binding.metadata import TensorInfo
from flambeau.support.suggestions import did_you_mean

if TYPE_CHECKING:
    from flambeau.runtime.binding.arrays import Array


class State(MutableMapping[str, Any]):
    """The mutable buffers of a method: a mapping from their names in the model to numpy arrays.

    Reading a buffer gives a read-only copy; assigning to it writes into the memory of the method. Names, types and shapes are fixed.
    """

    def __init__(self, tensors: "Mapping[str, Array]", where: str):
        self._tensors = tensors
        self._where = where

    def _find(self, name: str) -> "Array":
        if name not in self._tensors:
            help = did_you_mean(name, self._tensors) or f"; it has {', '.join(self._tensors) or 'none'}"
            raise KeyError(f"{self._where} has no state {name!r}{help}")
        return self._tensors[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __getitem__(self, name: str) -> "Array":
        copied = self._find(name).copy()
        copied.flags.writeable = False
        return copied

    def __setitem__(self, name: str, value: object) -> None:
        target = self._find(name)
        where = f"{self._where}, state {name!r}"
        array = as_array(
            value, TensorInfo(target.shape, (), target.dtype.name, target.nbytes, is_dynamic=False, planned=True, constant=False), where
        )
        if array.dtype.kind == "V" and array.itemsize == target.itemsize:
            array = array.view(target.dtype)  # numpy's files keep only the bits of bfloat16
        if (array.dtype, array.shape) != (target.dtype, target.shape):
            wanted, got = (f"{item.dtype}{list(item.shape)}" for item in (target, array))
            raise FlambeauError(Status.INVALID_ARGUMENT, f"{where}: expected {wanted}, got {got}")
        target[...] = array

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"state {name!r} belongs to the method and cannot be deleted; reset() puts back its first value")

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return f"<state of {self._where}: {', '.join(self._tensors) or 'none'}>"
