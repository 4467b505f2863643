"""Our parser reads what xDSL's reads, into the same operations, and refuses the rest with the same error at the same place."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from flambeau.dialects.ir.equivalence import equivalent
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.lexer import Lexer
from flambeau.dialects.text.parser import ModuleParser
from flambeau.dialects.text.source_text import Source

ON_PURPOSE = ("interop/locations", "interop/invalid-locations", "interop/mlir-syntax", "printing/elision")
"""What is read otherwise than by xDSL: syntax of MLIR that it lacks or drops, and resources, of which equal names meet there."""
FILES = [
    path
    for path in sorted((Path(__file__).parents[2] / "filecheck").rglob("*.mlir"))
    if f"{path.parent.name}/{path.stem}" not in ON_PURPOSE
]


def text_of(module: Operation, *, generic: bool) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic, print_debuginfo=True).print_op(module)
    return stream.getvalue()


def read(make: Callable[[str], Parser], text: str) -> tuple[object, ...]:
    """What a parser makes of a text: the module, its values' names and its text; or the error."""
    try:
        module = make(text).parse_module()
    except ParseError as error:
        return "error", error.span.start, error.span.end, error.msg
    except Exception as error:
        return type(error).__name__, str(error)
    names = [result.name_hint for op in module.walk() for result in op.results]
    names += [argument.name_hint for op in module.walk() for region in op.regions for block in region.blocks for argument in block.args]
    return module, text_of(module, generic=True), [type(op) for op in module.walk()], names


def same(text: str, path: Path | None = None) -> str | None:
    """Reads a text with both parsers, compares, and returns the generic text of the module, if it is one."""

    context = FlambeauContext(allow_unregistered=True)
    if path is not None:
        context.blobs.open_beside(path)
    ours = read(lambda text: ModuleParser(context, Source(text, "f")), text)
    theirs = read(lambda text: Parser(context, text, "f"), text)
    assert ours[1:] == theirs[1:]
    if isinstance(ours[0], Operation):
        assert isinstance(theirs[0], Operation)
        assert equivalent(ours[0], theirs[0])
        return str(ours[1])
    assert ours[0] == theirs[0]
    return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_both_parsers_read_the_same_from_every_test_file(path: Path) -> None:
    for chunk in path.read_text().split("// -----\n"):
        if not re.sub(r"//.*|\s", "", chunk):
            continue  # to xDSL, an empty text is no module
        generic = same(chunk, path)
        if generic is not None:
            # To xDSL, text that is not ASCII is bytes when it is escaped, as in what is printed; it reads no infinity in an array.
            if chunk.isascii() and "array<f64: 0x" not in generic:
                same(generic, path)
            # Everything twice: most of the second half is read from memory.
            lines = chunk.splitlines()
            same("\n".join(["builtin.module {", *lines, "}", "builtin.module {", *lines, "}"]), path)


LINES = (
    "{r} = aten.relu({a}) : (T) -> T",
    "{r} = aten.add.Tensor({a}, {b}) : (T, T) -> T",
    "{r} = aten.add.Tensor({a}, {b}) {{alpha = 2}} : (T, T) -> T // {a}",
    '{r} = "aten.relu"({a}) : (T) -> T loc("x.{n}"("f.py":1:2))',
    '{r} = "aten.relu"({a}) : (T) -> T loc(unknown)',
    '{r} = "aten.relu"({a}) {{note = "a loc(b"}} : (T) -> T',
    '{r} = "aten.relu"({a}) {{note = "5{b}"}} : (T) -> T',
    '{r} = "aten.relu"({a}) {{note = "5%"}} : (T) -> T',
    "{r}:2 = aten.max.dim({a}) {{dim = 0}} : (T) -> (T, T)",
    "{r}, {s} = aten.max.dim({a}) {{dim = 0}} : (T) -> (T, T)",
    "aten.relu({a}) : (T) -> T {r} = aten.relu({a}) : (T) -> T",
    "{r} = aten.cat([{a}, {b}]) {{dim = 0}} : (T, T) -> T",
    '{r} = "other.op"({a}) <{{p = #other<x {a}>}}> : (T) -> T',
    "{r} = arith.constant dense<{n}.0> : T",
    "{r} = arith.addf {a}, {b} : T",
    "{r} = aten.relu({a}) : (T)\n -> T",
    "{r} = aten.relu({a}) : (T) -> T\n  loc(unknown)",
    "{r} = aten.relu({a}#0) : (T) -> T",
    "{r} = aten.relu({a} #0) : (T) -> T",
    '{r} = "other.op"({a}) {{x = memref<2xf32, affine_map<(d0) -> (d0)>>}} : (T) -> T',
)
BROKEN = (
    "{r} = aten.relu({a}) : (tensor<?x3xf32>) -> T",
    "{r} = aten.relu({a}",
    "{r} = aten.relu({a}) : (T) -> T \x01",
    "{r} =aten.relu({a}) : (T) -> T {{",
    "{r} = aten.relu({a}#1) : (T) -> T",
    "{r}, %x = aten.relu({a}) : (T) -> T",
    "%a = aten.relu({a}) : (T) -> T",
    "{r} = aten.relu(%later) : (T) -> T",
    "func.return {a}",
    "^bb{n}:",
    "{r} = aten.relu({a}) : (T) -> T loc({n})",
)


