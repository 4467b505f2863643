"""The drivers of Vulkan that compute on the CPU. Where one is not installed, the tests that run it are skipped by its name."""

from pathlib import Path

import pytest

PLACES = {
    "lavapipe": "/usr/share/vulkan/icd.d/lvp_icd.*.json",
    "swiftshader": "/usr/lib/chromium/vk_swiftshader_icd.json",
}
DRIVERS = {name: file for name, place in PLACES.items() for file in sorted(Path("/").glob(place.removeprefix("/")))[:1]}


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a driver, which Vulkan finds alone."""
    for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.setenv(variable, str(DRIVERS[request.param]))
    return request.param
