"""The modules in SPIR-V that the build made of `runtime/shaders/`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import flambeau.backends.vulkan
from flambeau.passes.delegation.interface import BackendError

FOLDER = "spirv"


@cache
def module_bytes(name: str) -> bytes:
    """Returns the words of a module. Raises BackendError if the build did not make it."""
    for folder in flambeau.backends.vulkan.__path__:
        file = Path(folder) / FOLDER / f"{name}.spv"
        if file.is_file():
            return file.read_bytes()
    raise BackendError(
        f"vulkan: this installation has no shader {name!r}: it was built where glslangValidator was not; install glslang "
        "(Debian: glslang-tools), and then Flambeau again"
    )
