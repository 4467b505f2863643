"""Runs Arm's scenario runner with the emulation layers that are installed beside it, in whatever Python has both.

Not a part of Flambeau's package, but a program that `simulate.py` gives to that Python. Its arguments are those of the scenario runner; or
`--run` and any command, which gets the layers instead, such as `--run flambeau run model.pte`.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LAYERS = ("Graph", "Tensor")
"""The layers, the one that the program calls first. Vulkan's loader orders the layers of one folder by itself, so each gets a folder."""
SOFTWARE_DRIVER = Path("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")


def folder_of(package: str) -> Path:
    """Returns the folder of a package. Exits, with one line, where it is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"error: {sys.executable} has no package {package}")
    return Path(spec.submodule_search_locations[0])


def run(command: list[str]) -> int:
    """Runs a command with the layers, and returns its status."""
    deployed = folder_of("emulation_layer") / "deploy"
    libraries = [str(path) for path in (deployed / "lib64", deployed / "lib") if path.is_dir()]
    settings = {
        "VK_INSTANCE_LAYERS": os.pathsep.join(f"VK_LAYER_ML_{name}_Emulation" for name in LAYERS),
        "LD_LIBRARY_PATH": os.pathsep.join([*libraries, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]),
    }
    if SOFTWARE_DRIVER.exists() and not {"VK_ICD_FILENAMES", "VK_DRIVER_FILES"} & os.environ.keys():
        settings["VK_ICD_FILENAMES"] = str(SOFTWARE_DRIVER)
    with tempfile.TemporaryDirectory() as place:
        for name in LAYERS:
            folder = Path(place, name)
            folder.mkdir()
            shutil.copy(deployed / f"share/vulkan/explicit_layer.d/VkLayer_{name}.json", folder)
        settings["VK_LAYER_PATH"] = os.pathsep.join(str(Path(place, name)) for name in LAYERS)
        return subprocess.run(command, env={**os.environ, **settings}, check=False).returncode


def main() -> int:
    """Runs what the arguments say, and returns its status."""
    if sys.argv[1:2] == ["--run"]:
        return run(sys.argv[2:])
    return run([str(folder_of("scenario_runner") / "binaries" / "bin" / "scenario-runner"), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
