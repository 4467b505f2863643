"""The runtimes and the file format of programs; README.md in this folder describes them.

This package has the names of the Python binding (`Runtime`, `Program`, `Method`, …), and imports them at their first use.
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
    from flambeau.runtime.bundled_program import BundledModule

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
    "BundledModule",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        home = "bundled_program" if name == "BundledModule" else "binding"
        return getattr(import_module(f"flambeau.runtime.{home}"), name)
    raise import_module("flambeau.support.executorch_names").missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
