"""The interface of backends, and the backends that exist."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.delegate.ops import STATES, PartitionOp, ReturnOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.ml_program import GlobalOp
from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.support.executorch_names import INSTEAD
from flambeau.support.tables import RegistrationError, Table, discover, hint, note_registration, origin

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from flambeau.passes.rewriting.constants import ModuleConstants
    from flambeau.passes.vendor_tools.tool import Tool
    from flambeau.support.lazy import Array


class BackendError(ValueError):
    """A backend that does not exist, or that cannot do what it promised. One line, for people."""


class RefusedError(BackendError):
    """Operations of partitions that the backend's compiler refuses, each with the reason; a partition stands for all of its operators."""

    def __init__(self, reasons: Mapping[Operation, str]):
        names = (f"@{op.sym_name.data}" if isinstance(op, PartitionOp) else op.name for op in reasons)
        told = (f"its compiler refuses {name}: {reason}" for name, reason in zip(names, reasons.values(), strict=True))
        super().__init__("; ".join(dict.fromkeys(told)))
        self.reasons = reasons


@dataclass(frozen=True)
class Encoded:
    """A payload as its backend compiled it."""

    data: bytes
    named_data: Mapping[str, Buffer] = field(default_factory=dict[str, "Buffer"])
    """What its runtime finds by name in the program: a name is said of one content only, so that payloads share it."""
    state: State | None = None
    """How far such payloads are tried, where that is not what the backend's description says."""
    modules: Sequence[str] = ()
    """The paths of the modules of the model that its operators compute, by the numbers that its runtime reports with their times."""
    made_by: str = ""
    """The tool that made it, with its version: the `label` of an InstalledTool."""
    estimates: Mapping[str, float] = field(default_factory=dict[str, float])
    """What this tool expects of a call, which nobody measured: `cycles`, `seconds`, `sram_bytes`. A name ends with its unit."""
    specs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """The compile specs that the vendor's runtime reads beside it, of the names that its backend lists."""


@dataclass(frozen=True)
class BackendOptions:
    """The options of every backend. One with others derives from it: they reach its functions, and are compile specs of its delegates."""

    least: int = 1
    """The fewest operators that are worth a delegate."""
    methods: tuple[str, ...] = ()
    """The methods that it gets operators of; without names, all."""
    strict: bool = False
    """Whether it is an error that its compiler refuses an operator, or is not installed; otherwise the operator stays, or all do."""

    @property
    def only_here(self) -> str | None:
        """Returns why ExecuTorch's runtime does not run payloads with these options; None where it does, or this is unknown."""
        return None

    def __post_init__(self) -> None:
        if self.least < 1:
            raise ValueError(f"option 'least', the fewest operators of a delegate, is 1 or more, not {self.least}")


class CompiledError(BackendError):
    """A payload that the vendor's compiler has made, so that `decode` does not read it: only the hardware runs it."""


class State(Enum):
    """How far the payloads of a backend are tried here, in the words of users."""

    RUNS_HERE = "runs on the vendor's runtime here"
    COMPILED = "compiled by the vendor"
    INTERCHANGE = "interchange"
    REFERENCE = "reference"


@dataclass(frozen=True)
class Description:
    """The properties by which users choose a backend.

    Attributes:
        hardware: what computes.
        platform: the systems that its part of the runtime is for.
        choose: when to take this one.
        runtimes: what runs its programs.
        state: how far it is tried.
    """

    hardware: str
    platform: str
    choose: str
    runtimes: str
    state: State


@dataclass(frozen=True)
class FoundLibrary:
    """A library of the vendor that a backend's part of the runtime finds when a program is loaded.

    Attributes:
        variable: the environment variable that may name its file.
        package: the Python package that has it.
        folder: its folder in the package.
        prefix: what its file's name begins with.
    """

    variable: str
    package: str
    folder: str
    prefix: str

    def find(self) -> Path | None:
        """Returns the file of the installed package; None where there is none."""
        spec = importlib.util.find_spec(self.package)
        places = () if spec is None else spec.submodule_search_locations or ()
        files = (file for place in places for file in sorted((Path(place) / self.folder).glob(f"{self.prefix}*")))
        return next(files, None)


@dataclass(frozen=True)
class WholeMethod:
    """A method of a program that a backend has as a whole.

    Attributes:
        partition: its operators, in terms of the backend's own dialect; it has the method's name.
        inputs: the names of its inputs in the model, one for each argument.
        outputs: the names of its outputs, one for each result.
        states: the names of the globals that it reads or writes, whose values are arguments behind the inputs.
        written: the names of those that it writes, whose new values are results behind the outputs.
    """

    partition: PartitionOp
    inputs: Sequence[str]
    outputs: Sequence[str]
    states: Sequence[str] = ()
    written: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.partition.sym_name.data


