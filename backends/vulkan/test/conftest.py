"""The drivers of Vulkan that compute on the CPU. Where one is not installed, the tests that run it are skipped by its name."""

import pytest
from vulkan_drivers import DRIVERS


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a driver, which Vulkan finds alone."""
    for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.setenv(variable, str(DRIVERS[request.param]))
    return request.param
