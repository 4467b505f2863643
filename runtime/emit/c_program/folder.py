"""The files of a C program: the program, its header and weights, an example of an application, and the runtime that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp

from flambeau.dialects.emitc import BLOB, FuncOp, GlobalOp, IncludeOp
from flambeau.dialects.emitc.blob_layout import blob_offsets
from flambeau.dialects.ir.blobs import BlobAttr, BlobStore
from flambeau.runtime.emit.c_program.c_text import print_c
from flambeau.runtime.emit.c_program.kernel_sources import needed_sources
from flambeau.runtime.scalar_types import BY_NAME

_RUNTIME = "flambeau"
WEIGHTS = ("array", "incbin", "blob")
"""The forms of weights."""
MARK = f"{_RUNTIME}/include/flambeau/emitted.h"
"""A file that each folder has."""


def program_files(module: ModuleOp, blobs: BlobStore, program: str, header: str, weights: str) -> dict[str, bytes]:
    """Returns the files of a program that is compiled with the library: its code, its header and its weights.

    Args:
        module: what `convert-exec-to-emitc` leaves.
        blobs: the weights.
        program: the name of the program, an identifier of C.
        header: the text of its header.
        weights: one of `WEIGHTS`: as arrays of C; in a file that the assembler includes, which compiles at once, however large it is; or
            given by the application, of which it writes nothing.
    """
    files: dict[str, bytes] = {}
    if weights != "blob":
        known = _weights(module, blobs)
        files = _arrays(known, program) if weights == "array" else _included(known, program)
    code = f"/* The program {program}, written by Flambeau. */\n{print_c(module)}"
    return {f"{program}.h": header.encode(), f"{program}.c": code.encode(), **files}


def runtime_files(module: ModuleOp, program: str, weights: str, dtypes: Sequence[str]) -> dict[str, bytes]:
    """Returns the other files of a program's folder: the sources that it needs of the runtime, an example of an application, and CMake's.

    The arguments are those of `program_files`, and the names of the element types with which kernels compute.
    """
    kernels = [op.sym_name.data for op in module.body.block.ops if isinstance(op, FuncOp) and not op.body.blocks]
    sources = needed_sources(kernels, _runtime_headers(module))
    texts = {
        "main.c": _main(weights).replace("PROGRAM", program).replace("METHOD", _first_method(module, program)),
        "CMakeLists.txt": _cmake(program, [path for path in sources if path.endswith(".c")], weights, dtypes),
        **{f"{_RUNTIME}/{path}": text for path, text in sources.items()},
    }
    return {path: text.encode() for path, text in texts.items()}


def header_files(module: ModuleOp) -> dict[str, bytes]:
    """Returns the headers of kernels that a program includes, by the path in its text: what is installed does not have them."""
    headers = _runtime_headers(module)
    found = needed_sources((), headers) if headers else {}
    return {f"{_RUNTIME}/{path}": text.encode() for path, text in found.items() if path.startswith("kernels/") and path.endswith(".h")}


def _runtime_headers(module: ModuleOp) -> list[str]:
    included = (op.include.data for op in module.body.block.ops if isinstance(op, IncludeOp))
    return [name.removeprefix(f"{_RUNTIME}/") for name in included if name.startswith(f"{_RUNTIME}/kernels/")]


def _first_method(module: ModuleOp, program: str) -> str:
    """Returns the first function that is not of this file alone."""
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.body.blocks and op.specifiers is None]
    return next(op.sym_name.data for op in functions if op.sym_name.data not in (f"{program}_init", f"{program}_weights_in"))


def weights_blob(module: ModuleOp, blobs: BlobStore) -> bytes:
    """Returns the bytes of weights that the application gives a program, which `convert-exec-to-emitc{blob=true}` left."""
    (listed,) = (found for op in module.body.block.ops if isinstance(op, GlobalOp) and (found := op.attributes.get(BLOB)) is not None)
    parts = [blobs.get(blob) for blob in cast("ArrayAttr[BlobAttr]", listed)]
    *offsets, size = blob_offsets(max(len(part), 1) for part in parts)
    data = bytearray(size)
    for offset, part in zip(offsets, parts, strict=True):
        data[offset : offset + len(part)] = part
    return bytes(data)


def _weights(module: ModuleOp, blobs: BlobStore) -> dict[str, memoryview]:
    """Returns the bytes of each weight by the name of its variable."""
    return {
        op.sym_name.data: blobs.get(blob)
        for op in module.body.block.ops
        if isinstance(op, GlobalOp) and isinstance(blob := op.attributes.get(BLOB), BlobAttr)
    }


def _arrays(weights: Mapping[str, memoryview], program: str) -> dict[str, bytes]:
    parts = [f'/* The weights of the program {program}, written by Flambeau. */\n#include "flambeau/emitted.h"\n']
    for name, data in weights.items():
        size = max(len(data), 1)
        lines = (",".join(map(str, data[start : start + 32] or b"\0")) for start in range(0, size, 32))
        parts.append(f"\nextern const uint8_t {name}[{size}];\nconst FL_ALIGNED(16) uint8_t {name}[{size}] = {{\n")
        parts += (f"{line},\n" for line in lines)
        parts.append("};\n")
    return {f"{program}_weights.c": "".join(parts).encode()}


def _included(weights: Mapping[str, memoryview], program: str) -> dict[str, bytes]:
    lines = [
        f"/* The weights of the program {program}, written by Flambeau. */",
        "#ifdef __APPLE__",
        "#define SYMBOL(name) _##name",
        "  .const",
        "#else",
        "#define SYMBOL(name) name",
        "  .section .rodata",
        "#endif",
    ]
    data = bytearray()
    for name, content in weights.items():
        data += bytes(-len(data) % 16)
        lines += ["  .balign 16", f"  .globl SYMBOL({name})", f"SYMBOL({name}):"]
        lines.append(f'  .incbin "{program}_weights.bin", {len(data)}, {len(content)}' if len(content) else "  .byte 0")
        data += content
    lines += ["#ifdef __ELF__", '  .section .note.GNU-stack,"",%progbits', "#endif"]
    return {f"{program}_weights.S": "\n".join([*lines, ""]).encode(), f"{program}_weights.bin": bytes(data)}


def _cmake(program: str, sources: list[str], weights: str, dtypes: Sequence[str]) -> str:
    listed = "\n  ".join(f"{_RUNTIME}/{path}" for path in sources)
    languages, suffix = ("C ASM", "S") if weights == "incbin" else ("C", "c")
    found = _CMAKE.replace("LANGUAGES LANGUAGE", f"LANGUAGES {languages}").replace(
        "PROGRAM_weights.c", "" if weights == "blob" else f"PROGRAM_weights.{suffix}"
    )
    mask = sum(1 << BY_NAME[name].number for name in dtypes)
    found = found.replace("NAMES", ", ".join(dtypes)).replace("MASK", f"{mask:#x}")
    return found.replace("PROGRAM", program).replace("SOURCES", listed)


def _main(weights: str) -> str:
    if weights != "blob":
        return _MAIN
    words = " The first argument is the file PROGRAM_weights.bin, and each further one"
    return (
        _MAIN.replace("int main(", f"{_READ}\nint main(")
        .replace("  PROGRAM_init();\n", _GIVEN)
        .replace("i + 1 < argc", "i + 2 < argc")
        .replace("argv[i + 1]", "argv[i + 2]")
        .replace(" Each argument", words)
    )


_READ = """\
static FL_ALIGNED(16) uint8_t weights[PROGRAM_weights_size > 0 ? PROGRAM_weights_size : 1];
"""

_GIVEN = """\
  FILE *bytes = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (bytes == NULL || fread(weights, 1, PROGRAM_weights_size, bytes) != PROGRAM_weights_size) {
    fprintf(stderr, "%s: not the %d bytes of the weights\\n", argc > 1 ? argv[1] : "no argument", (int)PROGRAM_weights_size);
    return 2;
  }
  fclose(bytes);
  PROGRAM_weights_in(weights);
  PROGRAM_init();
