"""The C runtime, and the programs that it loads."""

import ctypes
import mmap
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from os import PathLike, fspath
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO, cast

from flambeau.runtime.binding.arrays import aligned_bytes
from flambeau.runtime.binding.libraries import Options, add_backend, add_kernels, backend_names, kernel_names, read_options, with_profile
from flambeau.runtime.binding.library import PROGRAM_BYTES, CError, FlambeauError, Status, check, library, whole_number
from flambeau.runtime.binding.loaded_method import INSTRUCTION_LIMIT, Method
from flambeau.runtime.binding.metadata import MethodMeta
from flambeau.runtime.binding.recording import Event
from flambeau.runtime.binding.threads import Threads
from flambeau.support.executorch_names import ExplainsMembers, explains_arguments
from flambeau.support.files import write_bytes

if TYPE_CHECKING:
    from flambeau.runtime.binding.arrays import Array
    from flambeau.runtime.flat_tensor import DataPath

ONE_THREAD = Threads(1)


class Verification(Enum):
    """The levels of verification of ExecuTorch. This runtime always checks everything."""

    Minimal = 0
    InternalConsistency = 1


class Program(ExplainsMembers):
    """A loaded program, which does not change, and which threads may share.

    Methods that update the same buffers share their state if they are loaded from the same program; such methods run one after the other.

    Attributes:
        handle: the C structure.
        options: the options of backends.
        threads: those that compute, in each method.
        shared_arenas: the memory of shared state, by arena, once a method that needs it is loaded.
        shared_lock: held while a method with shared state is executed.
        recorded: the events of each execution, if they are recorded for an ETDump; else None.
        debug_buffer_size: the most bytes of values that an ETDump may have; 0 keeps no values.
    """

    def __init__(self, data: "mmap.mmap | bytes | bytearray | memoryview", name: str = "", options: Options = ()):
        prefix = f"{name}: " if name else ""
        self._memory = _in_place(_program_in(data, prefix))
        self._file = data if isinstance(data, mmap.mmap) else None
        self.options = options
        self.threads = ONE_THREAD
        self.handle = ctypes.create_string_buffer(PROGRAM_BYTES)
        self.shared_arenas: dict[int, Array] = {}
        self.shared_lock = Lock()
        self.recorded: list[Sequence[Event]] | None = None
        self.debug_buffer_size = 0
        error = CError()
        address, size = self._memory.ctypes.data, self._memory.nbytes
        check(library().fl_program_load(self.handle, address, size if len(data) else 0, error), error, prefix)
        count = library().fl_program_method_count(self.handle)
        self._names = [library().fl_program_method_name(self.handle, index).decode(errors="replace") for index in range(count)]

    @property
    def method_names(self) -> AbstractSet[str]:
        """The names that `load_method` takes, in the order of the program."""
        return dict.fromkeys(self._names).keys()

    def _index(self, name: str) -> int:
        if not isinstance(cast(object, name), str) or "\0" in name:
            raise FlambeauError(Status.INVALID_ARGUMENT, f"a method's name is a string, not {name!r}")
        index, error = ctypes.c_uint32(), CError()
        check(library().fl_program_find_method(self.handle, name.encode(), index, error), error)
        return index.value

    def load_method(self, name: str = "forward", *, instruction_limit: int = INSTRUCTION_LIMIT) -> Method:
        """Returns a new method, which has its own memory, except for the state that it shares with other methods.

        Args:
            name: one of `method_names`.
            instruction_limit: the most instructions of one execution; an execution that needs more fails, as an endless loop would.

        Raises:
            FlambeauError: there is no such method, or it needs operators, backends or features that are absent; the message lists them.
        """
        return Method(self, self._index(name), instruction_limit)

    def metadata(self, name: str = "forward") -> MethodMeta:
        """Returns the inputs, outputs and memory of a method.

        Raises:
            FlambeauError: there is no such method.
        """
        return MethodMeta(self, self._index(name))

    def has_etdump(self) -> bool:
        """Returns whether executions are recorded for an ETDump."""
        return self.recorded is not None

    def write_etdump_result_to_file(self, path: "str | PathLike[str]", debug_buffer_path: "str | PathLike[str] | None" = None) -> None:
        """Writes the recorded executions of this program's methods as an ETDump, with a run for each execution, and deletes the records.

        Args:
            path: the `.etdp` file.
            debug_buffer_path: the file for the values to which the ETDump refers, if any were kept.

        Raises:
            FlambeauError: nothing was recorded, because the program was loaded without `enable_etdump`; values were kept, but have no
                file or more than `debug_buffer_size` bytes; or a file cannot be written.
        """
        from flambeau.runtime.binding.recorded_runs import to_etdump
        from flambeau.runtime.etdump import write_etdump

        if self.recorded is None:
            text = "nothing was recorded for an ETDump: load the program with enable_etdump=True"
            raise FlambeauError(Status.INVALID_STATE, text)
        values = bytearray()
        dump = to_etdump(self.recorded, values)
        if len(values) > self.debug_buffer_size:
            text = f"the values take {len(values)} bytes, more than debug_buffer_size={self.debug_buffer_size}: load the program with more"
            raise FlambeauError(Status.OUT_OF_RESOURCES, text)
        if values and debug_buffer_path is None:
            raise FlambeauError(Status.INVALID_ARGUMENT, "values were kept: name a file for them, debug_buffer_path")
        try:
            write_bytes(path, write_etdump(dump))
            if debug_buffer_path is not None:
                write_bytes(debug_buffer_path, values)
        except OSError as error:
            raise FlambeauError(Status.ACCESS_FAILED, f"{error.filename or fspath(path)}: {error.strerror or error}") from None
        self.recorded.clear()

    def release_pages(self) -> None:
        """Returns the memory of the program's mapped file to the system, which reads pages from the file again when they are used.

        After `load_method`, a backend such as XNNPACK has packed copies of its weights, and no longer reads its payload. Has no effect on a
        program that was given as bytes, or on a system without `madvise`.
        """
        if self._file is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._file.madvise(mmap.MADV_DONTNEED)

    @property
    def named_data(self) -> dict[str, memoryview]:
        """The blobs that the program stores, by name, as views of the program."""
        blobs: dict[str, memoryview] = {}
        for index in range(library().fl_program_named_data_count(self.handle)):
            key = library().fl_program_named_data_key(self.handle, index)
            data, size = ctypes.c_void_p(), ctypes.c_size_t()
            library().fl_program_named_data_at(self.handle, index, data, size)
            start = (data.value or 0) - self._memory.ctypes.data
            blobs[key.decode(errors="replace")] = self._memory[start : start + size.value].data.toreadonly()
        return blobs


