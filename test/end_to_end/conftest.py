"""The journey of a model, which the tests of its file share; it goes before the next one comes."""

import pytest
from engines import Journey, travel
from memory import free_memory


@pytest.fixture(scope="module")
def journey(request: pytest.FixtureRequest) -> Journey:
    """The journey to a target of a model, which a test names by `indirect` parameters."""
    free_memory()
    target, name = request.param
    return travel(name, target)