@dataclass(frozen=True)
class ProgramFile:
    """The files that a backend makes of whole programs, instead of payloads in a `.pte`.

    Attributes:
        suffix: the suffix of their names, without the dot.
        encode: the bytes of a file, from the methods of a program, or of the files of a folder, by their paths. Raises BackendError.
        options: the backend's options that have other values for a file unless the user says them, as text.
        has_states: whether its methods may read and write mutable globals.
        mark: for a folder, a file that it has: only a folder with this file is written anew.
    """

    suffix: str
    encode: Callable[[Sequence[WholeMethod], ModuleConstants, Any], bytes | Mapping[str, bytes]]
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    has_states: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Backend:
    """A backend: its operators, and the functions that make payloads of them, imported at their first call (`later`).

    Attributes:
        name: what users call it; the name of its folder.
        identifier: what programs call it, and its part of the C runtime: the `id` of a delegate.
        table: what it takes, perhaps depending on the options.
        encode: the payloads of partitions, one each, of every method at once; they have the same options. Raises BackendError.
        convert: rewrites a partition in terms of the backend's own dialect, before it is encoded; None for a backend without one.
        simulate: runs a payload where its hardware is not, with a vendor's emulator or reference model: of the payload, the program's
            named data and the arguments of a call, the results. The arguments are the inputs, behind which storage for outputs may come.
            Raises BackendError, and HardwareOnlyError of the interpreter where the emulator is not installed: the results are not
            checked then. None where what `decode` gives is to be run, by the rows.
        decode: a module that says what a payload computes: its constants, whose bytes go to the store, and one partition. It is given the
            payload and the program's named data. Raises BackendError for a bad payload, and CompiledError. None where only the hardware
            knows.
        options: a frozen dataclass.
        refuses: whether `convert` or `encode` may raise RefusedError. `partition` then tries them first, and leaves what they refuse.
        requires: the Python modules that `encode` imports and that are not installed with Flambeau.
        unbuilt: why the build did not make what `encode` needs, and what would help; None where it did.
        tools: the programs of the vendor that `encode` runs.
        optional_tools: those that it runs where they are installed, to compile payloads further.
        library: the shared library with its part of the C runtime, `fl_backend_<name>`, where that is not built into ours. Our runtime uses
            it if it is there when the backend is registered.
        found: the library of the vendor that this part loads.
        specs: the names of the compile specs that its payloads have for the vendor's runtime, which are none of its options.
        family: the backend whose dialect, converters and format it uses.
        file: the files that it makes of whole programs; None for a backend that takes parts of them only.
        judged: its options that have other values, as text, where its results are judged, unless the user says them: its own may round more
            than the program does.
        takes_state: whether its runtime keeps a state of the program with the payload that alone reads and writes it, by the first value
            and the options. Such a partition has the attribute `delegate.states`.
        description: what users choose it by; every built-in backend has one.
    """

    name: str
    identifier: str
    table: OperatorTable | Callable[[Any], OperatorTable]
    encode: Callable[[Sequence[PartitionOp], ModuleConstants, Any], Sequence[Encoded]]
    convert: Callable[[PartitionOp, ModuleConstants, Any], None] | None = None
    decode: Callable[[memoryview, Mapping[str, memoryview], BlobStore], ModuleOp] | None = None
    simulate: Callable[[memoryview, Mapping[str, memoryview], Sequence[Array]], Sequence[Array]] | None = None
    options: type[BackendOptions] = BackendOptions
    refuses: bool = False
    requires: tuple[str, ...] = ()
    unbuilt: Callable[[], str | None] | None = None
    tools: tuple[Tool, ...] = ()
    optional_tools: tuple[Tool, ...] = ()
    library: Path | None = None
    found: FoundLibrary | None = None
    specs: tuple[str, ...] = ()
    family: str = ""
    file: ProgramFile | None = None
    judged: Mapping[str, str] = field(default_factory=dict[str, str])
    takes_state: Callable[[Array, Any], bool] | None = None
    description: Description | None = None

    def missing(self) -> str | None:
        """Returns what must be installed before it can encode; None when all is."""
        absent = [name for name in self.requires if importlib.util.find_spec(name) is None]
        if absent:
            return f"backend {self.name!r} needs {', '.join(absent)}, which is not installed here"
        if self.unbuilt is not None and (why := self.unbuilt()) is not None:
            return f"backend {self.name!r}: {why}"
        why = next((why for tool in self.tools if (why := tool.missing()) is not None), None)
        return None if why is None else f"backend {self.name!r} needs a tool: {why}"


def located(error: BackendError, partition: PartitionOp) -> OperationError:
    """Returns an error of `convert` or `encode` as one at the first operation that is refused, or at the partition."""
    return OperationError(next(iter(error.reasons), partition) if isinstance(error, RefusedError) else partition, str(error))


