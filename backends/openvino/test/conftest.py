"""The OpenVINO library. Where it is not installed, the tests that run it are skipped by its name."""

import importlib.util
from pathlib import Path

import pytest

_PACKAGE = importlib.util.find_spec("openvino")
_FOLDERS = [] if _PACKAGE is None else _PACKAGE.submodule_search_locations or []
_LIBRARIES = [path for folder in _FOLDERS for path in Path(folder).glob("libs/libopenvino_c.*")]


@pytest.fixture(scope="session", params=_LIBRARIES, ids=lambda path: path.name)
def openvino_library(request: pytest.FixtureRequest) -> Path:
    """Where it lies."""
    return request.param