class OperatorRegistry:
    """The registry of the kernels that the library was built with, and of the kernels that were added."""

    def add(self, name: str, path: "str | PathLike[str]") -> None:
        """Adds the kernels that the shared library at `path` defines as `fl_kernels_<name>`, for programs that are loaded afterwards."""
        add_kernels(name, Path(path))

    @property
    def operator_names(self) -> AbstractSet[str]:
        """The names of the kernels, such as `aten::add.out`.

        Raises:
            FlambeauError: kernels that were added cannot be loaded.
        """
        return kernel_names()


class BackendRegistry:
    """The registry of the backends that the library was built with, and of the backends that were added."""

    def add(self, name: str, path: "str | PathLike[str]") -> None:
        """Adds the backend that the shared library at `path` defines as `fl_backend_<name>`, for programs that are loaded afterwards."""
        add_backend(name, Path(path))

    @property
    def registered_backend_names(self) -> list[str]:
        """The ids of the backends, by which a program's delegates name them.

        Raises:
            FlambeauError: a backend that was added cannot be loaded.
        """
        return backend_names()

    def is_available(self, backend_name: str) -> bool:
        """Returns whether delegates of this backend can be loaded."""
        return backend_name in self.registered_backend_names


class Runtime:
    """The C runtime of this process. `Runtime.get()` gives one that computes in the calling thread, `Runtime(threads=4)` one with four.

    Attributes:
        threads: the pool that the methods of its programs share. While it works for one of them, others compute in the thread that called
            them. Results are the same, bit by bit, with any number of threads.
    """

    _instance: "Runtime | None" = None

    def __init__(self, threads: int = 1) -> None:
        """Makes a runtime.

        Args:
            threads: how many compute, the calling one among them; the kernels of the C library divide their work. One creates none.

        Raises:
            ValueError: `threads` is no number from 1 to 1024.
            FlambeauError: the C library is absent, or has no threads.
        """
        library()
        self.threads = Threads(threads)
        self.operator_registry = OperatorRegistry()
        self.backend_registry = BackendRegistry()

    @classmethod
    def get(cls) -> "Runtime":
        """Returns the runtime that computes in the calling thread, always the same one.

        Raises:
            FlambeauError: the C library is absent.
        """
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    @property
    def operator_names(self) -> AbstractSet[str]:
        """The names of the kernels: `operator_registry.operator_names`."""
        return self.operator_registry.operator_names

    @explains_arguments
    def load_program(
        self,
        data: "str | PathLike[str] | bytes | bytearray | memoryview | mmap.mmap | BinaryIO",
        *,
        verification: Verification = Verification.InternalConsistency,
        backend_options: Mapping[str, Mapping[str, object]] | None = None,
        data_path: "DataPath | Sequence[DataPath] | None" = None,
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
    ) -> Program:
        """Loads a program. A file is mapped into memory, not read: never write into it, but rename a new file over it.

        Args:
            data: a path, an open file, or the program's bytes, which are not copied if they are `bytes` or a map; of a `.bpte`, the
                program in it.
            verification: accepted for ExecuTorch's sake, and ignored: everything is always checked.
            backend_options: the options of backends, by their names: `{"npu": {"threads": 2}}`. Loading a method fails if its backend does
                not know an option.
            data_path: one or several `.ptd` files of the program's weights. The program gets a copy of the weights.
            enable_etdump: whether executions are recorded, for `write_etdump_result_to_file`, with the operators inside of delegates where
                the backend measures them.
            debug_buffer_size: the most bytes of values to record with the executions: the results of each kernel and delegate. Makes
                executions slower. 0 records no values.

        Raises:
            FlambeauError: a file is not a program or not a `.ptd`, is damaged, or cannot be read; a backend does not exist; or the `.ptd`
                files lack weights of the program, or have other weights.
        """
        program = _load(data, read_options(with_profile(backend_options) if enable_etdump else backend_options), data_path)
        program.threads = self.threads
        program.recorded = [] if enable_etdump else None
        program.debug_buffer_size = whole_number(debug_buffer_size, 0, 2**63 - 1, "debug_buffer_size")
        return program