"""

_CMAKE = """\
cmake_minimum_required(VERSION 3.15)
project(PROGRAM LANGUAGES LANGUAGE)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)

# The kernels. Nothing reads errno or the floating-point flags; with them, sqrt and comparisons would not vectorise.
add_library(PROGRAM_kernels OBJECT
  SOURCES
)
target_compile_options(PROGRAM_kernels PRIVATE -fno-math-errno -fno-trapping-math)
# They compute with these element types alone: NAMES.
target_compile_definitions(PROGRAM_kernels PRIVATE FL_DTYPES=MASKu)

add_library(PROGRAM STATIC PROGRAM.c PROGRAM_weights.c $<TARGET_OBJECTS:PROGRAM_kernels>)
# The assembler, too, looks there for the file of the weights.
target_include_directories(PROGRAM PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/flambeau/include)
target_link_libraries(PROGRAM PUBLIC m)
foreach(target PROGRAM PROGRAM_kernels)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/flambeau ${CMAKE_CURRENT_SOURCE_DIR}/flambeau/include)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Wconversion> -ffunction-sections -fdata-sections)
  # Each operation is rounded as the model has it; kernels ask for fused multiply-add where they want it.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
endforeach()

# An example of an application, for machines with files.
add_executable(PROGRAM_main main.c)
target_link_libraries(PROGRAM_main PRIVATE PROGRAM -Wl,--gc-sections)
"""

_MAIN = """\
/* Runs the program PROGRAM once. Each argument is a file with the bytes of an input, in order; inputs without a file are zeros. Writes the
 * bytes of the outputs to stdout, one after the other. */
#include <stdio.h>

#include "PROGRAM.h"

static size_t bytes_of(const fl_tensor *tensor) { return fl_numel(tensor) * fl_element_size(tensor->dtype); }

int main(int argc, char **argv) {
  PROGRAM_init();
  for (int i = 0; i + 1 < argc && i < METHOD_input_count; ++i) {
    const fl_tensor *input = fl_get_tensor(METHOD_inputs[i]);
    FILE *file = fopen(argv[i + 1], "rb");
    if (file == NULL || input == NULL || input->data == NULL || fread(input->data, 1, bytes_of(input), file) != bytes_of(input)) {
      fprintf(stderr, "%s: not the %zu bytes of input %d\\n", argv[i + 1], input == NULL ? 0 : bytes_of(input), i);
      return 2;
    }
    fclose(file);
  }
  if (METHOD() != FL_OK) {
    fprintf(stderr, "instruction %u: %s\\n", (unsigned)METHOD_run.instruction, METHOD_run.context.message);
    return 1;
  }
  for (int i = 0; i < METHOD_output_count; ++i) {
    const fl_tensor *output = fl_get_tensor(METHOD_outputs[i]);
    if (output != NULL && fwrite(output->data, 1, bytes_of(output), stdout) != bytes_of(output)) {
      return 1;
    }
  }
  return 0;
}
"""
