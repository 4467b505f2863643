"""What the tests need, and are skipped without, by its name: the shaders of this build, and for those that run them, a driver."""

import pytest
from vulkan_drivers import DRIVERS, SHADERS


@pytest.fixture(autouse=True, params=SHADERS)
def shaders(request: pytest.FixtureRequest) -> str:
    """The folder of the modules that the build made of the shaders."""
    return request.param


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a driver, which Vulkan finds alone."""
    for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.setenv(variable, str(DRIVERS[request.param]))
    return request.param
