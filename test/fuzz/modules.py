"""Random valid modules: the operators of a dialect on the samples of their tests, each reading what others give."""

from __future__ import annotations

import random
from functools import cache
from typing import Any, cast

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, FusedLoc, IntAttr, ModuleOp, NameLoc, NoneAttr, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.tensor_types import DYNAMIC_INDEX, from_numpy_name, tensor, tensor_type
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_table import load_rows
from flambeau.dialects.text.module_text import print_module
from flambeau.runtime.interpreter.inputs import DYNAMIC_EXTENT
from flambeau.tools.samples.sample_table import all_samples, bound_samples

_SIMPLE = (
    "add.Tensor",
    "mul.Tensor",
    "sub.Tensor",
    "relu",
    "sigmoid",
    "hardtanh",
    "permute",
    "view",
    "clone",
    "clamp",
    "unsqueeze",
    "cat",
    "sum.dim_IntList",
)
"""What stands in every model, and what passes rewrite."""


@cache
def samples_of(level: str) -> dict[str, tuple[type[SchemaOp], list[tuple[Any, ...]]]]:
    """The operators of a dialect with all their samples, in the order of their names."""
    made = all_samples()
    found: dict[str, tuple[type[SchemaOp], list[tuple[Any, ...]]]] = {}
    for name, kind in sorted(load_rows()[level].items()):
        if (generate := made.get(kind.name) or made.get(kind.name.replace(f"{level}.", "aten.", 1))) is not None and not kind.random:
            found[name] = kind, bound_samples(generate, kind)
    return found


class _Function:
    def __init__(self, chosen: random.Random):
        self.chosen = chosen
        self.block = Block()
        self.values: dict[Attribute, list[SSAValue]] = {}

    def value(self, array: Any) -> SSAValue:
        """A value of an array's type: one that is there, a constant, or a new argument."""
        row = from_numpy_name(array.dtype.name)
        assert row is not None
        kind = tensor(row.element, array.shape)
        known = self.values.setdefault(kind, [])
        if known and self.chosen.random() < 0.85:
            return self.chosen.choice(known[-6:])
        known.append(self.block.insert_arg(kind, len(self.block.args)))
        return known[-1]

    def arguments(self, item: Any) -> Any:
        if isinstance(item, np.ndarray):
            return self.value(item)
        return [self.arguments(part) for part in cast("list[Any]", item)] if isinstance(item, list) else item


def random_module(chosen: random.Random, level: str = "aten", size: int | None = None) -> str:
    """The text of a valid module with one function."""
    function = random_function(chosen, level, size)
    return print_module(ModuleOp([with_dynamic_shapes(chosen, function) if chosen.random() < 0.2 else function]), locations=True)


def with_dynamic_shapes(chosen: random.Random, function: FuncOp) -> FuncOp:
    """A function with dynamic dimensions, which made-up inputs fill as before; the function itself if that is invalid."""
    dynamic = function.clone()
    block = dynamic.body.block
    retyped: dict[SSAValue, Attribute] = {}
    for argument in block.args:
        kind = tensor_type(argument)
        shape = [DYNAMIC_INDEX if extent == DYNAMIC_EXTENT and chosen.random() < 0.7 else extent for extent in kind.get_shape()]
        retyped[argument] = tensor(kind.element_type, shape)
    for value, kind in retyped.items():
        Rewriter.replace_value_with_new_type(value, kind)
    try:
        for op in list(block.ops):
            if isinstance(op, SchemaOp):
                for result, kind in zip(list(op.results), op.infer_types(op.operands, op.properties), strict=True):
                    Rewriter.replace_value_with_new_type(result, kind)
                op.verify_()
    except VerifyException:
        return function
    dynamic.update_function_type()
    return dynamic


def random_function(chosen: random.Random, level: str = "aten", size: int | None = None) -> FuncOp:
    """A valid function of one block."""
    samples = samples_of(level)
    function = _Function(chosen)
    # Few operators, often repeated, so that there is something to reuse and to fuse.
    kinds = chosen.sample(sorted(samples), 5) + [name for name in (f"{level}.{short}" for short in _SIMPLE) if name in samples]
    kinds += [name for name in _SIMPLE if name in samples]
    builder = Builder(InsertPoint.at_end(function.block))
    results: list[SSAValue] = []
    for _ in range(size or chosen.choice((1, 2, 4, 8, 15))):
        kind, candidates = samples[chosen.choice(kinds)]
        if not candidates:
            continue
        sample = chosen.choice(candidates)
        arguments = len(function.block.args)
        op = kind(*(function.arguments(item) for item in sample))
        try:
            op.verify_()
        except Exception:
            # A sample may be about contents that a value of the same type need not have.
            while len(function.block.args) > arguments:
                last = function.block.args[-1]
                function.values[last.type].remove(last)
                for index, operand in enumerate(op.operands):
                    if operand is last:
                        op.operands[index] = function.block.args[0]
                function.block.erase_arg(last)
            continue
        if chosen.random() < 0.5:
            place = FileLineColLoc(StringAttr("model.py"), IntAttr(chosen.randrange(9)), IntAttr(1))
            op.location = chosen.choice((place, NameLoc(StringAttr("layers.0"), place), FusedLoc((place, UNKNOWN_LOC), NoneAttr())))
        builder.insert(op)
        for result in op.results:
            function.values.setdefault(result.type, []).append(result)
            results.append(result)
    unused = [value for value in results if not value.has_one_use() and not value.uses]
    returned = [value for value in unused if chosen.random() < 0.8] or results[-1:]
    if chosen.random() < 0.1:
        returned = [*returned, *returned[:1], *function.block.args[:1]]
    builder.insert(ReturnOp(*returned))
    types = [value.type for value in returned]
    return FuncOp("forward", (function.block.arg_types, types), Region(function.block))