@pytest.mark.parametrize("seed", range(60))
def test_both_parsers_read_the_same_from_made_up_bodies(seed: int) -> None:
    chosen = random.Random(seed)
    values = ["%a", "%b"]
    lines = ["func.func @f(%a : T, %b : T) {"]
    kinds = chosen.sample(LINES, 4)
    for number in range(25):
        result = f"%v{number}" if chosen.random() < 0.7 else f"%{number}"
        names = {
            "r": result,
            "s": f"%s{number}",
            "a": chosen.choice(values),
            "b": chosen.choice(values[-4:]),
            "n": str(chosen.randrange(3)),
        }
        # The last line may be wrong in a way that an earlier one was right.
        line = chosen.choice(BROKEN if number == 24 and seed % 2 else kinds)
        lines.append("  " + line.format(**names))
        values.append(result)
    same(re.sub(r"\bT\b", "tensor<2x3xf32>", "\n".join([*lines, "  func.return", "}"])))


def test_a_location_that_is_an_attribute_is_not_the_operations_own() -> None:
    line = '"x.y"() {a = loc(unknown)} : () -> ()'
    assert same(f"{line}\n{line}\n") is not None


def test_a_location_on_the_next_line_is_the_operations_own() -> None:
    line = '"x.y"() : () -> ()'
    assert same(f'{line} loc("a")\n{line}\n  loc("b")\n') is not None


PIECES = (
    *(
        "%a",
        "%0",
        "%0#1",
        "#",
        "#-}",
        "{-#",
        "{",
        "}",
        "-",
        "->",
        "-1",
        ".",
        "...",
        "..",
        '"a"',
        '"a\\n"',
        '"\\ff"',
        '"é"',
        '"',
        "@a",
        '@"b c"',
    ),
    *(
        "@",
        "@1",
        "^bb0",
        "!t.x",
        "!",
        "0x1f",
        "0xi32",
        "0x",
        "1.5",
        "1.",
        "1e5",
        "1.5e+3",
        "1.5e",
        "2x3xf32",
        "é",
        "²",
        "٣",
        "x",
        "_a.b$",
        "//c\n",
    ),
    *(" ", "\n", "\v", "\x1c", "\u2003", "::", "?", "*", "|", "/", "+", "=", "<", ">", "[", ",", "(", ")", "%", "&", "loc", "#1", "#map"),
)


def test_both_lexers_find_the_same_tokens() -> None:
    def tokens(lexer: MLIRLexer) -> list[tuple[object, ...]]:
        found: list[tuple[object, ...]] = []
        try:
            while not found or found[-1][0] is not MLIRTokenKind.EOF:
                token = lexer.lex()
                found.append((token.kind, token.span.start, token.span.end, token.text, lexer.pos))
        except ParseError as error:
            found.append((error.span.start, error.span.end, error.msg))
        return found

    chosen = random.Random(1)
    for _ in range(4000):
        text = "".join(chosen.choice(PIECES) + chosen.choice(("", "", " ")) for _ in range(chosen.randrange(1, 7)))
        assert tokens(Lexer(Input(text, "f"))) == tokens(MLIRLexer(Input(text, "f"))), text


def nested(count: int, rows: int, item: str) -> str:
    row = f"[{', '.join([item] * (count // rows))}]"
    return f"[{', '.join([row] * rows)}]"


@pytest.mark.parametrize(
    ("literal", "kind"),
    [
        (nested(600, 20, "1.5e+01"), "tensor<20x30xf32>"),
        (nested(600, 20, "-1"), "tensor<20x30xi8>"),
        (nested(600, 20, "-1"), "tensor<20x30xui8>"),
        (nested(600, 20, "-1"), "tensor<20x30xf16>"),
        (nested(600, 20, "300"), "tensor<20x30xi8>"),
        (nested(600, 20, "1"), "tensor<20x30xi1>"),
        (nested(600, 20, "1"), "tensor<20x30xindex>"),
        (nested(600, 20, "1"), "tensor<30x20xi32>"),
        (nested(600, 20, "1."), "vector<20x30xf64>"),
        (nested(600, 20, "1e5"), "tensor<20x30xf64>"),
        (nested(600, 20, "1.0e400"), "tensor<20x30xf64>"),
        (nested(600, 20, "1.0")[:-1] + ", [1.0]]", "tensor<21x30xf32>"),
        (nested(600, 20, "1.0")[:-1] + ", 1.0]", "tensor<21x30xf32>"),
        (nested(600, 20, "1.0") + "]", "tensor<20x30xf32>"),
        (nested(600, 20, "1.0"), "i32"),
        (f"[{nested(600, 20, '2')}]", "memref<1x20x30xi64>"),
        ("[" * 3000 + "]" * 3000, "tensor<1xf32>"),
    ],
    ids=lambda text: text[-20:],
)
def test_both_parsers_read_long_constants_alike(literal: str, kind: str) -> None:
    same(f'"test.op"() {{value = dense<{literal}> : {kind}}} : () -> ()')
