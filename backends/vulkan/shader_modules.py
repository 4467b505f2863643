"""The modules in SPIR-V that the build made of `runtime/shaders/`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import flambeau.backends.vulkan
from flambeau.passes.delegation.interface import BackendError

FOLDER = "spirv"


def _folder() -> Path | None:
    """Returns the folder of the modules; None where the build made none."""
    return next((place for path in flambeau.backends.vulkan.__path__ if (place := Path(path) / FOLDER).is_dir()), None)


def unbuilt() -> str | None:
    """Returns why there are no modules, and what would help; None where there are."""
    if _folder() is not None:
        return None
    return (
        "this installation has no shaders: it was built where glslangValidator was not; install glslang (Debian: glslang-tools), and then "
        "Flambeau again"
    )


@cache
def module_bytes(name: str) -> bytes:
    """Returns the words of a module. Raises BackendError if the build did not make it."""
    folder = _folder()
    if folder is None:
        raise BackendError(f"vulkan: {unbuilt()}")
    return (folder / f"{name}.spv").read_bytes()
