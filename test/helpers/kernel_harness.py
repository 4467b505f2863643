"""Calls the C kernels one at a time, as the executor would, and compares them with torch.

    check("aten::add.out", torch.add(x, y), x, y)          # trailing arguments take the schema's defaults
    values, indices = run("aten::max.dim_max", x, 0, outs=[Out((3,), torch.float32), Out((3,), torch.int64)])

Tensors are copied into storage of exactly their size; outs stand between guard bytes that are checked after the call. The
library is that of `find_library`, unless `using` names another one.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from flambeau.dialects.exec.row_kernels import row_kernels
from flambeau.dialects.schema.operators import find_schema
from flambeau.dialects.schema.schema import Schema, SchemaArgument, parse_schema
from flambeau.runtime.binding.library import CContext, CList, CPayload, CRandom, CString, CTensor, CValue, find_library, library

NONE, TENSOR, STRING, DOUBLE, INT, BOOLEAN, BOOL_LIST, DOUBLE_LIST, INT_LIST, TENSOR_LIST, OPTIONAL_TENSOR_LIST = range(11)

DTYPES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bool: 11,
    torch.bfloat16: 15,
    torch.complex64: 9,
    torch.complex128: 10,
    torch.uint16: 27,
    torch.uint32: 28,
    torch.uint64: 29,
}
TOLERANCES = {torch.float32: 2e-6, torch.float64: 1e-12, torch.float16: 1e-3, torch.bfloat16: 8e-3}
SCHEMAS = {
    f"{name}.out": f"{name}.out({arguments}, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)"
    for name, arguments in (
        ("dim_order_ops::_clone_dim_order", "Tensor self, *, bool non_blocking=False"),
        ("dim_order_ops::_empty_dim_order", "int[] size, *"),
    )
}
"""Of kernels without a row that ATen does not define."""
GUARD = 64
GUARD_BYTE = 0xA5


Arguments = ctypes.POINTER(ctypes.POINTER(CValue))
Task = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32)
RunPieces = ctypes.CFUNCTYPE(None, ctypes.c_void_p, Task, ctypes.c_void_p, ctypes.c_size_t)
RunFunction = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(CContext), Arguments, ctypes.c_size_t)
ScratchFunction = ctypes.CFUNCTYPE(ctypes.c_size_t, Arguments, ctypes.c_size_t)


class CKernel(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("run", RunFunction), ("scratch", ScratchFunction), ("access", ctypes.c_char_p)]

    def takes(self, count: int) -> bool:
        """Whether a call passes so many arguments, returns included."""
        letters: bytes = self.access
        return count >= len(letters) - 1 if letters.endswith(b"*") else count == len(letters)


class CKernelTable(ctypes.Structure):
    _fields_ = [("kernels", ctypes.POINTER(CKernel)), ("count", ctypes.c_size_t)]


@functools.cache
def kernels_of(path: Path) -> dict[str, CKernel]:
    """The kernels of a library by name."""
    loaded = ctypes.CDLL(str(path))
    loaded.fl_builtin_kernels.restype = ctypes.POINTER(CKernelTable)
    table = loaded.fl_builtin_kernels().contents
    return {table.kernels[i].name.decode(): table.kernels[i] for i in range(table.count)}


def kernels() -> dict[str, CKernel]:
    """The kernels that `run` calls, by name."""
    return kernels_of(find_library())


def libraries() -> list[Path]:
    """The runtime's library, and those of FLAMBEAU_LIBRARIES: the runtime built for other instruction sets that this machine executes."""
    return [find_library(), *map(Path, os.environ.get("FLAMBEAU_LIBRARIES", "").split())]


@contextmanager
def using(path: Path) -> Generator[None]:
    """Calls the kernels of a library, and runs programs with it; an error names it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLAMBEAU_LIBRARY", str(path))
        library.cache_clear()
        try:
            yield
        except BaseException as error:
            error.add_note(f"with the kernels of {path}")
            raise
        finally:
            library.cache_clear()


class KernelError(Exception):
    """A kernel's status and message."""

    def __init__(self, status: int, message: str):
        super().__init__(f"{status:#x}: {message}")
        self.status = status
        self.message = message


@dataclass
class Out:
    """Storage for a result: `shape` is the bound when `dynamic`; `order` is the dim order (None: contiguous)."""

    shape: Sequence[int]
    dtype: torch.dtype
    order: Sequence[int] | None = None
    dynamic: bool = False
    initial: torch.Tensor | None = None


