"""Flambeau: PyTorch programs to devices, through compiler IR that can be read, run and changed.

The names are the same as in ExecuTorch if it has the feature; each name is imported at its first use. The decorators for plug-ins are here
too.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from flambeau.support.tables import set_discovery

if TYPE_CHECKING:
    from flambeau.compiler.ahead_of_time import aot
    from flambeau.compiler.configs import EdgeCompileConfig, ExecutorchBackendConfig, MemoryPlanningPass
    from flambeau.compiler.edge_program import (
        EdgeProgramManager,
        ExecutorchProgramManager,
        generate_etrecord,
        get_delegation_info,
        to_edge,
        to_edge_transform_and_lower,
    )
    from flambeau.compiler.etrecord import ETRecord
    from flambeau.dialects.schema.context import FlambeauContext
    from flambeau.dialects.schema.row import row
    from flambeau.frontends.interface import frontend
    from flambeau.frontends.torch_quantization.post_training import quantize
    from flambeau.frontends.torch_quantization.recipe import Recipe
    from flambeau.passes.delegation.partitioner import CompileSpec, Partitioner
    from flambeau.passes.manager import Instrumentation, PassError, PassStep, Pipeline
    from flambeau.passes.manager.registry import pipeline
    from flambeau.passes.planning.portfolio import planner
    from flambeau.plugins.loader import load_plugin
    from flambeau.runtime import Runtime
    from flambeau.runtime.bundled_program import (
        BundledProgram,
        MethodTestCase,
        MethodTestSuite,
        serialize_from_bundled_program_to_flatbuffer,
    )
    from flambeau.runtime.interpreter.functions import interprets

_HOMES = {
    "BundledProgram": "flambeau.runtime.bundled_program",
    "CompileSpec": "flambeau.passes.delegation.partitioner",
    "ETRecord": "flambeau.compiler.etrecord",
    "EdgeCompileConfig": "flambeau.compiler.configs",
    "EdgeProgramManager": "flambeau.compiler.edge_program",
    "ExecutorchBackendConfig": "flambeau.compiler.configs",
    "ExecutorchProgramManager": "flambeau.compiler.edge_program",
    "FlambeauContext": "flambeau.dialects.schema.context",
    "Instrumentation": "flambeau.passes.manager",
    "MemoryPlanningPass": "flambeau.compiler.configs",
    "MethodTestCase": "flambeau.runtime.bundled_program",
    "MethodTestSuite": "flambeau.runtime.bundled_program",
    "Partitioner": "flambeau.passes.delegation.partitioner",
    "PassError": "flambeau.passes.manager",
    "PassStep": "flambeau.passes.manager",
    "Pipeline": "flambeau.passes.manager",
    "Recipe": "flambeau.frontends.torch_quantization.recipe",
    "Runtime": "flambeau.runtime",
    "aot": "flambeau.compiler.ahead_of_time",
    "frontend": "flambeau.frontends.interface",
    "generate_etrecord": "flambeau.compiler.edge_program",
    "get_delegation_info": "flambeau.compiler.edge_program",
    "interprets": "flambeau.runtime.interpreter.functions",
    "load_plugin": "flambeau.plugins.loader",
    "pipeline": "flambeau.passes.manager.registry",
    "planner": "flambeau.passes.planning.portfolio",
    "quantize": "flambeau.frontends.torch_quantization.post_training",
    "row": "flambeau.dialects.schema.row",
    "serialize_from_bundled_program_to_flatbuffer": "flambeau.runtime.bundled_program",
    "to_edge": "flambeau.compiler.edge_program",
    "to_edge_transform_and_lower": "flambeau.compiler.edge_program",
}

__all__ = [
    # From PyTorch programs to programs for the device, and running them.
    "CompileSpec",
    "EdgeCompileConfig",
    "EdgeProgramManager",
    "ExecutorchBackendConfig",
    "ExecutorchProgramManager",
    "MemoryPlanningPass",
    "Partitioner",
    "Recipe",
    "Runtime",
    "aot",
    "get_delegation_info",
    "quantize",
    "to_edge",
    "to_edge_transform_and_lower",
    # Input of ExecuTorch's Inspector
    "ETRecord",
    "generate_etrecord",
    # Programs with test cases.
    "BundledProgram",
    "MethodTestCase",
    "MethodTestSuite",
    "serialize_from_bundled_program_to_flatbuffer",
    # Passes over modules, and their instrumentations
    "FlambeauContext",
    "Instrumentation",
    "PassError",
    "PassStep",
    "Pipeline",
    # Plug-ins.
    "frontend",
    "interprets",
    "load_plugin",
    "pipeline",
    "planner",
    "row",
]


def _load_installed_plugins() -> str:
    return import_module("flambeau.plugins.loader").load_installed()


set_discovery(_load_installed_plugins)


class _MissingModules:
    """A finder after all others: for a module of ExecuTorch that Flambeau lacks, it raises an error that names the replacement."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        """Raises ModuleNotFoundError for a module of ExecuTorch."""
        package, _, module = name.rpartition(".")
        if package.partition(".")[0] == __name__ and module in (instead := import_module("flambeau.support.executorch_names").INSTEAD):
            raise ModuleNotFoundError(f"{package} has no {module!r}, which ExecuTorch has: {instead[module]}", name=name)


sys.meta_path.append(_MissingModules)


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise import_module("flambeau.support.executorch_names").missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
