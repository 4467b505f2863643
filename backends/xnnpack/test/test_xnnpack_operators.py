"""Legality against reality: what the table takes of the samples of its operators is converted, encoded and read back, and is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from executorch import runtime as executorch_runtime
from row_harness import samples_of
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Region
from xdsl.utils.exceptions import VerifyException

from flambeau.backends.xnnpack.legality import OPERATORS, table
from flambeau.backends.xnnpack.lower import CONVERTERS
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.ir.tensor_types import element_of, f32
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import BackendOptions, run_payload
from flambeau.passes.manager import Pipeline
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.runtime.emit import emit_pte
from flambeau.runtime.interpreter import interpret
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_operations import arrays_of, meaning, operation

peer: Any = executorch_runtime
IMAGE = np.random.default_rng(0).standard_normal((2, 3, 4, 5), np.float32)
HIDDEN = np.tril(np.ones((4, 5), bool))
MORE_SAMPLES: dict[str, list[tuple[Any, ...]]] = {
    "mean.dim": [(IMAGE, dims, len(dims) == 2, None) for dims in ((2, 3), (-1, 2), (1,), (0, 1), (-1,), (0, 1, 2, 3))],
    "sum.dim_IntList": [(IMAGE, dims, len(dims) == 2, None) for dims in ((2, 3), (0, 1), (1,), (2, -1), (-1,))],
    "where.self": [
        (HIDDEN, IMAGE, np.full((), -np.inf, np.float32)),
        (HIDDEN, IMAGE, IMAGE[0]),
        (~HIDDEN, IMAGE, np.full((1,), np.inf, np.float32)),
    ],
}
CONSTANTS = {"where.self": ("other",)}
"""Further arguments that are constants here."""
READERS = {"where.self": "_softmax"}
"""What reads the result, where an operator is taken for that only."""
TABLE = table(BackendOptions())
each_operator = pytest.mark.parametrize("name", sorted(OPERATORS))


def kind_of(name: str) -> type[SchemaOp]:
    kind = find_op(f"edge.{name}")
    assert kind is not None
    return kind


def taken(name: str) -> tuple[list[tuple[ModuleOp, FlambeauContext, list[Array], list[Array]]], list[str]]:
    """A module for each sample that is taken, weights as constants, with its inputs and results; and the reasons for the others."""
    kind = kind_of(name)
    found: list[tuple[ModuleOp, FlambeauContext, list[Array], list[Array]]] = []
    reasons: list[str] = []
    for sample in [*samples_of(kind.siblings["row"]), *MORE_SAMPLES.get(name, ())]:
        try:
            op, block = operation(kind, sample)
            op.verify_()
        except VerifyException:
            continue  # the edge level takes fewer
        arrays: list[Any] = arrays_of(sample)
        read = [op, *reader(name, op)]
        expected = meaning(op, arrays)
        for item in read[1:]:
            expected = meaning(item, expected)
        context, inputs = FlambeauContext(), [*arrays]
        module = ModuleOp([])
        block.add_ops([*read, ReturnOp(read[-1].results[0])])
        constants = ModuleConstants(context, module)
        constant = (*OPERATORS[name].constants, *CONSTANTS.get(name, ()))
        for argument in sorted(constant, key=[argument.name for argument in kind.schema.arguments].index, reverse=True):
            value = op.argument(argument)
            if value is not None:
                load = constants.add(argument, arrays[value.index], value.type)
                block.insert_op_before(load, op)
                value.replace_all_uses_with(load.result)
                inputs.pop(value.index)
                block.erase_arg(value)
        method_type = FunctionType.from_lists(block.arg_types, [read[-1].results[0].type])
        module.body.block.add_op(FuncOp("forward", method_type, Region(block)))
        if (reason := TABLE.why_not(op)) is None:
            found.append((module, context, inputs, expected[:1]))
        else:
            reasons.append(reason)
    return found, reasons


def reader(name: str, op: SchemaOp) -> list[SchemaOp]:
    """What reads the result of an operation."""
    return [kind_of(READERS[name])(op.results[0], -1, False)] if name in READERS and element_of(op.results[0]) == f32 else []


def close(found: Sequence[Any], expected: Sequence[Array]) -> None:
    for a, b in zip(found, expected, strict=True):
        array = np.asarray(a)
        assert array.dtype == b.dtype
        # XNNPACK rounds what a node of several steps computes between them.
        relative, absolute = (1e-4, 1e-5) if b.dtype == np.float32 else (4e-3, 4e-3 * float(np.abs(b).max(initial=0)))
        np.testing.assert_allclose(array.astype(np.float64), b.astype(np.float64), rtol=relative, atol=absolute)


def test_the_table_the_converters_and_the_operators_are_the_same():
    assert OPERATORS.keys() == CONVERTERS.keys()
    assert all(find_op(f"edge.{name}") is not None for name in OPERATORS)


@each_operator
def test_what_is_taken_is_right_in_every_engine(name: str):
    found, reasons = taken(name)
    assert all(reason and reason[0].islower() for reason in reasons)
    assert found, f"no sample of edge.{name} is taken: {sorted(set(reasons))}"
    for module, context, inputs, expected in found:
        if any(not np.isfinite(array).all() for array in (*inputs, *expected)):
            continue  # XNNPACK leaves NaN to the processor
        converted = module.clone()
        Pipeline.parse("partition{backends=xnnpack},convert-partitions,cse").run(converted, context)
        assert not [op.name for op in converted.walk() if op.name.startswith("edge.")]
        close(interpret(converted, context).run("forward", inputs), expected)
        Pipeline.parse("delegate{backends=xnnpack}").run(module, context)
        assert sum(isinstance(op, PayloadOp) for op in module.walk()) == 1
        close(interpret(module, context, run_payload).run("forward", inputs), expected)
        Pipeline.parse("edge-to-exec,plan").run(module, context)
        data = b"".join(emit_pte(module, context))  # it is not copied
        program = peer.Runtime.get().load_program(data)
        tensors = [torch.tensor(array) for array in inputs]
        close(program.load_method("forward").execute(tensors), expected)


def test_other_types_have_a_reason():
    for name in ("add.Tensor", "neg"):
        assert any("f32" in reason for reason in taken(name)[1])