def dim_order(x: torch.Tensor) -> list[int]:
    """The dimensions from the outermost to the innermost in memory."""
    return sorted(range(x.dim()), key=lambda d: (-x.stride(d), d))


def dense(x: torch.Tensor) -> torch.Tensor:
    """The tensor itself, or a contiguous copy when its strides are not those of a dim order."""
    order = dim_order(x)
    return x if x.permute(order).is_contiguous() else x.contiguous()


# For inputs: blocks of exactly their size, so that an address sanitizer sees a read beyond them.
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


@dataclass
class Frame:
    """Keeps the C objects of one call alive."""

    alive: list[Any] = field(default_factory=list[Any])
    blocks: list[int] = field(default_factory=list[int])

    def __del__(self) -> None:
        for block in self.blocks:
            libc.free(block)

    def keep(self, item: Any) -> Any:
        self.alive.append(item)
        return item

    def value(self, tag: int, **payload: Any) -> CValue:
        return self.keep(CValue(CPayload(**payload), tag))

    def storage(self, data: bytes) -> tuple[Any, int]:
        """64-byte aligned memory of exactly these bytes between guards: the buffer and the address of the bytes."""
        buffer = self.keep(ctypes.create_string_buffer(bytes([GUARD_BYTE]) * (len(data) + 3 * GUARD), len(data) + 3 * GUARD))
        base = ctypes.addressof(buffer)
        start = (base + GUARD + 63) // 64 * 64
        ctypes.memmove(start, data, len(data))
        return buffer, start

    def block(self, data: bytes) -> int:
        """The address of a copy of these bytes with nothing around it; of no bytes, an address that no process may read."""
        if not data:
            return 64
        address = libc.malloc(max(len(data), 1))
        self.blocks.append(address)
        ctypes.memmove(address, data, len(data))
        return address

    def tensor(self, data: int, shape: Sequence[int], order: Sequence[int], dtype: torch.dtype, capacity: int, dynamic: bool) -> CValue:
        rank = len(shape)
        strides = [0] * rank
        stride = 1
        for d in reversed(order):
            strides[d] = stride
            stride *= max(shape[d], 1)
        c_tensor = CTensor(
            data,
            self.keep((ctypes.c_int32 * max(rank, 1))(*shape)),
            self.keep((ctypes.c_int32 * max(rank, 1))(*strides)),
            self.keep((ctypes.c_uint8 * max(rank, 1))(*order)),
            self.keep((ctypes.c_int32 * max(rank, 1))(*shape)),
            capacity,
            rank,
            DTYPES[dtype],
            int(dynamic),
        )
        return self.value(TENSOR, tensor=ctypes.pointer(self.keep(c_tensor)))

    def list_of(self, tag: int, items: Sequence[CValue | None]) -> CValue:
        array = (ctypes.POINTER(CValue) * max(len(items), 1))(*[ctypes.pointer(item) if item is not None else None for item in items])
        return self.value(tag, list=CList(ctypes.cast(self.keep(array), ctypes.c_void_p), len(items)))

    def argument(self, value: Any, type_text: str = "") -> CValue:
        """One argument as the format stores it; `type_text` is its schema type."""
        if value is None:
            return self.value(NONE)
        if isinstance(value, torch.Tensor):
            tensor = dense(value.detach())
            order = dim_order(tensor)
            raw = bytes_of(tensor.permute(order))
            return self.tensor(self.block(raw), tensor.shape, order, tensor.dtype, len(raw), False)
        if isinstance(value, torch.dtype):
            return self.value(INT, integer=DTYPES[value])
        if isinstance(value, bool):
            return self.value(BOOLEAN, boolean=value)
        if isinstance(value, int):
            return self.value(DOUBLE, real=float(value)) if type_text.startswith("float") else self.value(INT, integer=value)
        if isinstance(value, float):
            return self.value(DOUBLE, real=value)
        if isinstance(value, str):
            text = value.encode()
            return self.value(STRING, string=CString(text, len(text)))
        if type_text.startswith("Tensor?[]"):
            return self.list_of(OPTIONAL_TENSOR_LIST, [None if item is None else self.argument(item) for item in value])
        if "Tensor" in type_text:
            return self.list_of(TENSOR_LIST, [self.argument(item) for item in value])
        if "float" in type_text:
            array = self.keep((ctypes.c_double * max(len(value), 1))(*value))
            return self.value(DOUBLE_LIST, list=CList(ctypes.cast(array, ctypes.c_void_p), len(value)))
        if "bool" in type_text:
            array = self.keep((ctypes.c_uint8 * max(len(value), 1))(*value))
            return self.value(BOOL_LIST, list=CList(ctypes.cast(array, ctypes.c_void_p), len(value)))
        return self.list_of(INT_LIST, [self.argument(item) for item in value])


