"""The journey of a model, which the tests of its file share; it goes before the next one comes."""

from collections.abc import Generator

import pytest
from engines import Journey, travel


@pytest.fixture(scope="module")
def journey(request: pytest.FixtureRequest) -> Generator[Journey, None, None]:
    """The journey to a target of a model, which a test names by `indirect` parameters."""
    target, name = request.param
    yield travel(name, target)
