"""Runs programs whose payloads have changed bytes."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import changed_payloads
import executorch
import pytest

LIBRARY = Path(next(iter(executorch.__path__))) / "lib" / "libexecutorch_backend_xnnpack.so"
SETTINGS = {"FLAMBEAU_XNNPACK_LIBRARY": str(LIBRARY)}


@pytest.fixture(scope="session")
def run_changed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[bytes], int], list[int]]:
    """Changes each program so many times: how many were refused at load, refused when they ran, and ran."""
    tool = changed_payloads.compile_tool(Path(__file__).parent.parent, tmp_path_factory.mktemp("changed"))
    return partial(changed_payloads.run_changed, tool, SETTINGS)


@pytest.fixture(scope="session")
def run_guarded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[bytes], int, str], changed_payloads.Trials]:
    """Tries each program so many times in a mode of `changed_payloads.c`; behind each block of XNNPACK is a page that nobody may touch."""
    tool = changed_payloads.compile_tool(Path(__file__).parent.parent, tmp_path_factory.mktemp("guarded"), LIBRARY)
    return partial(changed_payloads.run, tool, SETTINGS)
