"""Flambeau: PyTorch programs to devices, through compiler IR that can be read, run and changed.

The names are ExecuTorch's where it has them; each is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flambeau.runtime import Runtime
    from flambeau.tools.edge_program import EdgeCompileConfig, EdgeProgramManager, ExecutorchProgramManager, to_edge

_HOMES = {
    "EdgeCompileConfig": "flambeau.tools.edge_program",
    "EdgeProgramManager": "flambeau.tools.edge_program",
    "ExecutorchProgramManager": "flambeau.tools.edge_program",
    "Runtime": "flambeau.runtime",
    "to_edge": "flambeau.tools.edge_program",
}

__all__ = ["EdgeCompileConfig", "EdgeProgramManager", "ExecutorchProgramManager", "Runtime", "to_edge"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
