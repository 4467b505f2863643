"""The header of a C program: what an application calls, and the sizes and names of inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue

from flambeau.dialects.edge.layout import dim_order, upper_bounds
from flambeau.dialects.emitc.c_names import bank_macro, c_name, function_names
from flambeau.dialects.exec import slots
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.types import BoolType, DoubleType, IntType
from flambeau.dialects.ir.tensor_types import dtype_of, is_static, shape_of, tensor_type

_SCALARS = {IntType: ("int64_t", "integer"), DoubleType: ("double", "real"), BoolType: ("uint8_t", "boolean")}


def c_interface(module: ModuleOp, program: str, blob_size: int | None = None) -> str:
    """Returns the text of `<program>.h` for the planned methods of a module; `program` is an identifier of C.

    `blob_size` is the bytes of weights that the application gives the program; None where the program has its weights.
    """
    methods = [op for op in module.body.block.ops if isinstance(op, MethodOp)]
    functions = function_names(program, (method.sym_name.data for method in methods))
    guard = f"{program.upper()}_H"
    lines = [
        f"/* The program {program}, written by Flambeau. One thread at a time may run it. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <math.h>",
        "",
        '#include "flambeau/emitted.h"',
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *(() if blob_size is None else _weights(program, blob_size)),
        *_banks(methods),
        "/* Gives arenas, state and values their first content. Call it before the first run, and to begin again. */",
        f"void {program}_init(void);",
        *(line for method in methods for line in _method(method, functions[method.sym_name.data], len(methods) > 1)),
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _weights(program: str, size: int) -> Iterator[str]:
    yield f"/* Takes the bytes of {program}_weights.bin, which must start at a multiple of 16 and stay where they are. Call it first. */"
    yield f"enum {{ {program}_weights_size = {size} }};"
    yield f"void {program}_weights_in(const void *weights);"
    yield ""


def _banks(methods: Sequence[MethodOp]) -> Iterator[str]:
    for bank in dict.fromkeys(bank for method in methods for bank in method.bank_names or ()):
        yield f"/* What stands before the variables of the bank {bank}: define it as the attribute of a section, for the linker. */"
        yield f"#ifndef {bank_macro(bank)}"
        yield f"#define {bank_macro(bank)}"
        yield "#endif"
        yield ""


def _method(method: MethodOp, name: str, is_one_of_several: bool) -> Iterator[str]:
    inputs, outputs = list(method.terminator.inputs), list(method.terminator.outputs)
    yield ""
    yield f"/* Runs the method {method.sym_name.data}. Returns FL_OK, or why an instruction failed; {name}_run has its number and message."
    if is_one_of_several:
        yield " * Methods share memory: read the outputs of one before you run another, or write its inputs."
    yield " */"
    yield f"fl_status {name}(void);"
    yield f"extern fl_emitted {name}_run;"
    for kind, values in (("inputs", inputs), ("outputs", outputs)):
        yield f"enum {{ {name}_{kind[:-1]}_count = {len(values)} }};"
        yield f"extern fl_value *const {name}_{kind}[{max(len(values), 1)}];"
    names = [item.data for item in method.input_names or ()] or [f"input_{index}" for index in range(len(inputs))]
    for index, (slot, own) in enumerate(zip(inputs, names, strict=True)):
        yield from _port(name, "input", index, slot, own)
    names = [item.data for item in method.output_names or ()] or [f"output_{index}" for index in range(len(outputs))]
    for index, (slot, own) in enumerate(zip(outputs, names, strict=True)):
        yield from _port(name, "output", index, slot, own)


def _port(method: str, kind: str, index: int, slot: SSAValue, name: str) -> Iterator[str]:
    """Yields the comment and the functions of an input or output."""
    value = f"{method}_{kind}s[{index}]"
    own = c_name(name)
    function = f"{method}_{own if own.startswith(kind) else f'{kind}_{own}'}"
    head = f'/* {kind.capitalize()} {index}, "{name}": '
    yield ""
    if not isinstance(slot.type, TensorType):
        type, member = next((found for kind_, found in _SCALARS.items() if isinstance(slot.type, kind_)), ("", ""))
        if not type:
            yield f"{head}a value that the program has fixed. */"
        elif kind == "input":
            yield f"{head}a number. */"
            yield f"static inline void {function}({type} number) {{ {value}->as.{member} = number; }}"
        else:
            yield f"{head}a number. */"
            yield f"static inline {type} {function}(void) {{ return {value}->as.{member}; }}"
        return
    type = tensor_type(slot)
    dtype = dtype_of(type.element_type)
    written = dtype.c_type
    order = dim_order(type)
    laid_out = "" if order == tuple(range(len(order))) else f", its dimensions in memory in the order {', '.join(map(str, order))}"
    yield f"{head}{dtype.name} [{', '.join(map(str, shape_of(slot)))}]{laid_out}, at most {slots.nbytes(type)} bytes. */"
    pointer = f"({written} *){value}->as.tensor->data"
    if kind == "input":
        yield f"static inline {written} *{function}(void) {{ return {pointer}; }}"
    else:
        yield f"static inline const {written} *{function}(void) {{ return {pointer}; }}"
    if not is_static(type):
        yield from _dynamic(method, kind, function, value, upper_bounds(type))
    root = slots.root_of(slot)[0].owner
    if isinstance(root, slots.ExternalOp) or (isinstance(root, slots.TensorOp) and root.place is None):
        yield f"static inline void {function}_in(void *memory) {{ {value}->as.tensor->data = memory; }}"


def _dynamic(method: str, kind: str, function: str, value: str, bounds: Sequence[int]) -> Iterator[str]:
    yield f"static inline const int32_t *{function}_sizes(void) {{ return {value}->as.tensor->sizes; }}"
    if kind == "input":
        yield f"/* Gives it sizes, at most {', '.join(map(str, bounds))}. Call it before you write the elements. */"
        yield f"static inline fl_status {function}_resize(const int32_t *sizes) {{"
        yield f"  return fl_emitted_resize(&{method}_run, {value}, sizes, {len(bounds)});"
        yield "}"