def bytes_of(x: torch.Tensor) -> bytes:
    return torch.empty(x.numel(), dtype=x.dtype).copy_(x.reshape(-1)).view(torch.uint8).numpy().tobytes()


@functools.cache
def schema_of(name: str) -> Schema | None:
    """The schema of a kernel such as aten::add.out; None where neither a row nor ATen has one."""
    described = row_kernels().get(name)
    if described is not None or name in SCHEMAS:
        return parse_schema(SCHEMAS[name]) if described is None else described.out
    namespace, _, rest = name.partition("::")
    return find_schema(rest) if namespace == "aten" else None


def type_of(argument: SchemaArgument) -> str:
    """The schema's type of an argument: Tensor, Tensor?, Tensor?[], int[], int[]?, float, Scalar, …"""
    kind = argument.type
    return kind.base + "?" * kind.element_optional + "[]" * kind.is_list + "?" * kind.optional


@dataclass
class Call:
    """The arguments of a kernel as the executor passes them, and of each out its memory: its buffer, and where in it."""

    frame: Frame
    values: list[CValue]
    written: list[tuple[Out, CValue, Any, int, int]]

    def array(self) -> Any:
        return (ctypes.POINTER(CValue) * len(self.values))(*[ctypes.pointer(value) for value in self.values])


def call_of(name: str, args: Sequence[Any], outs: Sequence[Out], in_place: bool) -> Call:
    frame = Frame()
    schema = schema_of(name)
    values: list[CValue] = []
    written: list[tuple[Out, CValue, Any, int, int]] = []
    in_place = in_place or (schema is not None and not schema.outs)

    def make_out(out: Out) -> CValue:
        order = list(out.order) if out.order is not None else list(range(len(out.shape)))
        size = torch.empty(0, dtype=out.dtype).element_size()
        for extent in out.shape:
            size *= extent
        raw = bytes_of(out.initial.permute(order)) if out.initial is not None else b"\xcd" * size
        buffer, start = frame.storage(raw)
        value = frame.tensor(start, out.shape, order, out.dtype, size, out.dynamic)
        written.append((out, value, buffer, start, size))
        return value

    if schema is None:
        given = [frame.argument(arg) for arg in args]
        made = [make_out(out) for out in outs]
        values = made + given if in_place else given + made
    else:
        inputs = [argument for argument in schema.arguments if argument not in schema.outs]
        made = [make_out(out) for out in outs]
        if in_place:
            values, inputs = [made[0]], inputs[1:]
        for place, argument in enumerate(inputs):
            values.append(frame.argument(args[place] if place < len(args) else argument.default, type_of(argument)))
        listed = frame.list_of(TENSOR_LIST, made)
        if any(out.type.is_list for out in schema.outs):
            values += [listed, listed]
        else:
            values += [*made[len(made) - len(schema.outs) :], made[0] if len(made) == 1 else listed]
    access = kernels()[name].access
    assert kernels()[name].takes(len(values)), f"{name} is registered with {access}, the schema has {len(values)} arguments"
    return Call(frame, values, written)


def scratch_of(name: str, *args: Any, outs: Sequence[Out]) -> int:
    """The bytes of scratch memory that a kernel asks for."""
    call, kernel = call_of(name, args, outs, False), kernels()[name]
    return kernel.scratch(call.array(), len(call.values)) if kernel.scratch else 0


class Threads(ctypes.Structure):
    """An `fl_threads` that computes pieces in the calling thread, from the last one to the first, as three threads that take turns."""

    _fields_ = (("count", ctypes.c_uint32), ("run", RunPieces), ("user", ctypes.c_void_p), ("least_operations", ctypes.c_size_t))

    def __init__(self) -> None:
        def run(_threads: int, task: Callable[[int, int, int], None], work: int, pieces: int) -> None:
            self.divided += 1
            for piece in reversed(range(pieces)):
                task(work, piece, piece % self.count)

        self.divided = 0
        super().__init__(3, RunPieces(run), None, 0)


