"""The Python binding of the C runtime, with ExecuTorch's names. Needs numpy; takes torch tensors without importing torch.

A program may be shared by threads, and may be executed through one method per thread. The interpreter lock is not held while C code runs.
"""

from flambeau.runtime.binding.library import FlambeauError, Status, find_library, include_folder
from flambeau.runtime.binding.loaded_method import Method
from flambeau.runtime.binding.loaded_program import BackendRegistry, OperatorRegistry, Program, Runtime, Verification
from flambeau.runtime.binding.metadata import Memory, MethodMeta, TensorInfo, ValueTag
from flambeau.runtime.binding.recording import Event, EventKind, Recording

__all__ = [
    "Runtime",
    "OperatorRegistry",
    "BackendRegistry",
    "Verification",
    "Program",
    "Method",
    "MethodMeta",
    "TensorInfo",
    "ValueTag",
    "Memory",
    "Event",
    "EventKind",
    "Recording",
    "FlambeauError",
    "Status",
    "find_library",
    "include_folder",
]
