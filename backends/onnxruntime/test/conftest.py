"""The ONNX Runtime library, as `make vendor-tools` installs it. Without it, the tests that run it are skipped by its name."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import changed_payloads
import pytest
from vendor_tools import installed

_NAME = "lib/python*/site-packages/onnxruntime/capi/libonnxruntime.*"
_LIBRARIES = [path for python in installed("onnxruntime-test") for path in Path(python).parents[1].glob(_NAME)]


@pytest.fixture(scope="session", params=_LIBRARIES, ids=lambda path: path.name)
def onnxruntime_library(request: pytest.FixtureRequest) -> Path:
    """Where it lies."""
    return request.param


@pytest.fixture(scope="session")
def run_changed(onnxruntime_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[bytes], int], list[int]]:
    """Changes each program so many times: how many were refused at load, refused when they ran, and ran."""
    tool = changed_payloads.compile_tool(Path(__file__).parent.parent, tmp_path_factory.mktemp("changed"))
    return partial(changed_payloads.run_changed, tool, {"FLAMBEAU_ONNXRUNTIME_LIBRARY": str(onnxruntime_library)})
