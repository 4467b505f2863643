"""Methods that are ready to run, with their memory, inputs and outputs."""

import ctypes
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from flambeau.runtime.binding.arrays import aligned_bytes, as_array, from_tensor, numpy_dtype, to_tensor
from flambeau.runtime.binding.libraries import registry
from flambeau.runtime.binding.library import (
    METHOD_BYTES,
    CError,
    CMemory,
    CTensor,
    CValue,
    FlambeauError,
    Status,
    check,
    library,
    whole_number,
)
from flambeau.runtime.binding.metadata import MethodMeta, Slot, TensorInfo, ValueTag
from flambeau.runtime.binding.method_state import State
from flambeau.runtime.binding.nesting import Nesting, parse_nesting
from flambeau.runtime.binding.observation import Observation
from flambeau.runtime.binding.recording import Recording
from flambeau.support.executorch_names import ExplainsMembers
from flambeau.support.lazy import np
from flambeau.support.shared_memory import shared_with_written

if TYPE_CHECKING:
    from flambeau.runtime.binding.arrays import Array
    from flambeau.runtime.binding.loaded_program import Program

INSTRUCTION_LIMIT = 10_000_000
_ROOM = 1 << 12
"""The events of an execution for which there is room at first; where it had more, the next one has room for as many."""
_NESTED = (list, tuple, Mapping)
_ARGUMENTS = ["builtins.tuple", "builtins.dict"]
"""What the inputs of an exported program are: positional arguments, and keyword arguments."""


@dataclass(frozen=True, slots=True)
class _UsualInput:
    """An input of fixed sizes as C takes it: an array of this shape and dtype, without gaps, gives it only its address."""

    shape: tuple[int, ...]
    dtype: "np.dtype[Any]"
    tensor: CTensor
    value: CValue


