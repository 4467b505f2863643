"""Legality against reality: what the table takes of the samples of its operators is computed by each driver as by numpy."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest
from delegated_operators import Trial, assert_close, program_of, trials_of
from shares import drawn
from vulkan_drivers import DRIVERS

from flambeau.backends.vulkan import VulkanOptions
from flambeau.backends.vulkan.legality import OPERATORS, table
from flambeau.backends.vulkan.lower import CONVERTERS
from flambeau.runtime import Runtime


@cache
def programs(name: str) -> list[tuple[bytes, Trial]]:
    """The programs of the samples of an operator that are numbers. Constants are dequantized for who reads them."""
    trials = trials_of(name, table(VulkanOptions()), {}, {"quantized_decomposed.dequantize_per_channel": "_softmax"})
    return [(program_of(trial, "vulkan"), trial) for trial in trials.finite()]


def test_there_is_a_converter_for_each_operator_of_the_table():
    assert OPERATORS.keys() == CONVERTERS.keys()


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(("name", "driver"), drawn(product(sorted(OPERATORS), DRIVERS), parts=4), indirect=["driver"])
def test_a_driver_is_right_about_what_is_taken(name: str):
    for program, trial in programs(name):
        method = Runtime.get().load_program(program).load_method("forward")
        assert_close(method.execute(trial.inputs), trial.expected)
