"""Every function of the C headers, called with each of its pointers NULL: it says so, or gives nothing, and never ends the process.

The functions are those that the headers declare; each is called in a process of its own.
"""

import ctypes
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from runtime_programs import stock

from flambeau.runtime.binding.library import CError, CMemory, CRequirements, CValue, find_library, include_folder

OPTIONAL = {"error", "registry", "hook", "user", "threads", "level"}
"""Parameters that may be NULL by what the headers say of them; an index or a number is no pointer."""
ROOM = 1 << 16


class CSpec(ctypes.Structure):
    """`fl_compile_spec`, the only structure that a function returns."""

    _fields_ = (("key", ctypes.c_void_p), ("value", ctypes.c_void_p), ("size", ctypes.c_size_t))


def declarations() -> Iterator[tuple[str, str, list[str]]]:
    """The result, the name and the parameters of each function."""
    for header in sorted((include_folder() / "flambeau").glob("*.h")):
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(), flags=re.DOTALL)
        for result, name, parameters in re.findall(r"^FL_API\s+([\w\s*]+?)\s*(\w+)\(([^;{}]*)\);", text, flags=re.MULTILINE):
            yield result, name, [" ".join(part.split()) for part in parameters.split(",") if part.strip() != "void"]


FUNCTIONS = {name: (result, parameters) for result, name, parameters in declarations()}


def is_pointer(parameter: str) -> bool:
    return "*" in parameter or parameter.startswith("fl_hook_fn")


def name_of(parameter: str) -> str:
    return re.findall(r"\w+", parameter)[-1]


class Objects:
    """A program and a method that are ready, in the memory that the C library asks for, and zeros for all others."""

    def __init__(self) -> None:
        self.blocks: list[object] = []
        self.library = ctypes.CDLL(str(find_library()))
        data = stock("state").read_bytes()
        file, self.error, self.program, self.method = self.zeros(len(data)), CError(), self.zeros(), self.zeros()
        ctypes.memmove(file, data, len(data))
        need, error = CRequirements(), ctypes.byref(self.error)
        assert self.library.fl_program_load(self.program, file, ctypes.c_size_t(len(data)), error) == 0, self.error.text
        assert self.library.fl_method_measure(self.program, 0, None, ctypes.byref(need), error) == 0, self.error.text
        arenas = (ctypes.c_void_p * 4)(*(self.zeros().value for _ in range(4)))
        sizes = (ctypes.c_size_t * 4)(*([ROOM] * 4))
        memory = CMemory(self.zeros(), ROOM, arenas, sizes, 4, self.zeros(), ROOM, 0)
        assert self.library.fl_method_init(self.method, self.program, 0, None, ctypes.byref(memory), error) == 0, self.error.text

    def zeros(self, size: int = 0) -> ctypes.c_void_p:
        """The address of zeros, aligned to 64."""
        block = ctypes.create_string_buffer(size + ROOM + 64)
        self.blocks.append(block)
        return ctypes.c_void_p((ctypes.addressof(block) + 63) // 64 * 64)

    def value(self, parameter: str) -> object:
        """What stands for a parameter that is not NULL."""
        if not is_pointer(parameter):
            return ctypes.c_uint64(name_of(parameter) == "rank")
        if parameter.startswith("const char *"):
            return ctypes.c_char_p(b"forward")
        if parameter.startswith("const fl_value *"):
            return ctypes.byref(CValue(tag=4))  # an integer
        if re.match(r"(const )?fl_program \*", parameter):
            return self.program
        if re.match(r"(const )?fl_method \*", parameter):
            return self.method
        return ctypes.byref(self.error) if parameter.startswith("fl_error *") else None if "fl_hook_fn" in parameter else self.zeros()


def call(name: str, absent: str | None) -> str:
    """Calls a function with a parameter NULL; what is wrong with its answer."""
    result, parameters = FUNCTIONS[name]
    objects = Objects()
    function = getattr(objects.library, name)
    function.restype = (
        CSpec if result == "fl_compile_spec" else None if result == "void" else ctypes.c_int if "*" not in result else ctypes.c_void_p
    )
    status = function(*(None if parameter == absent else objects.value(parameter) for parameter in parameters))
    if result != "fl_status" or absent is None or name_of(absent) in OPTIONAL:
        return ""
    if status == 0:
        return f"{name} takes NULL for {absent}"
    has_text = any(parameter.startswith("fl_error *") for parameter in parameters)
    return f"{name} does not say why {absent} is refused" if has_text and not objects.error.text else ""


def in_a_process(name: str, absent: str | None) -> str:
    """The same in a process that may end: what is wrong."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.write(write, call(name, absent).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(write)
    text = os.read(read, 1000).decode()
    os.close(read)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return text if code == 0 else f"{name} without {absent}: {signal.Signals(-code).name if code < 0 else 'exit'}"


def test_the_headers_declare_functions():
    assert {"fl_program_load", "fl_method_execute", "fl_resize", "fl_payload_compile_spec"} <= FUNCTIONS.keys()
    declared = sum(path.read_text().count("FL_API ") for path in (Path(include_folder()) / "flambeau").glob("*.h"))
    assert len(FUNCTIONS) == declared - 1  # the definition of FL_API itself


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_takes_null(name: str):
    pointers = [parameter for parameter in FUNCTIONS[name][1] if is_pointer(parameter)]
    assert not list(filter(None, (in_a_process(name, absent) for absent in (None, *pointers))))
