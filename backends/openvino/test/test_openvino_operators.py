"""Legality against reality: what the table takes of the samples of its operators is converted, encoded, read back and run, and is right."""

import pytest
from delegated_operators import Trials, assert_close, program_of, trials_of

from flambeau.backends.openvino.legality import OPERATORS, table
from flambeau.backends.openvino.lower import CONVERTERS
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.runtime import Runtime


def trials(name: str) -> Trials:
    """The samples of an operator."""
    return trials_of(name, table(BackendOptions()))


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


OPEN = "#edge.layout<sizes = [s0 in [1, 4], 4, s1 in [1, 6]]>"


@pytest.mark.parametrize(
    ("operation", "kinds", "reason"),
    [
        (
            "scaled_dot_product_attention(%0, %0, %0, none)",
            (f"tensor<?x4x?xf32, {OPEN}>",) * 2,
            "the size of its vectors, from which its scale follows, is known when it runs only",
        ),
        ("scaled_dot_product_attention(%0, %0, %0, none) {scale = 0.5}", (f"tensor<?x4x?xf32, {OPEN}>",) * 2, None),
        (
            "view_copy(%0) {size = [4, 6]}",
            (f"tensor<?x4x?xf32, {OPEN}>", "tensor<4x6xf32>"),
            "whether s0 * s1 * 4 is 24 is known when it runs only",
        ),
        (
            "select_copy.int(%0) {index = s1 in [1, 6]}",
            (f"tensor<?x4x?xf32, {OPEN}>", "tensor<4x?xf32, #edge.layout<sizes = [4, s1]>>"),
            "a number in it is known when it runs only",
        ),
    ],
)
def test_what_only_the_run_knows_has_a_reason(operation: str, kinds: tuple[str, str], reason: str | None):
    operand, result = kinds
    operands = ", ".join([operand] * operation.count("%0"))
    text = f"func.func @forward(%0: {operand}) {{\n%1 = edge.{operation} : ({operands}) -> {result}\nfunc.return\n}}"
    (op,) = (item for item in parse_module(text, FlambeauContext()).module.walk() if isinstance(item, SchemaOp))
    assert table(BackendOptions()).why_not(op) == reason
