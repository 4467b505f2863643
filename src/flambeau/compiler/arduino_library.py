"""A library for Arduino's builder, which compiles each file below `src` with this folder as the only one for headers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import metadata

from flambeau.compiler.called_kernels import Selection, SelectionError
from flambeau.runtime.emit.c_program.kernel_sources import needed_sources, runtime_sources
from flambeau.runtime.manifest import NO_OTHERS, kernel_rows, table_source
from flambeau.runtime.scalar_types import BY_NAME

PROPERTIES = "library.properties"
SOURCES = "src"
"""The folder of a library that is compiled."""
_NUMBERS = "core/messages/numbers.c"
_PROPERTIES = """\
name=Flambeau
version={version}
author=Flambeau
maintainer=Flambeau
sentence=Runs programs that Flambeau compiled from PyTorch.
paragraph=Written by `flambeau kernels`, with the kernels of {programs} alone.
category=Data Processing
url=https://pypi.org/project/flambeau
architectures=*
includes=Flambeau.h
"""


def arduino_library(selection: Selection, programs: Mapping[str, bytes], own: Collection[str] = ()) -> dict[str, bytes]:
    """Returns the files of a library with the kernels and element types of some programs, which are arrays in it by their names.

    `own` are operators with kernels of the application. Raises SelectionError for programs with delegates.
    """
    if selection.backends:
        raise SelectionError(f"a library for Arduino has no backends, and the programs call {', '.join(sorted(selection.backends))}")
    rows = [row for name, row in sorted(kernel_rows().items()) if name in selection.operators and name not in own]
    functions = {function for row in rows for function in (row.run, row.scratch) if function != "NULL"}
    core = (path for path in runtime_sources() if path.endswith(".c") and path.startswith("core/") and path != _NUMBERS)
    sources = needed_sources(functions, core)
    mask = sum(1 << BY_NAME[name].number for name in selection.dtypes() or ())
    guard = "#ifndef FL_DTYPES\n"
    kernel_header = "include/flambeau/kernel.h"
    sources[kernel_header] = sources[kernel_header].replace(guard, f"{guard}#define FL_DTYPES {mask:#x}u\n#endif\n{guard}", 1)
    texts = {
        PROPERTIES: _PROPERTIES.format(version=metadata.version("flambeau"), programs=", ".join(programs)),
        f"{SOURCES}/Flambeau.h": "".join(['#include "flambeau/runtime.h"\n', *(f'#include "{name}_program.h"\n' for name in programs)]),
        f"{SOURCES}/kernel_table.c": table_source(rows),
        f"{SOURCES}/rest.c": NO_OTHERS,
        **{f"{SOURCES}/{path.removeprefix('include/')}": text for path, text in sources.items()},
    }
    for name, data in programs.items():
        texts[f"{SOURCES}/{name}_program.h"] = _program_header(name, len(data))
        texts[f"{SOURCES}/{name}_program.c"] = _program_array(name, data)
    return {path: text.encode() for path, text in texts.items()}


def _program_header(name: str, size: int) -> str:
    guard = f"{name.upper()}_PROGRAM_H"
    return (
        f"/* The program {name}, for fl_program_load. */\n#ifndef {guard}\n#define {guard}\n\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif\n'
        f"extern const unsigned char {name}_program[{size}];\n"
        "#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    )


def _program_array(name: str, data: bytes) -> str:
    lines = [",".join(map(str, data[start : start + 32])) for start in range(0, len(data), 32)]
    head = f'#include "{name}_program.h"\n\n__attribute__((aligned(16))) const unsigned char {name}_program[{len(data)}] = {{\n'
    return head + ",\n".join(lines) + "};\n"
