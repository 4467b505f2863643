"""Methods of emitted C programs in a shared library, which run as loaded methods do."""

from __future__ import annotations

import ctypes
from collections.abc import Container
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from flambeau.runtime.binding.arrays import aligned_bytes, from_tensor, numpy_dtype
from flambeau.runtime.binding.library import CContext, CRandom, CTensor, CValue, FlambeauError, Status, whole_number
from flambeau.runtime.binding.loaded_method import Method
from flambeau.runtime.binding.metadata import DTYPE_NAMES, Slot, TensorInfo, ValueTag
from flambeau.runtime.binding.method_state import State
from flambeau.support.lazy import np

if TYPE_CHECKING:
    from flambeau.runtime.binding.arrays import Array
    from flambeau.runtime.binding.loaded_program import Program


class _CEmitted(ctypes.Structure):
    """`fl_emitted`."""

    _fields_ = (
        ("context", CContext),
        ("random", CRandom),
        ("scratch", ctypes.c_void_p),
        ("scratch_size", ctypes.c_size_t),
        ("instruction", ctypes.c_uint32),
        ("status", ctypes.c_int),
    )


def _address(value: Any) -> int | None:
    return ctypes.cast(value, ctypes.c_void_p).value


class EmittedMethod(Method):
    """A method of an emitted program. Its memory is that of the library: the program exists once in a process."""

    def __init__(self, program: Program, index: int, code: ctypes.CDLL, name: str, function: str, fixed: Container[int]):
        """Finds a method in the library of its program.

        Args:
            program: the `.pte` of the same program, which tells of inputs, outputs and nesting.
            index: of the method in it.
            code: the library.
            name: of the program in C.
            function: of the method in C.
            fixed: the positions of the inputs that no instruction reads.
        """
        self._describe(program, index)
        self._lock = program.shared_lock  # all methods of the library have one memory
        self._fixed = fixed
        self._function = code[function]
        self._function.restype = ctypes.c_int
        self._function.argtypes = ()
        self._restart = code[f"{name}_init"]
        self._restart.restype = None
        self._state = _CEmitted.in_dll(code, f"{function}_run")
        pointers = ctypes.POINTER(CValue)
        self._inputs = (pointers * max(len(self.metadata.inputs), 1)).in_dll(code, f"{function}_inputs")
        self._outputs = (pointers * max(len(self.metadata.outputs), 1)).in_dll(code, f"{function}_outputs")
        self._places = [self._place(position, slot.tensor) for position, slot in enumerate(self.metadata.inputs)]
        given = {_address(self._inputs[position]) for position in range(len(self.metadata.inputs))}
        # C gives an output that is an input no memory of its own.
        self._own_outputs = [item for item in self._unplaced_outputs() if _address(self._outputs[item[0]]) not in given]

    def _set_input(self, position: int, slot: Slot, given: object) -> object:
        # The common case in few steps: an array of the fixed sizes, as dense as the program has it.
        place = self._places[position]
        if place is not None and isinstance(given, np.ndarray):
            array = cast("Array", given)
            address, shape, dtype = place
            if array.shape == shape and array.dtype == dtype and array.flags.c_contiguous:
                ctypes.memmove(address, array.ctypes.data, array.nbytes)
                self._given[position] = array
                return array
        return super()._set_input(position, slot, cast(object, given))

    def _place(self, position: int, info: TensorInfo | None) -> tuple[int, tuple[int, ...], np.dtype[Any]] | None:
        """Returns address, sizes and dtype of an input in an arena, if its elements are in logical order and its sizes are fixed."""
        if (
            info is None
            or not info.planned
            or info.is_dynamic
            or position in self._written
            or list(info.dim_order) != sorted(info.dim_order)
        ):
            return None
        return self._inputs[position].contents.payload.tensor.contents.data, info.shape, numpy_dtype(info.type)

    def _give(self, position: int, value: CValue, where: str) -> None:
        own = self._inputs[position]
        if value.tag != ValueTag.TENSOR:
            self._give_scalar(position, own.contents, value, where)
            return
        source: CTensor = value.payload.tensor.contents
        tensor: CTensor = own.contents.payload.tensor.contents
        if source.dtype != tensor.dtype or source.rank != tensor.rank:
            expected, got = (f"{DTYPE_NAMES[item.dtype]} of {item.rank} dimensions" for item in (tensor, source))
            raise FlambeauError(Status.INVALID_ARGUMENT, f"{where}: expected {expected}, got {got}")
        for dim in range(source.rank):
            bound, size = (tensor.bounds if tensor.dynamic else tensor.sizes)[dim], source.sizes[dim]
            if size > bound or (size != bound and not tensor.dynamic):
                limit = f"{'at most ' if tensor.dynamic else ''}{bound}"
                raise FlambeauError(Status.INVALID_ARGUMENT, f"{where}: its size in dimension {dim} is {size}, and must be {limit}")
        if tensor.dynamic:
            stride = 1
            for dim in reversed(tensor.dim_order[: tensor.rank]):
                tensor.sizes[dim], tensor.strides[dim] = source.sizes[dim], stride
                stride *= max(source.sizes[dim], 1)
        if self._is_planned(position):
            from_tensor(tensor, self)[...] = from_tensor(source, value)
        else:
            tensor.data = source.data

    def _is_planned(self, position: int) -> bool:
        tensor = self.metadata.inputs[position].tensor
        return tensor is not None and tensor.planned

    def _give_scalar(self, position: int, own: CValue, value: CValue, where: str) -> None:
        if position not in self._fixed:
            own.payload = value.payload
            return
        member = {ValueTag.INT: "integer", ValueTag.DOUBLE: "real", ValueTag.BOOL: "boolean"}.get(ValueTag(value.tag))
        given, known = (None if member is None else getattr(item.payload, member) for item in (value, own))
        if given != known:
            text = f"{where}: the program takes only the value that it was made with, {known}, not {given}"
            raise FlambeauError(Status.INVALID_ARGUMENT, text)

    def _set_outputs(self) -> list[Array]:
        owned: list[Array] = []
        for position, tensor in self._own_outputs:
            owned.append(aligned_bytes(tensor.size_in_bytes))
            self._outputs[position].contents.payload.tensor.contents.data = owned[-1].ctypes.data
        return owned

    def _run(self) -> None:
        status = self._function()
        if status != Status.OK:
            where = f"{self._where}, instruction {self._state.instruction}"
            raise FlambeauError(Status(status), f"{where}: {self._state.context.text()}")

    def _result(self, position: int) -> CValue:
        return self._outputs[position].contents

    def reset(self) -> None:
        """Restores the state of every method of the program, and begins its random numbers again."""
        self._restart()

    def seed(self, seed: int) -> None:
        """Starts the stream of random numbers with this seed, from which the method draws. Raises ValueError for what is no seed."""
        self._state.random = CRandom(whole_number(seed, 0, 2**64 - 1, "a seed"), 0)

    @cached_property
    def state(self) -> State:
        """Empty: emitted programs have no names of their state."""
        return State({}, self._where)

    def _set_hook(self, hook: ctypes.c_void_p | None, user: object) -> None:
        raise FlambeauError(Status.NOT_SUPPORTED, f"{self._where}: an emitted program tells of no events")