class Method(ExplainsMembers):
    """A loaded method with its memory. One thread at a time may execute it; several threads each load their own.

    Attributes:
        metadata: the inputs, outputs and memory requirements of the method.
        memory: the bytes of memory that the method holds.
    """

    def __init__(self, program: "Program", index: int, instruction_limit: int = INSTRUCTION_LIMIT):
        limit = whole_number(instruction_limit, 1, 2**32 - 1, "an instruction limit")
        self._describe(program, index)
        try:
            scratch_size = self.memory.scratch
            if program.threads.count > 1:
                scratch_size = (scratch_size + 63) // 64 * 64 * program.threads.count
            self._blocks = [aligned_bytes(size) for size in (self.memory.method, scratch_size)]
            known = program.shared_arenas
            shared = {arena for arena in range(len(self.memory.arenas)) if self._library.fl_program_arena_is_shared(program.handle, arena)}
            self._blocks += [
                known[arena] if arena in shared and arena in known else aligned_bytes(size) for arena, size in enumerate(self.memory.arenas)
            ]
        except MemoryError:
            text = f"{self._where} plans {self.memory.total} bytes of memory, which this machine does not have"
            raise FlambeauError(Status.OUT_OF_MEMORY, text) from None
        method, scratch, *arenas = (block.ctypes.data for block in self._blocks)
        memory = CMemory(
            method=method,
            method_size=self.memory.method,
            arenas=(ctypes.c_void_p * max(len(arenas), 1))(*arenas),
            arena_sizes=(ctypes.c_size_t * max(len(arenas), 1))(*self.memory.arenas),
            arena_count=len(arenas),
            scratch=scratch,
            scratch_size=scratch_size,
            keep_state=shared <= known.keys(),
        )
        handle = ctypes.create_string_buffer(METHOD_BYTES)
        check(self._library.fl_method_init(handle, program.handle, index, registry(program.options), memory, self._error), self._error)
        ctypes.c_uint32.from_buffer(handle).value = limit
        self._handle = handle
        check(self._library.fl_method_set_threads(handle, program.threads.handle, self._error), self._error)
        if shared:
            known.update((arena, self._blocks[2 + arena]) for arena in shared)
            self._lock = program.shared_lock
        self._own_outputs = self._unplaced_outputs()
        self._usual = [self._usual_input(position, slot.tensor) for position, slot in enumerate(self.metadata.inputs)]

    def _describe(self, program: "Program", index: int) -> None:
        self._handle = None
        self._recording: Recording | Observation | None = None
        self._room = _ROOM
        self._program = program
        self._lock = Lock()
        self._library = library()
        self._error = CError()
        self.metadata = MethodMeta(program, index)
        self._where = f"method {self.metadata.name()!r}"
        self._written = self.metadata.written_inputs()
        self._usual: list[_UsualInput | None] = [None] * len(self.metadata.inputs)
        self._views: dict[int, tuple[int | None, Array]] = {}
        self.memory = self.metadata.memory

    def _usual_input(self, position: int, info: TensorInfo | None) -> "_UsualInput | None":
        """Returns what gives an input of fixed sizes, whose elements are in logical order, in few steps."""
        if info is None or info.is_dynamic or position in self._written or list(info.dim_order) != sorted(info.dim_order):
            return None
        try:
            array = np.empty(info.shape, numpy_dtype(info.type))
            tensor, _ = to_tensor(array, info, "")
        except (FlambeauError, MemoryError):
            return None
        value = CValue()
        value.tag = ValueTag.TENSOR
        value.payload.tensor = ctypes.pointer(tensor)
        return _UsualInput(info.shape, array.dtype, tensor, value)

    def _unplaced_outputs(self) -> list[tuple[int, TensorInfo]]:
        """Returns the positions of the outputs in the caller's memory."""
        return [
            (position, slot.tensor)
            for position, slot in enumerate(self.metadata.outputs)
            if slot.tensor is not None and not slot.tensor.planned and not slot.tensor.constant
        ]

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self._library.fl_method_destroy(self._handle)

    def __call__(self, *inputs: object, **kwargs: object) -> "list[Any]":
        """Runs the method as `execute` does, with the inputs as arguments, and returns the outputs."""
        return self.execute(inputs, kwargs)

    @overload
    def execute(
        self,
        inputs: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
        *,
        nested: Literal[False] = False,
        copy: bool = True,
    ) -> "list[Any]": ...
    @overload
    def execute(
        self, inputs: Sequence[object] = (), kwargs: Mapping[str, object] | None = None, *, nested: bool, copy: bool = True
    ) -> Any: ...

    def execute(
        self, inputs: Sequence[object] = (), kwargs: Mapping[str, object] | None = None, *, nested: bool = False, copy: bool = True
    ) -> Any:
        """Runs the method and returns its outputs.

        Args:
            inputs: the arguments of the model, or their leaves in the order of the flattened pytree: numpy arrays or anything with
                `__dlpack__` (such as a torch tensor) for tensors, Python numbers for scalars and for tensors without dimensions, None for
                an input that is None in the program.
            kwargs: the keyword arguments with which the model was exported.
            nested: whether the outputs are nested as the model returned them. A class other than Python's containers becomes a dict by
                field, or a tuple.
            copy: whether outputs get memory of their own. If false, outputs in an arena change with the next execution.

        The method writes an input that the model writes (`metadata.written_inputs()`) in the caller's memory.

        Returns:
            One value per output, or the model's nesting of them: a numpy array (`torch.from_dlpack` takes it without a copy) or a Python
            value.

        Raises:
            FlambeauError: an input does not fit, the program does not record how outputs are nested, or the execution failed.
        """
        if self._program.recorded is None or self._recording is not None:
            return self._execute(inputs, kwargs, nested, copy)
        if self._program.debug_buffer_size:
            with self.observe_values() as observation:
                outputs = self._execute(inputs, kwargs, nested, copy)
            if observation.error is not None:
                what = f"{self._where}: a value cannot be kept: {observation.error}"
                raise FlambeauError(Status.NOT_SUPPORTED, what) from observation.error
            self._program.recorded.append(observation.events)
            return outputs
        with self.record_events(self._room) as recording:
            try:
                return self._execute(inputs, kwargs, nested, copy)
            finally:
                self._room = max(self._room, recording.total)
                if recording.events:
                    self._program.recorded.append(recording.events)

    def _execute(self, inputs: Sequence[object], kwargs: Mapping[str, object] | None, nested: bool, copy: bool) -> Any:
        slots = self.metadata.inputs
        if not isinstance(cast(object, inputs), list | tuple):
            kind = type(inputs).__name__
            raise FlambeauError(Status.INVALID_ARGUMENT, f"{self._where} takes a list or tuple of inputs, {kind} was given")
        if kwargs or (any(isinstance(value, _NESTED) for value in inputs) and self._nestings[0] is not None):
            inputs = self._flatten(inputs, kwargs or {})
        if len(inputs) != len(slots):
            raise FlambeauError(Status.INVALID_ARGUMENT, f"{self._where} takes {_inputs(len(slots))}, got {len(inputs)}")
        nesting = self._nestings[1]
        if nested and nesting is None:
            raise FlambeauError(Status.NOT_SUPPORTED, f"{self._where}: the program does not say how its outputs were nested")
        if not self._lock.acquire(blocking=False):
            busy = "or another that shares its state, " if self._lock is self._program.shared_lock else ""
            help = "load the program once per thread" if busy else "load it once per thread"
            raise FlambeauError(Status.INVALID_STATE, f"{self._where}, {busy}is being executed by another thread; {help}")
        try:
            self._copied: list[tuple[Array, Array]] = []
            self._given: list[Array | None] = [None] * len(inputs)
            kept = [self._set_input(position, slots[position], value) for position, value in enumerate(inputs)]
            if self._written and (shared := shared_with_written(self._given, self._written)) is not None:
                what = f"input {shared[0]}: the method writes to it, and it shares memory with input {shared[1]}; give a copy of one"
                raise FlambeauError(Status.INVALID_ARGUMENT, f"{self._where}, {what}")
            owned = self._set_outputs()
            self._run()
            for given, used in self._copied:
                given[...] = used
            outputs = [self._output(position, (self, kept, owned), copy) for position in range(len(self.metadata.outputs))]
            return nesting.unflatten(iter(outputs)) if nested and nesting is not None else outputs
        finally:
            self._lock.release()

    @contextmanager
    def record_events(self, capacity: int = 1 << 16) -> Generator[Recording]:
        """Records the times at which executions and their instructions begin and end, while the `with` block runs.

        Args:
            capacity: the number of events to keep. Further events are only counted (`lost`).

        Raises:
            FlambeauError: events of this method are being recorded already, or the runtime was built without hooks.
            ValueError: `capacity` is not a number of events.
        """
        if self._recording is not None:
            raise FlambeauError(Status.INVALID_STATE, f"{self._where}: its events are being recorded already")
        recording = Recording(capacity, self)
        self._set_hook(ctypes.cast(self._library.fl_record_event, ctypes.c_void_p), ctypes.byref(recording.recorder))
        self._recording = recording
        try:
            yield recording
        finally:
            self._set_hook(None, None)
            self._recording = None

    @contextmanager
    def observe_values(self) -> Generator[Observation]:
        """Copies the arguments and results of each kernel and each delegate, while the `with` block runs.

        Raises:
            FlambeauError: events of this method are being recorded, or the runtime was built without hooks.
        """
        if self._recording is not None:
            raise FlambeauError(Status.INVALID_STATE, f"{self._where}: its events are being recorded already")
        observation = Observation()
        self._set_hook(ctypes.cast(observation.hook, ctypes.c_void_p), None)
        self._recording = observation
        try:
            yield observation
        finally:
            self._set_hook(None, None)
            self._recording = None

    def _set_hook(self, hook: ctypes.c_void_p | None, user: object) -> None:
        with self._lock:
            check(self._library.fl_method_set_hook(self._handle, hook, user, self._error), self._error)

    def reset(self) -> None:
        """Restores mutable buffers to their values after loading; shared buffers for all methods. Random numbers begin again."""
        self._library.fl_method_reset(self._handle)

    def seed(self, seed: int) -> None:
        """Starts the stream of random numbers with this seed, from which the method draws. The seed is 0 after loading.

        Raises:
            ValueError: `seed` is not an unsigned integer of 64 bits.
        """
        self._library.fl_method_seed(self._handle, whole_number(seed, 0, 2**64 - 1, "a seed"))

    @cached_property
    def state(self) -> State:
        """The mutable buffers by name, or by number if the program has no name. They may be read and written between executions."""
        found: dict[str, Array] = {}
        name = ctypes.c_char_p()
        index = 0
        while tensor := self._library.fl_method_state(self._handle, index, name):
            found.setdefault((name.value or b"").decode(errors="replace") or str(index), from_tensor(tensor.contents, self))
            index += 1
        return State(found, self._where)

    @cached_property
    def _nestings(self) -> tuple[Nesting | None, Nesting | None]:
        """The model's nesting of its inputs, and of its outputs; None if the program does not record it."""
        inputs, outputs = map(parse_nesting, self.metadata.encodings)
        if inputs is not None and ([child.kind for child in inputs.children] != _ARGUMENTS or inputs.leaves != len(self.metadata.inputs)):
            inputs = None
        if outputs is not None and outputs.leaves != len(self.metadata.outputs):
            outputs = None
        return inputs, outputs

    def _flatten(self, inputs: Sequence[object], kwargs: Mapping[str, object]) -> list[object]:
        """Returns the leaves of the model's arguments, in the order of the program's inputs."""
        nesting = self._nestings[0]
        if nesting is None:
            why = "the program does not say which inputs have a keyword"
            raise FlambeauError(Status.INVALID_ARGUMENT, f"{self._where} takes {_inputs(len(self.metadata.inputs))} in a list: {why}")
        positional, named = nesting.children
        keys = named.keys or ()
        if len(inputs) != len(positional.children) or set(kwargs) != set(keys):
            takes = _inputs(len(positional.children), "positional ") + (f" and the keyword inputs {', '.join(keys)}" if keys else "")
            given = f"{len(inputs)}" + (f" and {', '.join(kwargs)}" if kwargs else "")
            raise FlambeauError(Status.INVALID_ARGUMENT, f"{self._where} takes {takes}, as the model was exported with; got {given}")
        leaves = [
            leaf
            for position, (child, value) in enumerate(zip(positional.children, inputs, strict=True))
            for leaf in child.flatten(value, f"{self._where}, input {position}")
        ]
        leaves += [
            leaf
            for key, child in zip(keys, named.children, strict=True)
            for leaf in child.flatten(kwargs[key], f"{self._where}, input {key!r}")
        ]
        return leaves

    def _set_input(self, position: int, slot: Slot, given: object) -> object:
        usual = self._usual[position]
        if usual is not None and type(given) is np.ndarray:
            array = cast("Array", given)
            if array.shape == usual.shape and array.dtype == usual.dtype and array.flags.carray:
                usual.tensor.data = array.ctypes.data
                check(self._library.fl_method_set_input(self._handle, position, usual.value, self._error), self._error)
                self._given[position] = array
                return array
        value = CValue()
        value.tag = slot.tag
        kept: object = None
        where = f"{self._where}, input {position}"
        if slot.tensor is not None:
            array = self._given[position] = as_array(given, slot.tensor, where)
            if position in self._written:
                if isinstance(given, bool | int | float) or not array.flags.writeable:
                    what = f"a {type(given).__name__}, which cannot be written" if array.flags.writeable else "read-only memory"
                    raise FlambeauError(Status.INVALID_ARGUMENT, f"{where}: the method writes to it, and it is {what}; give a copy")
            tensor, kept = to_tensor(array, slot.tensor, where)
            if position in self._written and kept is not array:
                self._copied.append((array, kept))
            value.payload.tensor = ctypes.pointer(tensor)
        else:
            kept = _set_scalar(value, slot.tag, given, where)
        self._give(position, value, where)
        return kept

    def _give(self, position: int, value: CValue, where: str) -> None:
        """Sets an input; one that the method writes is lent."""
        lends = value.tag == ValueTag.TENSOR and position in self._written
        give = self._library.fl_method_lend_input if lends else self._library.fl_method_set_input
        check(give(self._handle, position, value, self._error), self._error)

    def _run(self) -> None:
        check(self._library.fl_method_execute(self._handle, self._error), self._error)

    def _result(self, position: int) -> CValue:
        return self._library.fl_method_output(self._handle, position).contents

    def _set_outputs(self) -> "list[Array]":
        owned: list[Array] = []
        for position, tensor in self._own_outputs:
            memory = aligned_bytes(tensor.size_in_bytes)
            # C refuses to change the memory of an output that is an input.
            if self._library.fl_method_set_output(self._handle, position, memory.ctypes.data, memory.nbytes, self._error) == Status.OK:
                owned.append(memory)
        return owned

    def _output(self, position: int, keeper: tuple["Method", object, "list[Array]"], copy: bool) -> object:
        value = self._result(position)
        # The common case in few steps; a branch may have made the output another tensor.
        if copy and (known := self._views.get(position)) is not None and value.payload.tensor.contents.data == known[0]:
            return known[1].copy(order="K")
        match ValueTag(value.tag):
            case ValueTag.TENSOR:
                tensor: CTensor = value.payload.tensor.contents
                info = self.metadata.outputs[position].tensor
                if copy and info is not None and info.planned and not info.is_dynamic:
                    view = from_tensor(tensor, None)
                    self._views[position] = tensor.data, view
                    return view.copy(order="K")
                view = from_tensor(tensor, keeper)
                lies_alone = any(memory.ctypes.data == tensor.data for memory in keeper[2])
                return view.copy(order="K") if copy and not lies_alone else view
            case ValueTag.INT:
                return int(value.payload.integer)
            case ValueTag.DOUBLE:
                return float(value.payload.real)
            case ValueTag.BOOL:
                return bool(value.payload.boolean)
            case ValueTag.STRING:
                return ctypes.string_at(value.payload.string.data, value.payload.string.length).decode(errors="replace")
            case ValueTag.NONE:
                return None
            case tag:
                text = f"{self._where}, output {position}: a {tag.name.lower()} cannot be given to Python"
                raise FlambeauError(Status.NOT_SUPPORTED, text)

    def __repr__(self) -> str:
        return repr(self.metadata)


