"""Texts of modules from the tests, and random changes to them."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

from flambeau.dialects.text.source_text import Source
from flambeau.tools.opt.input import split

ROOT = Path(__file__).resolve().parents[2]
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#!^][\w$.]+|\w+|\s+|.', re.DOTALL)
_NUMBER = re.compile(r"[0-9]+")

ATTRIBUTES = r"""
dense<1> : tensor<2xi32>
dense<[1, 2]> : tensor<2xi64>
dense<[[1.0], [2.0]]> : tensor<2x1xf32>
dense<> : tensor<0xf32>
dense<"0x0000803F00000040"> : tensor<2xf32>
dense<"0x00"> : tensor<2xf32>
dense<0x7FC00000> : tensor<1xf32>
dense<true> : tensor<3xi1>
dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>
dense<-1> : vector<4xi8>
dense<1.5> : tensor<f16>
dense_resource<weights> : tensor<2xf32>
array<i32: 1, 2>
array<i1: true, false>
array<f32>
array<i64: -1>
affine_map<(d0, d1)[s0] -> (d0 + s0, d1 floordiv 2)>
affine_map<() -> ()>
affine_set<(d0) : (d0 - 1 >= 0)>
1 : i32
-1 : index
0x7F : i8
1.0e5 : f64
0x7FC0 : bf16
unit
true
[1, [2 : i8], unit]
{a, b = 1, "c d" = {}}
@f
@f::@g
@"a b"::@c
"text \"quoted\" \n \C3\A9"
i32
opaque<"a", "0x00"> : i1
loc(unknown)
strided<[1, ?], offset: ?>
sparse<[[0, 0]], [1]> : tensor<3x4xi32>
#builtin.unknown
distinct[0]<unit>
(i32) -> f32
-9223372036854775808 : i64
18446744073709551616 : i64
256 : i8
1 : i0
1 : i16777215
1 : i16777216
1e400 : f32
""".strip().splitlines()
TYPES = r"""
i32
si8
ui64
i1
index
none
f16
bf16
f32
f64
f80
f128
tf32
f8E4M3FN
complex<f32>
tensor<2x3xf32>
tensor<?x3xf32>
tensor<*xf32>
tensor<f32>
tensor<0xi8>
vector<4xf32>
vector<[4]xf32>
tensor<2xf32, #encoding>
tensor<2xf32, "encoding">
memref<2x?xf32>
memref<2xf32, strided<[1], offset: ?>>
memref<*xi8>
memref<2xf32, affine_map<(d0) -> (d0)>>
memref<2xf32, 1 : i32>
memref<2xf32, "space">
tuple<i32, f32>
() -> ()
(i32, f32) -> (f32)
!builtin.none
!llvm.ptr
!x.y<z>
tensor<99999999999999999999xf32>
tensor<2x3x>
tensor<-1xf32>
""".strip().splitlines()
LOCATIONS = r"""
loc(unknown)
loc("a.py":1:2)
loc("name")
loc("name"("a.py":3:4))
loc(callsite("a" at "b.py":1:1))
loc(#loc1)
loc(fused["a", "b.py":1:1])
loc(fused<"meta">["a"])
loc(fused[])
loc(#missing)
loc("a.py":99999999999:0)
loc()
loc("a.py":1:2 to 3:4)
loc("a.py":1:2 to :4)
loc("x"(callsite("a"("f":1:1) at fused["b", unknown])))
loc("\0A\22")
""".strip().splitlines()
ODD = [
    *list("\x00\x01\t\r\v\f\x1c\x85\u2028\u00a0\ufeff"),
    *("\r\n", "9" * 5000, "1." + "0" * 400, "-> "),
    *("\n#a = 1 : i32\n", "\n!t = i32\n", '\n#loc1 = loc("a.py":1:1)\n', "\n#loc2 = loc(#loc2)\n", "\n#a = #a\n", "\n!t = !t\n"),
    "builtin.module {\n}",
    *r"""
é
²
٣
𝟛
ſ
K
😀
"
"unterminated
"\
"\q"
"\0"
"\FF"
//
/*
// x
dense<
affine_map<
#
#a
!
!a
@
@"
%
%0
%0#1
%0#99999999999999999999
^
^bb0
{-#
#-}
{
}
(
)
[
]
<
>
->
::
...
?
*
0x
0xZ
0x1F
00
1.
1.e5
1e5
-1
--1
999999999999999999999999999999
1.0e999999999
0xi32
1x2x
{-# dialect_resources: { builtin: { weights: "0x04000000AABBCCDD" } } #-}
{-# external_resources: {} #-}
{-# #-}
func.func @g()
^bb1(%x : i32):
module
private
attributes {}
"a.b"() : () -> ()
loc
""".strip().splitlines(),
]


@cache
def seeds() -> tuple[str, ...]:
    """Texts of what the tests of our dialects have little of."""
    parts = split(Source((Path(__file__).parent / "texts" / "seeds.mlir").read_text()), "// -----")
    return (
        *(part.text for part in parts),
        *(f'"x.y"() {{a = {attribute}}} : () -> ()\n"x.y"() {{a = {attribute}}} : () -> ()\n' for attribute in ATTRIBUTES),
        *(f'%0 = "x.y"() : () -> {kind}\n%1 = "x.y"() : () -> {kind}\n"x.z"(%0, %1) : ({kind}, {kind}) -> ()\n' for kind in TYPES),
        *(f'"x.y"() : () -> () {location}\n"x.y"() : () -> () {location}\n#loc1 = loc("z")\n' for location in LOCATIONS),
    )


@cache
def corpus() -> tuple[str, ...]:
    """The modules of every test file and example, whether or not they are valid."""
    files = sorted([*(ROOT / "test" / "filecheck").rglob("*.mlir"), *(ROOT / "passes" / "examples").glob("*.mlir")])
    return tuple(part.text for file in files for part in split(Source(file.read_text()), "// -----") if part.text.strip())


@cache
def _words() -> tuple[str, ...]:
    return tuple(sorted({word for text in corpus() for word in _TOKEN.findall(text) if not word.isspace()}))


def original(chosen: random.Random) -> str:
    """A text to change."""
    text = chosen.choice(seeds()) if chosen.random() < 0.3 else chosen.choice(corpus())
    if chosen.random() < 0.15:
        # Twice, so that what was read before is met again.
        text = f"builtin.module {{\n{text}\n}}\nbuiltin.module {{\n{text}\n}}\n"
    return text


def piece(chosen: random.Random) -> str:
    """Something to put in."""
    return chosen.choice(chosen.choice((_words(), _words(), ODD, ATTRIBUTES, TYPES, LOCATIONS)))


def changed(text: str, chosen: random.Random) -> str:
    """The text with one random change."""
    tokens = _TOKEN.findall(text) or [" "]
    place, other = chosen.randrange(len(tokens)), chosen.randrange(len(tokens))
    match chosen.randrange(14):
        case 0:
            del tokens[place : place + chosen.choice((1, 1, 2, 5, 20))]
        case 1:
            tokens[place] = piece(chosen)
        case 2:
            tokens.insert(place, piece(chosen))
        case 3:
            tokens[place], tokens[other] = tokens[other], tokens[place]
        case 4:
            tokens[place:place] = tokens[other : other + chosen.choice((1, 3, 10, 40))]
        case 5:
            del tokens[place:]
        case 6:
            tokens[place] = tokens[place] * chosen.choice((2, 3, 50))
        case 7:
            tokens[place] = _NUMBER.sub(lambda _: chosen.choice(("0", "-1", "7", "9" * 20, "4294967296", "1.5")), tokens[place])
        case 8:
            lines = text.split("\n")
            line = chosen.randrange(len(lines))
            lines.insert(chosen.randrange(len(lines)), lines[line] if chosen.random() < 0.5 else lines.pop(line))
            return "\n".join(lines)
        case 9:
            return text.replace("\n", chosen.choice(("\r\n", "\r", " ", "\n\n", "\t\n", "\v", " // c\n")))
        case 10:
            at = chosen.randrange(len(text) + 1)
            return text[:at] + chr(chosen.choice((chosen.randrange(128), chosen.randrange(0x300), 0x2003, 0xD800))) + text[at + 1 :]
        case 11:
            around = chosen.choice((("[", "]"), ("{", "}"), ("<", ">"), ("(", ")"), ("tuple<", ">"), ("loc(", ")"), ('"', '"')))
            depth = chosen.choice((1, 2, 40, 3000))
            tokens[place] = around[0] * depth + tokens[place] + around[1] * depth
        case 12:
            tokens[place] = chosen.choice(tokens)
        case _:
            lines = text.split("\n")
            place = chosen.randrange(len(lines))
            lines[place] += " " + chosen.choice(LOCATIONS)
            return "\n".join(lines)
    return "".join(tokens)


def mutated(chosen: random.Random) -> str:
    """A text from the tests after a few random changes."""
    text = original(chosen)
    for _ in range(chosen.choice((1, 1, 1, 2, 3, 6))):
        text = changed(text, chosen)
    return text
