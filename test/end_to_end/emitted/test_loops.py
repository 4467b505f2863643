"""Loops of emitted programs compute what the kernels compute, bit for bit, whatever memory and whichever calls they have."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from all_engines import EMITTED
from shares import block

from flambeau.compiler.ahead_of_time import compile_module
from flambeau.compiler.compilation import Compilation
from flambeau.dialects.cpu import LoopOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import Pipeline
from flambeau.runtime import Runtime
from flambeau.runtime.interpreter import interpret
from flambeau.runtime.manifest import elementwise_rows
from flambeau.support.lazy import Array

ROWS = [(operator, row) for operator, rows in elementwise_rows().items() for row in rows]
SHAPES = ("5x37", "37", "5x1", "1")
VALUES = [0.0, -0.0, 1.0, -1.5, 0.3, 1e-41, -1e-41, 3e38, -3e38, 88.5, -104.0, np.inf, -np.inf, np.nan]


def _method(name: str, lines: Sequence[str]) -> str:
    return "\n".join([f"exec.method @{name} {{}} {{", *(f"  {line}" for line in lines), "}"])


def _of_row(name: str, operator: str, arguments: Sequence[str]) -> str:
    """Returns a method of two calls, the operator and a negation, on tensors that are broadcast."""
    declared: list[str] = []
    names: list[str] = []
    for index, kind in enumerate(arguments):
        match kind:
            case "v":
                declared.append(f"%x{index} = exec.tensor : tensor<{SHAPES[index]}xf32>")
            case "s" | "p":
                declared.append(f"%x{index} = exec.double {0.75 + index}")
            case "=none":
                declared.append(f"%x{index} = exec.none" if operator != "aten::gelu.out" else f'%x{index} = exec.string "none"')
            case "=tanh":
                declared.append(f'%x{index} = exec.string "tanh"')
            case _:
                declared.append(f"%x{index} = exec.double {float(kind.removeprefix('='))}")
        names.append(f"%x{index}")
    inputs = ", ".join(name for name, kind in zip(names, arguments, strict=True) if kind == "v")
    return _method(
        name,
        [
            *declared,
            "%y = exec.tensor : tensor<5x37xf32>",
            "%z = exec.tensor : tensor<5x37xf32>",
            f'exec.call "{operator}"({", ".join(names)}) outs(%y)',
            'exec.call "aten::neg.out"(%y) outs(%z)',
            f"exec.return inputs({inputs}) outputs(%z)",
        ],
    )


def _drawn(name: str, numbers: random.Random) -> str:
    """Returns a method of random calls: chains, values that several calls read, and products between them that are no part of a loop."""
    shapes = ("4x21", "4x1", "21") if numbers.random() < 0.8 else ("9x9", "9", "9x1")
    known = [(f"%x{index}", shape) for index, shape in enumerate(shapes)]
    declared = [f"{name} = exec.tensor : tensor<{shape}xf32>" for name, shape in known]
    calls: list[str] = []
    for index in range(numbers.randrange(2, 14)):
        if shapes[0] == "9x9" and numbers.random() < 0.2:
            first, second = (numbers.choice([name for name, shape in known if shape == "9x9"]) for _ in range(2))
            calls.append(f'exec.call "aten::mm.out"({first}, {second}) outs(%r{index})')
            shape = "9x9"
        else:
            operator, row = numbers.choice([item for item in ROWS if all(kind in "vsp" for kind in item[1].arguments)])
            given: list[str] = []
            taken: list[str] = []
            for place, kind in enumerate(row.arguments):
                if kind == "v":
                    value, of = numbers.choice(known[-4:] if numbers.random() < 0.6 else known)
                    taken.append(of)
                    given.append(value)
                else:
                    declared.append(f"%n{index}_{place} = exec.double {numbers.choice((0.5, -1.25, 2.0))}")
                    given.append(f"%n{index}_{place}")
            shape = taken[0] if len(set(taken)) == 1 else shapes[0]
            calls.append(f'exec.call "{operator}"({", ".join(given)}) outs(%r{index})')
        declared.append(f"%r{index} = exec.tensor : tensor<{shape}xf32>")
        known.append((f"%r{index}", shape))
    results = [name for name, _ in known if name.startswith("%r")]
    outputs = [results[-1], *numbers.sample(results[:-1], min(len(results) - 1, numbers.randrange(3)))]
    inputs = [name for name, _ in known if name.startswith("%x")]
    return _method(name, [*declared, *calls, f"exec.return inputs({', '.join(inputs)}) outputs({', '.join(outputs)})"])


def _inputs(lengths: Sequence[tuple[int, ...]], seed: int) -> list[Array]:
    drawn = np.random.default_rng(seed)
    found: list[Array] = []
    for shape in lengths:
        array = drawn.normal(scale=3, size=shape).astype(np.float32)
        places = drawn.integers(array.size, size=array.size // 4)
        array.reshape(-1)[places] = drawn.choice(np.array(VALUES, np.float32), size=places.size)
        found.append(array)
    return found


def _compare(methods: Sequence[str], pipeline: str) -> int:
    """Compares the loops of methods with their calls, in C bit for bit and in numpy; returns the number of loops."""
    context = FlambeauContext()
    module = parse_module("\n".join(methods), context).module
    Pipeline.parse(pipeline).run(module, context)
    program = Compilation(module.clone(), context).emit()
    compiled, loaded = compile_module(module, context, program, cache_dir=EMITTED), Runtime.get().load_program(program)
    fused = module.clone()
    Pipeline.parse("fuse-loops").run(fused, context)
    for seed, name in enumerate(compiled.methods):
        kernels = loaded.load_method(name)
        given = _inputs([slot.tensor.shape for slot in kernels.metadata.inputs if slot.tensor is not None], seed)
        expected = kernels.execute(given)
        of_calls, of_loops = (interpret(item, context).run(name, given) for item in (module, fused))
        for wanted, *found in zip(expected, compiled.methods[name].execute(given), of_calls, of_loops, strict=True):
            words: list[Any] = [np.asarray(item).view(np.uint32) for item in (wanted, *found)]
            # The sign and the payload of a NaN are not a result.
            is_nan = np.isnan(np.asarray(wanted))
            assert np.array_equal(np.where(is_nan, 0, words[0]), np.where(np.isnan(np.asarray(found[0])), 0, words[1])), name
            assert np.array_equal(words[2], words[3]), name
    return sum(isinstance(op, LoopOp) for op in fused.walk())


def test_each_function_computes_what_its_kernel_computes() -> None:
    methods = [_of_row(f"row_{index}", operator, row.arguments) for index, (operator, row) in enumerate(ROWS)]
    assert _compare(methods, "plan-memory") == len(ROWS)


def _near(name: str, operator: str, more: str, literal: float) -> str:
    """Returns a method of a call with a number, and a negation."""
    return _method(
        name,
        [
            "%x = exec.tensor : tensor<5x37xf32>",
            f"%n = exec.double {literal!r}",
            "%y = exec.tensor : tensor<5x37xf32>",
            "%z = exec.tensor : tensor<5x37xf32>",
            f'exec.call "{operator}"(%x, {more}%n) outs(%y)',
            'exec.call "aten::neg.out"(%y) outs(%z)',
            "exec.return inputs(%x) outputs(%z)",
        ],
    )


def test_a_number_near_a_constant_is_not_the_constant() -> None:
    near = 1.0000002
    scaled = [_near("sum", "aten::add.out", "%x, ", near), _near("difference", "aten::sub.out", "%x, ", near)]
    powers = [_near(f"power_{index}", "aten::pow.Tensor_Scalar_out", "", near * power) for index, power in enumerate((2, 3, -1, 0.5, -0.5))]
    assert _compare([*scaled, *powers], "plan-memory") == len(scaled)


@pytest.mark.parametrize("seed", block(20))
def test_random_calls(seed: int) -> None:
    numbers = random.Random(seed)
    methods = [_drawn(f"drawn_{index}", numbers) for index in range(24)]
    for pipeline in ("reuse-storage,plan-memory", "plan-memory"):
        assert _compare(methods, pipeline) > 10