def _load(
    data: "str | PathLike[str] | bytes | bytearray | memoryview | mmap.mmap | BinaryIO",
    options: Options,
    data_path: "DataPath | Sequence[DataPath] | None",
) -> Program:
    if data_path is not None:
        return Program(_linked(data, data_path), options=options)
    if isinstance(data, str | PathLike):
        return _load_file(Path(fspath(data)), options)
    if isinstance(data, bytes | bytearray | memoryview | mmap.mmap):
        return Program(data, options=options)
    if not hasattr(data, "read"):
        kind = type(data).__name__
        raise FlambeauError(Status.INVALID_ARGUMENT, f"a program is a path, bytes or an open file, {kind} was given")
    return Program(data.read(), options=options)


def _load_file(path: Path, options: Options) -> Program:
    try:
        with path.open("rb") as file:
            # A private map: if a damaged program wrote to its constants, only this process's copy of the page would change.
            return Program(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), str(path), options)
    except OSError as error:
        raise FlambeauError(Status.ACCESS_FAILED, f"{path}: {error.strerror or error}") from None
    except ValueError:
        raise FlambeauError(Status.INVALID_PROGRAM, f"{path}: the file is empty, so it is not a program") from None


def _linked(
    data: "str | PathLike[str] | bytes | bytearray | memoryview | mmap.mmap | BinaryIO", data_path: "DataPath | Sequence[DataPath]"
) -> bytes:
    """Returns the bytes of the program with the weights of its `.ptd` files."""
    from flambeau.runtime.flat_tensor import FlatTensorError, link_files
    from flambeau.runtime.pte import PteError

    name = f"{fspath(data)}: " if isinstance(data, str | PathLike) else ""
    try:
        if isinstance(data, str | PathLike):
            content = Path(data).read_bytes()
        else:
            content = data if isinstance(data, bytes | bytearray | memoryview) else data.read()
        return link_files(content, data_path)
    except OSError as error:
        raise FlambeauError(Status.ACCESS_FAILED, f"{error.filename}: {error.strerror or error}") from None
    except PteError as error:
        raise FlambeauError(Status.INVALID_PROGRAM, f"{name}{error}") from error
    except FlatTensorError as error:
        raise FlambeauError(Status.INVALID_EXTERNAL_DATA, f"{error}") from error


def _program_in(data: "mmap.mmap | bytes | bytearray | memoryview", prefix: str) -> "mmap.mmap | bytes | bytearray | memoryview":
    """Returns the bytes of the program in a bundled program, and other bytes as they are."""
    if bytes(data[4:8]) != b"BP08":
        return data
    from flambeau.runtime.pte import PteError, program_in

    try:
        return memoryview(program_in(data))
    except PteError as error:
        raise FlambeauError(Status.INVALID_PROGRAM, f"{prefix}{error}") from error


def _in_place(data: "mmap.mmap | bytes | bytearray | memoryview") -> "Array":
    """Returns the bytes as an array, which shares their memory if it is immutable and aligned, and is a copy otherwise."""
    import numpy as np

    memory = np.frombuffer(data, np.uint8)
    if isinstance(data, bytes | mmap.mmap) and memory.nbytes and memory.ctypes.data % 16 == 0:
        return memory
    copy = aligned_bytes(memory.nbytes)
    copy[: memory.nbytes] = memory
    return copy
