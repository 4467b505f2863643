"""Runs a test marked `every_library` with the kernels of each instruction set, in one process."""

from collections.abc import Generator

import pytest
from kernel_harness import libraries, using


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Calls the test once more for each further library."""
    result = yield
    names = pyfuncitem._fixtureinfo.argnames  # pyright: ignore[reportPrivateUsage]  as pytest's own call of a test does
    for library in libraries()[1:] if pyfuncitem.get_closest_marker("every_library") else ():
        with using(library):
            pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    return result