def _inputs(count: int, kind: str = "") -> str:
    return f"{count} {kind}input{'' if count == 1 else 's'}"


def _set_scalar(value: CValue, tag: ValueTag, given: object, where: str) -> object:
    """Stores a Python scalar or string in a C value. Returns the object that owns the memory to which the C value refers."""
    import numpy as np

    scalar: Any = given
    truth = isinstance(scalar, bool | np.bool_)
    number: object = None if truth else given
    match tag:
        case ValueTag.INT if isinstance(number, Integral):
            if not -(2**63) <= int(number) < 2**63:
                raise FlambeauError(Status.INVALID_ARGUMENT, f"{where}: {number} does not fit in 64 bits")
            value.payload.integer = int(number)
        case ValueTag.DOUBLE if isinstance(number, Real):
            try:
                value.payload.real = float(number)
            except OverflowError:
                raise FlambeauError(Status.INVALID_ARGUMENT, f"{where}: {number} does not fit in 64 bits") from None
        case ValueTag.BOOL if truth:
            value.payload.boolean = 1 if given else 0
        case ValueTag.STRING if isinstance(given, str):
            encoded = given.encode()
            value.payload.string.data = encoded
            value.payload.string.length = len(encoded)
            return encoded
        case ValueTag.NONE if given is None:
            pass
        case _:
            raise FlambeauError(Status.INVALID_ARGUMENT, f"{where}: expected {tag.name.lower()}, got {type(given).__name__}")
    return None
