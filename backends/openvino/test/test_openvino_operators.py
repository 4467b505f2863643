"""Legality against reality: what the table takes of the samples of its operators is converted, encoded, read back and run, and is right."""

import pytest
from delegated_operators import Trials, assert_close, program_of, trials_of

from flambeau.backends.openvino.legality import OPERATORS, table
from flambeau.backends.openvino.lower import CONVERTERS
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