def run(
    name: str, *args: Any, outs: Sequence[Out], in_place: bool = False, over: int | None = None, threads: bool = True
) -> list[torch.Tensor]:
    """Calls a kernel with the schema's arguments and returns what it wrote; KernelError when it refuses.

    A kernel that divides its work is called with and without threads, and has to write the same.

    In-place operators (aten::copy_) take their own first argument as `outs[0].initial`; `in_place` says so where torch has no schema.
    With `over` the first out takes the storage of that argument, a tensor of its type and shape.
    """
    kernel = kernels()[name]
    call = call_of(name, args, outs, in_place)
    values = call.values
    if over is not None:
        source, (_, _, _, start, size) = values[over].payload.tensor.contents, call.written[0]
        ctypes.memmove(start, source.data, size)
        source.data = start
    array = call.array()
    context = CContext(random=ctypes.pointer(CRandom()))
    guarded = [(buffer, start, size, "output") for _, _, buffer, start, size in call.written]
    if kernel.scratch:
        needed = kernel.scratch(array, len(values))
        if needed:
            context.slice_size = (needed + 63) // 64 * 64
            size = 2 * context.slice_size + needed
            buffer, start = call.frame.storage(b"\xee" * size)
            context.scratch, context.scratch_size, context.slices = start, needed, start
            guarded.append((buffer, start, size, "scratch memory"))
    helpers = Threads()
    if threads:
        context.threads = ctypes.addressof(helpers)
    status = kernel.run(ctypes.pointer(context), array, len(values))
    for buffer, start, size, what in guarded:
        inside = start - ctypes.addressof(buffer)
        guards = buffer.raw[:inside] + buffer.raw[inside + size :]
        assert guards.count(GUARD_BYTE) == len(guards), f"{name} wrote outside its {what}"
    if status:
        raise KernelError(status, context.text())
    found = [read(out, value, buffer, start) for out, value, buffer, start, _ in call.written]
    if helpers.divided:
        alone = run(name, *args, outs=outs, in_place=in_place, over=over, threads=False)
        same = all(bits(a).equal(bits(b)) for a, b in zip(found, alone, strict=True))
        assert same, f"{name} has other results with threads"
    return found


def bits(x: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor's elements."""
    return x.flatten().clone().view(torch.uint8)


def run_number(name: str, *args: Any) -> int | float | bool:
    """Calls a kernel whose last argument is the slot of a number (sizes and executorch_prim) and returns that number."""
    frame = Frame()
    values = [frame.argument(arg) for arg in args] + [frame.value(NONE)]
    kernel = kernels()[name]
    assert kernel.takes(len(values)), f"{name} is registered with {kernel.access}"
    array = (ctypes.POINTER(CValue) * len(values))(*[ctypes.pointer(value) for value in values])
    context = CContext()
    status = kernel.run(ctypes.pointer(context), array, len(values))
    if status:
        raise KernelError(status, context.text())
    payload, tag = values[-1].payload, values[-1].tag
    return payload.integer if tag == INT else payload.real if tag == DOUBLE else bool(payload.boolean)


def read(out: Out, value: CValue, buffer: Any, start: int) -> torch.Tensor:
    """The tensor that a kernel left, with its sizes then and in its dim order."""
    c_tensor = value.payload.tensor.contents
    shape = list(c_tensor.sizes[: c_tensor.rank])
    order = list(out.order) if out.order is not None else list(range(len(shape)))
    count = 1
    for extent in shape:
        count *= extent
    if count == 0:
        return torch.empty(shape, dtype=out.dtype)
    inside = start - ctypes.addressof(buffer)
    size = count * torch.empty(0, dtype=out.dtype).element_size()
    flat = torch.frombuffer(bytearray(buffer.raw[inside : inside + size]), dtype=torch.uint8).view(out.dtype)
    return flat.reshape([shape[d] for d in order]).permute([order.index(d) for d in range(len(order))])


def check(
    name: str,
    expected: torch.Tensor | Sequence[torch.Tensor],
    *args: Any,
    order: Sequence[int] | None = None,
    dynamic: bool = False,
    tolerance: float | None = None,
) -> None:
    """Runs a kernel into outs shaped and typed as the expected tensors and compares: bit for bit unless floating, NaN equal to NaN."""
    wanted = [expected] if isinstance(expected, torch.Tensor) else list(expected)
    outs = [Out(tuple(x.shape), x.dtype, order if order is not None and len(order) == x.dim() else dim_order(x), dynamic) for x in wanted]
    results = run(name, *args, outs=outs)
    for result, x in zip(results, wanted, strict=True):
        limit = TOLERANCES.get(x.dtype, 0.0) if tolerance is None else tolerance
        torch.testing.assert_close(result, x, rtol=limit, atol=limit, equal_nan=True, check_stride=False)
