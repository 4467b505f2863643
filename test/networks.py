"""Networks that tests build one operation after the other, with weights and places in a model file that never was."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, NameLoc, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from flambeau.dialects.ir.tensor_types import f32, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.ml_program.weights import save_weights
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import print_module


class Network:
    """A function `forward` of one tensor, and the random numbers that decide what is in it."""

    def __init__(self, seed: int, shape: tuple[int, ...]):
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.context = FlambeauContext()
        self.function = FuncOp("forward", ([tensor(f32, shape)], []))
        self.module = ModuleOp([self.function])
        self.input: SSAValue = self.function.args[0]
        self.line = 0

    def add(self, op: SchemaOp, path: str) -> SSAValue:
        """Appends an operation of the module `path`, on a line of its own."""
        self.line += 1
        op.location = NameLoc(StringAttr(path), FileLineColLoc(StringAttr("model.py"), IntAttr(self.line), IntAttr(1)))
        self.function.body.block.add_op(op)
        return op.result

    def weight(self, name: str, shape: tuple[int, ...], scale: float) -> SSAValue:
        """Appends the load of a weight of normally distributed numbers."""
        array = (self.numbers.standard_normal(shape) * scale).astype(np.float32)
        kind = tensor(f32, shape)
        self.module.body.block.insert_op_before(GlobalOp(name, kind, self.context.blobs.add(name, array.data)), self.function)
        load = GlobalLoadConstantOp(SymbolRefAttr(name), kind)
        self.function.body.block.add_op(load)
        return load.result

    def write(self, path: Path, result: SSAValue) -> int:
        """Finishes the function and writes the module, with its weights beside it; returns how many operations there are."""
        self.function.body.block.add_op(ReturnOp(result))
        self.function.update_function_type()
        path.write_text(print_module(self.module, locations=True))
        save_weights(self.module, self.context.blobs, path.with_suffix(".safetensors"))
        return sum(1 for _ in self.function.body.block.ops)
