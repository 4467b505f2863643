"""The runtimes and the file format of programs; README.md in this folder says more.

The names of the Python binding (`Runtime`, `Program`, `Method`, …) are found here and loaded at their first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau.runtime.binding import (
        BackendRegistry,
        Event,
        EventKind,
        FlambeauError,
        Memory,
        Method,
        MethodMeta,
        OperatorRegistry,
        Program,
        Recording,
        Runtime,
        Status,
        TensorInfo,
        ValueTag,
        Verification,
        find_library,
        include_folder,
    )

__all__ = [
    "Runtime",
    "OperatorRegistry",
    "BackendRegistry",
    "Program",
    "Method",
    "MethodMeta",
    "TensorInfo",
    "ValueTag",
    "Memory",
    "Verification",
    "FlambeauError",
    "Status",
    "find_library",
    "include_folder",
    "Recording",
    "Event",
    "EventKind",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(import_module("flambeau.runtime.binding"), name)
    raise import_module("flambeau.support.executorch_names").missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
