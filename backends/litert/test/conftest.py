"""The LiteRT library, as `make vendor-tools` installs it. Where it is not installed, the tests that run it are skipped by its name."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import changed_payloads
import pytest
from vendor_tools import installed

_LIBRARIES = [
    path
    for python in installed("litert-test")
    for path in Path(python).parents[1].glob("lib/python*/site-packages/ai_edge_litert/libLiteRt.*")
]


@pytest.fixture(scope="session", params=_LIBRARIES, ids=lambda path: path.name)
def litert_library(request: pytest.FixtureRequest) -> Path:
    """Where it lies."""
    return request.param


@pytest.fixture(scope="session")
def run_changed(litert_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[bytes], int], list[int]]:
    """Changes each program so many times: how many were refused at load, refused when they ran, and ran."""
    tool = changed_payloads.compile_tool(Path(__file__).parent.parent, tmp_path_factory.mktemp("changed"))
    return partial(changed_payloads.run_changed, tool, {"FLAMBEAU_LITERT_LIBRARY": str(litert_library)})
