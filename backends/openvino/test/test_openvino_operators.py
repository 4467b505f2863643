"""Legality against reality: what the table takes of the samples of its operators is converted, encoded, read back and run, and is right."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from delegated_operators import Trials, assert_close, program_of, trials_of

from flambeau.backends.openvino.legality import OPERATORS, table
from flambeau.backends.openvino.lower import CONVERTERS
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.passes.manager import Pipeline
from flambeau.runtime import Runtime
from flambeau.runtime.emit import emit_pte


def trials(name: str) -> Trials:
    """The samples of an operator. Constants are dequantized for who reads them."""
    return trials_of(name, table(BackendOptions()), {}, {"quantized_decomposed.dequantize_per_channel_group": "_softmax"})


def test_there_is_a_converter_for_each_operator_of_the_table():
    assert OPERATORS.keys() == CONVERTERS.keys()


@pytest.mark.usefixtures("openvino_library")
@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_the_library_is_right_about_what_is_taken(name: str):
    for trial in trials(name).finite():
        method = Runtime.get().load_program(program_of(trial, "openvino")).load_method("forward")
        assert_close(method.execute(trial.inputs), trial.expected)


def test_other_types_have_a_reason():
    assert {reason for name in ("add.Tensor", "neg") for reason in trials(name).reasons if "f32" in reason}


HEADS, ROWS = "tensor<2x3x4x8xf32>", "tensor<4x8xf32>"


def why_not(operation: str, operands: Sequence[str], result: str) -> str | None:
    """The reason of the table; `%0` is the first operand."""
    given = ", ".join(f"%{place}: {kind}" for place, kind in enumerate(operands))
    text = f"func.func @forward({given}) {{\n%r = edge.{operation} : ({', '.join(operands)}) -> {result}\nfunc.return\n}}"
    (op,) = (item for item in parse_module(text, FlambeauContext()).module.walk() if isinstance(item, SchemaOp))
    return table(BackendOptions()).why_not(op)


def test_attention_is_of_tensors_of_one_rank():
    reason = why_not("scaled_dot_product_attention(%0, %1, %2, none)", (HEADS, HEADS, ROWS), HEADS)
    assert reason == "its query, key and value have [4, 4, 2] dimensions, not as many each"


OPEN = "#edge.layout<sizes = [s0 in [1, 4], 4, s1 in [1, 6]]>"


OPEN_ROW = "tensor<4x?xf32, #edge.layout<sizes = [4, s1]>>"
OPEN_KIND = f"tensor<?x4x?xf32, {OPEN}>"


@pytest.mark.parametrize(
    ("operation", "operands", "result", "reason"),
    [
        (
            "scaled_dot_product_attention(%0, %1, %2, none)",
            [OPEN_KIND] * 3,
            OPEN_KIND,
            "the size of its vectors, from which its scale follows, is known when it runs only",
        ),
        ("scaled_dot_product_attention(%0, %1, %2, none) {scale = 0.5}", [OPEN_KIND] * 3, OPEN_KIND, None),
        ("view_copy(%0) {size = [4, 6]}", [OPEN_KIND], "tensor<4x6xf32>", "whether s0 * s1 * 4 is 24 is known when it runs only"),
        ("select_copy.int(%0) {dim = 0, index = 0}", [OPEN_KIND], OPEN_ROW, None),
        ("select_copy.int(%0) {dim = 0, index = -1}", [OPEN_KIND], OPEN_ROW, None),
        ("select_copy.int(%0) {dim = 0, index = 1}", [OPEN_KIND], OPEN_ROW, "whether it has an entry 1 is known when it runs only"),
        ("select_copy.int(%0) {dim = 0, index = -2}", [OPEN_KIND], OPEN_ROW, "whether it has an entry -2 is known when it runs only"),
        (
            "select_copy.int(%0) {dim = 0, index = s1 in [1, 6]}",
            [OPEN_KIND],
            OPEN_ROW,
            "a number in it is known when it runs only",
        ),
    ],
)
def test_what_only_the_run_knows_has_a_reason(operation: str, operands: list[str], result: str, reason: str | None):
    assert why_not(operation, operands, result) == reason


LINE, PAIR = "tensor<3xf32>", "tensor<6xf32>"
JOINED = f"""func.func @forward(%a: {LINE}, %b: {LINE}) -> ({PAIR}, {PAIR}) {{
    %c = edge.cat([%a, %b]) : ({LINE}, {LINE}) -> {PAIR}
    %d = edge.abs(%c) : ({PAIR}) -> {PAIR}
    func.return %c, %d : {PAIR}, {PAIR}
}}"""
NOTHING_REDUCED = """func.func @forward(%x: tensor<f32>) -> tensor<f32> {
    %0 = edge.mean.dim(%x) : (tensor<f32>) -> tensor<f32>
    func.return %0 : tensor<f32>
}"""


@pytest.mark.usefixtures("openvino_library")
@pytest.mark.parametrize(
    ("text", "inputs", "expected"),
    [
        (JOINED, [[-1, 2, -3], [4, -5, 6]], [[-1, 2, -3, 4, -5, 6], [1, 2, 3, 4, 5, 6]]),
        (NOTHING_REDUCED, [3], [3]),
    ],
    ids=["a joined line that stays beside its absolute value", "constants without elements alone"],
)
def test_what_the_library_gets_wrong_elsewhere(text: str, inputs: list[Any], expected: list[Any]):
    context = FlambeauContext()
    module = parse_module(text, context).module
    Pipeline.parse("delegate{backends=openvino},edge-to-exec,plan").run(module, context)
    method = Runtime.get().load_program(b"".join(emit_pte(module, context))).load_method("forward")
    found = method.execute([np.array(given, np.float32) for given in inputs])
    assert_close(found, [np.array(item, np.float32) for item in expected])
