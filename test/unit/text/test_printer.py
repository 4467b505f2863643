"""Our printer writes what xDSL's writes."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, UnitAttr, f32, i32
from xdsl.dialects.test import TestOp as AnOp
from xdsl.dialects.test import TestType as AType
from xdsl.printer import Printer

from flambeau.dialects.ir.equivalence import equivalent
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, parse_module
from flambeau.dialects.text.printer import ModulePrinter

FILES = sorted((Path(__file__).parents[2] / "filecheck").rglob("*.mlir"))
LOST = (("printing", "attributes.mlir"), ("interop", "mlir-syntax.mlir"))
"""Where the text of xDSL's printer leaves out attributes."""


def text(kind: type[Printer], module: ModuleOp, *, generic: bool, locations: bool) -> str:
    stream = StringIO()
    printer = kind(stream, print_generic_format=generic, print_debuginfo=locations)
    try:
        printer.print_op(module)
    except Exception as error:
        # Operations that are not valid may not print; then they stop at the same place.
        return f"{stream.getvalue()}{type(error)}{error}"
    return stream.getvalue()


def compare(module: ModuleOp) -> None:
    for generic in (False, True):
        for locations in (False, True):
            if locations and not generic and any(isinstance(op, scf.WhileOp) for op in module.walk()):
                continue  # xDSL writes the location before the regions, where it is no syntax
            assert text(ModulePrinter, module, generic=generic, locations=locations) == text(
                Printer, module, generic=generic, locations=locations
            )


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.parts[-2:] not in LOST], ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_both_printers_write_the_same_for_every_test_file(path: Path) -> None:
    for chunk in path.read_text().split("// -----\n"):
        try:
            module = parse_module(chunk, FlambeauContext(allow_unregistered=True), locate=True).module
        except IRError:
            continue
        compare(module)


def test_both_printers_write_the_same_for_types_of_all_kinds() -> None:
    function = FunctionType.from_lists([i32], [FunctionType.from_lists([], [f32])])
    types = [i32, function, AType("a\nb"), FunctionType.from_lists([f32, i32], [])]
    compare(
        ModuleOp([AnOp(result_types=[kind], attributes={"type": kind, "text": StringAttr('"\n\\é'), "unit": UnitAttr()}) for kind in types])
    )


def test_an_unregistered_attribute_of_several_lines_is_printed_as_it_was_read() -> None:
    kind = '!x.y<"a"\n  "b">'
    lines = (f"%0 = {kind}", f"%1 = tensor<2x{kind}>", f"%2 = ({kind}) -> {kind}")
    body = "\n".join(f'{value} = "x.y"() {{a = [#x.y<1\n2>]}} : () -> ({kind})' for value, kind in (line.split(" = ") for line in lines))
    before = parse_module(body, FlambeauContext(allow_unregistered=True)).module
    for generic in (False, True):
        printed = text(ModulePrinter, before, generic=generic, locations=False)
        again = parse_module(printed, FlambeauContext(allow_unregistered=True)).module
        assert text(ModulePrinter, again, generic=generic, locations=False) == printed


def test_text_that_is_not_ascii_is_read_as_it_was_printed() -> None:
    body = '"x.y"() {"é" = "ü", ø, "\\C3\\A5" = @"ß", x = "\\FF"} : () -> () loc("modèle"("é.py":1:2))'
    before = parse_module(body, FlambeauContext(allow_unregistered=True)).module
    for generic in (False, True):
        printed = text(ModulePrinter, before, generic=generic, locations=True)
        assert equivalent(parse_module(printed, FlambeauContext(allow_unregistered=True)).module, before)
