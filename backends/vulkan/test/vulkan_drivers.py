"""The drivers of Vulkan that compute on the CPU, where they are installed, and the shaders, where the build made modules of them."""

from pathlib import Path

from flambeau.backends.vulkan.shader_modules import FOLDER, unbuilt

_PLACES = {
    "lavapipe": "usr/share/vulkan/icd.d/lvp_icd.*.json",
    "swiftshader": "usr/lib/chromium/vk_swiftshader_icd.json",
}
DRIVERS = {name: file for name, place in _PLACES.items() for file in sorted(Path("/").glob(place))[:1]}
"""What tells Vulkan of each driver, by its name."""
SHADERS = [FOLDER] if unbuilt() is None else []
"""The folder of the modules, unless the build had no compiler of shaders."""
