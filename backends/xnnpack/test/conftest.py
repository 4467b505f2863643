"""Runs programs whose payloads have changed bytes."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import changed_payloads
import executorch
import pytest


@pytest.fixture(scope="session")
def run_changed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[bytes], int], list[int]]:
    """Changes each program so many times: how many were refused at load, refused when they ran, and ran."""
    tool = changed_payloads.compile_tool(Path(__file__).parent.parent, tmp_path_factory.mktemp("changed"))
    library = Path(next(iter(executorch.__path__))) / "lib" / "libexecutorch_backend_xnnpack.so"
    return partial(changed_payloads.run_changed, tool, {"FLAMBEAU_XNNPACK_LIBRARY": str(library)})
