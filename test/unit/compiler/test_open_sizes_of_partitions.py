"""Sizes that only the run knows, in partitions and payloads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ir_backend
import numpy as np
import pytest

from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.delegation.partition import PartitionPass
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.delegation.report import delegation_info
from flambeau.passes.manager import Pipeline
from flambeau.plugins.loader import load_plugin, plugin_scope
from flambeau.runtime.interpreter import interpret

KIND = "tensor<?x2xf32, #edge.layout<sizes = [s0 in [1, 9], 2]>>"


@pytest.fixture(autouse=True)
def plugin() -> Iterator[None]:
    with plugin_scope():
        load_plugin(Path(ir_backend.__file__))
        yield


def test_a_payload_that_says_symbols_runs_in_every_size():
    context = FlambeauContext()
    text = f"func.func @forward(%x: {KIND}) -> {KIND} {{\n%0 = edge.neg(%x) : ({KIND}) -> {KIND}\nfunc.return %0 : {KIND}\n}}"
    module = parse_module(text, context).module
    Pipeline.parse("delegate{backends=ir}").run(module, context)
    assert sum(isinstance(op, PayloadOp) for op in module.walk()) == 1
    program = interpret(module, context, run_payload)
    for size in (9, 1, 3):
        x = np.arange(2 * size, dtype="float32").reshape(size, 2)
        np.testing.assert_array_equal(np.asarray(program.run("forward", [x])[0]), -x)


def test_a_size_that_no_operand_has_is_not_known_in_a_partition():
    row, line = "tensor<1x2xf32>", "tensor<?xf32, #edge.layout<sizes = [s0 in [1, 9]]>>"
    text = f"""func.func @forward(%x: {KIND}, %y: {row}) -> ({KIND}, {line}, {KIND}) {{
      %0 = edge.expand_copy(%y) {{size = [s0, 2]}} : ({row}) -> {KIND}
      %1 = edge.full() {{size = [s0], fill_value = 1.0}} : () -> {line}
      %2 = edge.expand_copy(%x) {{size = [s0, 2]}} : ({KIND}) -> {KIND}
      func.return %0, %1, %2 : {KIND}, {line}, {KIND}
    }}"""
    context = FlambeauContext()
    module = parse_module(text, context).module
    asked = (Partitioner("ir"),)
    PartitionPass(asked).apply(context, module)
    found = delegation_info(module, context, asked)
    why = "it needs the size s0, which none of its operands has"
    assert found.num_delegated_nodes == 1 and found.refused == {("edge.expand_copy", why): 1, ("edge.full", why): 1}
