"""Modules for tests: operators one after the other, and their weights."""

from __future__ import annotations

import random

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ir.tensor_types import f32, tensor
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, verify_parsed

KIND = "tensor<16xf32>"


def chain(*names: str, function: str = "forward") -> str:
    """A function of unary operators, each in a layer of its own."""
    lines = [f"func.func @{function}(%x: {KIND}) -> {KIND} {{"]
    value = "%x"
    for index, name in enumerate(names):
        lines.append(f'  %y{index} = aten.{name}({value}) : ({KIND}) -> {KIND} loc("{function}.{index}"("model.py":{index}:1))')
        value = f"%y{index}"
    return "\n".join([*lines, f"  func.return {value} : {KIND}", "}", ""])


def random_chain(length: int, seed: int) -> str:
    """A function of so many element-wise operations, each on earlier values."""
    chooser = random.Random(seed)
    lines = ["builtin.module {", "func.func @f(%v0 : tensor<4x8xf32>) -> tensor<4x8xf32> {"]
    kind = "tensor<4x8xf32>"
    for index in range(length):
        if chooser.random() < 0.3:
            other = chooser.randrange(index + 1)
            lines.append(f"%v{index + 1} = aten.add.Tensor(%v{index}, %v{other}) : ({kind}, {kind}) -> {kind}")
        else:
            lines.append(f"%v{index + 1} = aten.{chooser.choice(('relu', 'tanh', 'neg', 'exp'))}(%v{index}) : ({kind}) -> {kind}")
    return "\n".join([*lines, f"func.return %v{length} : {kind}", "}", "}"])


def read(text: str, context: FlambeauContext) -> ModuleOp:
    parsed = parse_module(text, context)
    verify_parsed(parsed)
    return parsed.module


def store(context: FlambeauContext, name: str, array: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> str:
    blob = context.blobs.add(name, array.data)
    return f"ml_program.global private @{name}({blob}) : {tensor(f32, array.shape)}"
