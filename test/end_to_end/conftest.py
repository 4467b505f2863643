"""The journey of a model, which the tests of its file share; it goes before the next one comes."""

import gc

import pytest
from engines import Journey, travel


@pytest.fixture(scope="module")
def journey(request: pytest.FixtureRequest) -> Journey:
    """The journey to a target of a model, which a test names by `indirect` parameters."""
    gc.collect()  # the IR of the one before refers to itself
    target, name = request.param
    return travel(name, target)