def one_by_one(encode: Callable[[PartitionOp, ModuleConstants, Any], Encoded]) -> Callable[..., Sequence[Encoded]]:
    """Returns an `encode` of all partitions from that of one, for independent payloads."""

    def encode_all(partitions: Sequence[PartitionOp], constants: ModuleConstants, options: BackendOptions) -> Sequence[Encoded]:
        found: list[Encoded] = []
        refused: dict[Operation, str] = {}
        for partition in partitions:
            try:
                found.append(encode(partition, constants, options))
            except RefusedError as error:
                refused.update(error.reasons)
            except BackendError as error:
                raise OperationError(partition, str(error)) from error
        if refused:
            raise RefusedError(refused)
        return found

    return encode_all


def partition_module(
    identifier: str,
    inputs: Sequence[Attribute],
    build: Callable[..., Sequence[SSAValue]],
    constants: Sequence[GlobalOp] = (),
    states: Sequence[str] = (),
) -> ModuleOp:
    """Returns what a payload decodes into: its constants, and a partition with inputs of these types, whose results `build` makes of them.

    `build` may make constants too, and add them to the list. The last inputs and results are those of states. Raises
    BackendError where operators do not fit together.
    """
    block = Block(arg_types=inputs)
    try:
        with ImplicitBuilder(block):
            results = build(*block.args)
            ReturnOp(results)
        kind = FunctionType.from_lists(inputs, [value.type for value in results])
        for item in constants:
            if item.parent is not None:
                item.detach()
        partition = PartitionOp("partition", identifier, kind, Region(block))
        if states:
            partition.attributes[STATES] = ArrayAttr([StringAttr(name) for name in states])
        module = ModuleOp([*constants, partition])
        module.verify()
    except VerifyException as error:
        raise BackendError(f"a payload of {identifier!r} is damaged: {error}") from error
    return module


ABSENT_ADVICE = "load its plug-in with --load-plugin; if there is none, export the program without a partitioner for this backend"
"""What to do about a program that needs a backend which is not here."""


@cache
def _own_names() -> tuple[str, ...]:
    """Returns the built-in backends: the folders in `backends/`, none of which this room knows."""
    folders = importlib.import_module("flambeau.backends").__path__
    return tuple(sorted(module.name for module in pkgutil.iter_modules(folders) if module.ispkg))


def _own(name: str) -> Backend:
    return importlib.import_module(f"flambeau.backends.{name}").BACKEND


_BACKENDS: Table[Backend] = Table("backend", lambda name: ("Flambeau", _own(name)) if name in _own_names() else None)


def register_backend(backend: Backend) -> None:
    """Makes a backend known by its name and its identifier. Raises RegistrationError when another one has either."""
    for other in map(find_backend, backend_names()):
        if other.identifier == backend.identifier and other.name != backend.name:
            why = f"but programs call the backend {other.name!r} so"
            raise RegistrationError(f"{origin()} declares the backend {backend.name!r} with the identifier {backend.identifier!r}, {why}")
    _BACKENDS.add(backend.name, backend)
    if backend.library is not None and backend.library.is_file():
        from flambeau.runtime.binding.libraries import add_backend, remove_backend

        add_backend(backend.name, backend.library)
        note_registration(f"runtime of backend {backend.name!r}", lambda: remove_backend(backend.name))


def backend_names() -> tuple[str, ...]:
    """Returns the backends that exist: built in, or registered."""
    return tuple(sorted((*_own_names(), *_BACKENDS.items())))


def find_backend(name: str) -> Backend:
    """Returns the backend that users call `name`. Raises BackendError that lists those that exist."""
    if name in _own_names():
        return _own(name)
    found = _BACKENDS.find(name)
    if found is None:
        instead = f"; {INSTEAD[name]}" if name in INSTEAD else ""
        raise BackendError(f"there is no backend {name!r}{hint(name, list(backend_names()), listing=True)}{instead}")
    return found


def find_identifier(identifier: str) -> Backend | None:
    """Returns the backend that programs call `identifier`; None when no installed one does."""
    for _ in range(2):
        for name in backend_names():
            if (found := find_backend(name)).identifier == identifier:
                return found
        if not discover():
            break
    return None


def file_backends() -> Mapping[str, Backend]:
    """Returns the backends that make files of whole programs, by the suffixes of these files."""
    found = map(find_backend, backend_names())
    return {backend.file.suffix: backend for backend in found if backend.file is not None}


def unknown_identifier(identifier: str) -> str:
    """Returns the message for a program whose backend is absent."""
    return f"no backend here is called {identifier!r} by programs ({', '.join(backend_names())}); {ABSENT_ADVICE}"
