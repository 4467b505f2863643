"""The OpenVINO library. Where it is not installed, the tests that run it are skipped by its name."""

import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path

import changed_payloads
import pytest

_PACKAGE = importlib.util.find_spec("openvino")
_FOLDERS = [] if _PACKAGE is None else _PACKAGE.submodule_search_locations or []
_LIBRARIES = [path for folder in _FOLDERS for path in Path(folder).glob("libs/libopenvino_c.*")]


@pytest.fixture(scope="session", params=_LIBRARIES, ids=lambda path: path.name)
def openvino_library(request: pytest.FixtureRequest) -> Path:
    """Where it lies."""
    return request.param


@pytest.fixture(scope="session")
def run_changed(openvino_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[bytes], int], list[int]]:
    """Changes each program so many times: how many were refused at load, refused when they ran, and ran."""
    tool = changed_payloads.compile_tool(Path(__file__).parent.parent, tmp_path_factory.mktemp("changed"))
    settings = {"FLAMBEAU_OPENVINO_LIBRARY": str(openvino_library), "TBB_ENABLE_SANITIZERS": "1"}
    return partial(changed_payloads.run_changed, tool, settings)
