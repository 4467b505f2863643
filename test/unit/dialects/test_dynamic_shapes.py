"""Operators on dynamic shapes: results of the types that are inferred, and decompositions right for whatever extents come, or refused."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from fuzz.evaluator import Evaluator
from fuzz.modules import samples_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.tensor_types import DYNAMIC_INDEX, from_numpy_name, tensor
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import PassError, Pipeline
from flambeau.tools.semantics.result_comparison import SemanticsOptions, difference_of

DECOMPOSE = Pipeline.parse("decompose-aten,canonicalize,cse")
OPERATORS = samples_of("aten")


def _arrays(item: Any) -> list[Any]:
    if isinstance(item, np.ndarray):
        return [item]
    return [array for part in cast("list[Any]", item) for array in _arrays(part)] if isinstance(item, list | tuple) else []


def _module(kind: type[SchemaOp], sample: tuple[Any, ...], extent: int) -> ModuleOp | None:
    """A function of one operator; what has this extent in the sample is dynamic. None when the row does not allow that."""
    block = Block()

    def value(item: Any) -> Any:
        if isinstance(item, list):
            return [value(part) for part in cast("list[Any]", item)]
        if not isinstance(item, np.ndarray):
            return item
        array = cast("np.ndarray[Any, Any]", item)
        row = from_numpy_name(array.dtype.name)
        assert row is not None
        shape = [DYNAMIC_INDEX if size == extent else size for size in array.shape]
        return cast(SSAValue, block.insert_arg(tensor(row.element, shape), len(block.args)))

    try:
        op = kind(*(value(item) for item in sample))
        op.verify_()
    except (VerifyException, ValueError, TypeError, IndexError):
        return None
    block.add_ops([op, ReturnOp(*op.results)])
    return ModuleOp([FuncOp("forward", (block.arg_types, op.result_types), Region(block))])


@pytest.mark.parametrize("name", OPERATORS)
def test_what_is_decomposed_computes_the_same(name: str) -> None:
    kind, samples = OPERATORS[name]
    for sample in samples[:2] if kind.has("decompose") else samples[:1]:
        arrays = _arrays(sample)
        for extent in sorted({size for array in arrays for size in array.shape if size > 1}):
            module = _module(kind, sample, extent)
            if module is None:
                continue
            context = FlambeauContext()
            expected = Evaluator(module, context).call("forward", arrays)
            try:
                DECOMPOSE.run(module, context)
            except PassError as error:
                message = error.diagnostic.message
                assert "cannot be decomposed: " in message
                assert "Extent" not in message and "operand type" not in message, message
                assert not any(len(word) > 17 for word in message.split() if word.strip("-[],").isdigit()), message
                continue
            found = Evaluator(module, context).call("forward", arrays)
            differences = [difference_of(a, b, SemanticsOptions()) for a, b in zip(expected, found, strict=True)]
            assert not any(differences), f"sample {sample}, where {extent} is dynamic: {differences}"
