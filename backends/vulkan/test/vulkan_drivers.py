"""The drivers of Vulkan that compute on the CPU, where they are installed."""

from pathlib import Path

_PLACES = {
    "lavapipe": "usr/share/vulkan/icd.d/lvp_icd.*.json",
    "swiftshader": "usr/lib/chromium/vk_swiftshader_icd.json",
}
DRIVERS = {name: file for name, place in _PLACES.items() for file in sorted(Path("/").glob(place))[:1]}
"""What tells Vulkan of each driver, by its name."""
