"""The Python binding of the C runtime, with ExecuTorch's names. It needs numpy, and takes torch tensors without importing torch.

Threads may share a program, and run it at once if each thread loads its own method. C code runs without the interpreter lock.
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
