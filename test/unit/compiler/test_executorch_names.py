"""ExecuTorch's Python names: each one works in Flambeau, or says what to use instead."""

import inspect
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from types import ModuleType
from typing import Any

import executorch.devtools.backend_debug.delegation_info as stock_delegation
import executorch.exir
import executorch.exir.backend.partitioner as stock_partitioner
import executorch.exir.passes as stock_passes
import executorch.exir.program._program as stock_program
import executorch.export
import executorch.runtime
import pytest
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockXnnpackPartitioner

import flambeau
import flambeau.runtime
from flambeau.backends.xnnpack import XnnpackPartitioner
from flambeau.compiler import edge_program
from flambeau.passes.delegation import report
from flambeau.runtime.inspector import Inspector
from flambeau.support.executorch_names import INSTEAD

portable_lib: Any = import_module("executorch.extension.pybindings.portable_lib")
stock_devtools: Any = import_module("executorch.devtools")
stock_runtime: Any = executorch.runtime
stock_xnnpack: Any = StockXnnpackPartitioner

PAIRS: list[tuple[type[Any], type[Any]]] = [
    (executorch.exir.EdgeProgramManager, flambeau.EdgeProgramManager),
    (executorch.exir.ExecutorchProgramManager, flambeau.ExecutorchProgramManager),
    (stock_devtools.Inspector, Inspector),
    (stock_devtools.ETRecord, flambeau.ETRecord),
    (stock_partitioner.Partitioner, flambeau.Partitioner),
    (stock_delegation.DelegationBreakdown, report.DelegationBreakdown),
    (stock_delegation.DelegationInfo, report.DelegationInfo),
    (stock_runtime.Runtime, flambeau.Runtime),
    (stock_runtime.Program, flambeau.runtime.Program),
    (portable_lib.ExecuTorchProgram, flambeau.runtime.Program),
    (portable_lib.ExecuTorchModule, flambeau.runtime.Program),
    (stock_runtime.Method, flambeau.runtime.Method),
    (portable_lib.ExecuTorchMethod, flambeau.runtime.Method),
    (portable_lib.MethodMeta, flambeau.runtime.MethodMeta),
    (portable_lib.TensorInfo, flambeau.runtime.TensorInfo),
    (portable_lib.BundledModule, flambeau.runtime.BundledModule),
    (stock_runtime.BackendRegistry, flambeau.runtime.BackendRegistry),
    (stock_runtime.OperatorRegistry, flambeau.runtime.OperatorRegistry),
]
"""Classes of ExecuTorch, and ours in their place."""
CONFIGS: list[tuple[type[Any], type[Any]]] = [
    (executorch.exir.EdgeCompileConfig, flambeau.EdgeCompileConfig),
    (executorch.exir.ExecutorchBackendConfig, flambeau.ExecutorchBackendConfig),
    (stock_partitioner.CompileSpec, flambeau.CompileSpec),
]
FUNCTIONS: list[tuple[Any, Any]] = [
    (stock_program.to_edge, edge_program.to_edge),
    (stock_program.to_edge_transform_and_lower, edge_program.to_edge_transform_and_lower),
    (executorch.exir.EdgeProgramManager.to_backend, flambeau.EdgeProgramManager.to_backend),
    (executorch.exir.EdgeProgramManager.transform, flambeau.EdgeProgramManager.transform),
    (executorch.exir.EdgeProgramManager.to_executorch, flambeau.EdgeProgramManager.to_executorch),
    (stock_passes.MemoryPlanningPass.__init__, flambeau.MemoryPlanningPass),
    (stock_xnnpack.__init__, XnnpackPartitioner),
    (stock_delegation.get_delegation_info, flambeau.get_delegation_info),
    (stock_devtools.generate_etrecord, flambeau.generate_etrecord),
    (stock_runtime.Runtime.load_program, flambeau.Runtime.load_program),
    (stock_runtime.Program.load_method, flambeau.runtime.Program.load_method),
    (stock_runtime.Method.execute, flambeau.runtime.Method.execute),
]
MADE: dict[type[Any], set[str]] = {
    flambeau.Runtime: {"backend_registry", "operator_registry"},
    flambeau.runtime.Method: {"metadata"},
}
"""What objects of ours get when they are made."""
ELSEWHERE = {
    "executorch": ["devtools", "exir", "extension"],
    "executorch.backends.xnnpack.partition.xnnpack_partitioner": ["XnnpackPartitioner"],
    "executorch.backends.xnnpack": ["partition"],
    "executorch.devtools": ["BundledProgram", "ETRecord", "Inspector", "generate_etrecord"],
    "executorch.exir.backend.partitioner": ["Partitioner"],
    "executorch.devtools.backend_debug": ["get_delegation_info"],
    "executorch.devtools.bundled_program.config": ["MethodTestCase", "MethodTestSuite"],
    "executorch.devtools.bundled_program.serialize": ["serialize_from_bundled_program_to_flatbuffer"],
    "executorch.exir.passes": ["MemoryPlanningPass", "ToOutVarPass"],
    "executorch.extension.export_util.utils": ["save_pte_program"],
}
"""Names that tutorials import, beside those of `executorch.exir`, `executorch.export` and the runtime."""
UNSEEN = {
    "EdgeCompileConfig(_use_edge_ops)",
    *(f"OpenvinoPartitioner{argument}" for argument in ("", "(op_names_to_skip)", "(op_types_to_skip)")),
}
"""Names of other releases of ExecuTorch than the installed one, of objects, not classes, or in modules that need the package nncf."""


def names_of_modules() -> Iterator[str]:
    yield from executorch.exir.__all__
    yield from executorch.export.__all__
    modules: list[ModuleType] = [stock_runtime, portable_lib]
    for module in modules:
        for name, value in vars(module).items():
            if getattr(value, "__module__", "").startswith("executorch") and not inspect.ismodule(value):
                yield name


def unwrapped(function: Any) -> Any:
    """The function in ExecuTorch's decorator, which hides its arguments."""
    return inspect.getclosurevars(function).nonlocals.get("func", function)


def arguments_that_stock_has() -> Iterator[tuple[str, set[str]]]:
    """The keys of all arguments of ExecuTorch, each with the arguments of ours."""
    for theirs, ours in FUNCTIONS:
        known = set(inspect.signature(ours).parameters)
        names = [item.name for item in inspect.signature(unwrapped(theirs)).parameters.values() if item.kind is not item.VAR_KEYWORD]
        yield from ((f"{ours.__qualname__}({name})", known) for name in names if name != "self")
    for theirs, ours in CONFIGS:
        known = {field.name for field in fields(ours)}
        yield from ((f"{ours.__name__}({field.name})", known) for field in fields(theirs))


def stock_names() -> dict[str, bool]:
    """Every name of ExecuTorch as a key of INSTEAD, and whether it is here."""
    found: dict[str, bool] = {}
    for name in names_of_modules():
        found[name] = hasattr(flambeau, name) or hasattr(flambeau.runtime, name)
    for module, names in ELSEWHERE.items():
        for name in names:
            assert hasattr(import_module(module), name) or import_module(f"{module}.{name}")
            found[name] = hasattr(flambeau, name) or hasattr(flambeau.runtime, name)
    for theirs, ours in PAIRS:
        own = {*dir(ours), *inspect.get_annotations(ours), *MADE.get(ours, ())}
        found |= {f"{ours.__name__}.{name}": name in own for name in dir(theirs) if not name.startswith("_")}
    for key, known in arguments_that_stock_has():
        found[key] = key.partition("(")[2][:-1] in known
    return found


def test_every_name_is_here_or_says_what_to_use_instead():
    found = stock_names()
    assert {"to_edge", "Runtime", "ExecutorchBackendConfig", "Program.load_method", "to_edge(constant_methods)"} <= found.keys()
    assert {name for name, is_here in found.items() if is_here} & INSTEAD.keys() == set(), "these are here and need no line"
    assert {name for name, is_here in found.items() if not is_here} - INSTEAD.keys() == set(), "these need a line"
    assert INSTEAD.keys() - found.keys() == UNSEEN, "these are not names of ExecuTorch"


@pytest.mark.parametrize("package", ["flambeau", "flambeau.runtime"])
def test_an_import_says_what_to_use_instead(package: str):
    for name in ("capture", "_load_for_executorch"):
        scope: dict[str, object] = {}
        with pytest.raises(ImportError, match=f"^{package} has no '{name}', which ExecuTorch has: "):
            exec(f"from {package} import {name}", scope)
        assert not hasattr(import_module(package), name)
        with pytest.raises(AttributeError, match=f"^{package} has no '{name}', which ExecuTorch has: "):
            getattr(import_module(package), name)
    with pytest.raises(ImportError, match="cannot import name 'captur'"):
        exec(f"from {package} import captur", {})
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'captur'"):
        _ = import_module(package).captur


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("from flambeau.passes import MemoryPlanningPass", "flambeau.passes has no 'MemoryPlanningPass': import it from flambeau"),
        ("from flambeau.passes import ToOutVarPass", "flambeau.passes has no 'ToOutVarPass', which ExecuTorch has: the pass convert-"),
        ("from flambeau.runtime import to_edge", "flambeau.runtime has no 'to_edge': import it from flambeau"),
        ("from flambeau.exir import to_edge", "flambeau has no 'exir', which ExecuTorch has: "),
        ("import flambeau.exir.backend.partitioner", "flambeau has no 'exir', which ExecuTorch has: "),
        ("from flambeau.devtools import Inspector", "flambeau has no 'devtools', which ExecuTorch has: "),
        (
            "from flambeau.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner",
            "flambeau.backends.xnnpack has no 'partition', which ExecuTorch has: ",
        ),
        ("import flambeau.exirs", "No module named 'flambeau.exirs'$"),
    ],
)
def test_an_import_from_a_module_says_what_to_use_instead(statement: str, message: str):
    with pytest.raises(ImportError, match=f"^{message}"):
        exec(statement, {})


def test_names_that_are_imported_when_used_are_listed():
    assert set(flambeau.__all__) <= set(dir(flambeau))
    assert set(flambeau.runtime.__all__) <= set(dir(flambeau.runtime))
    assert all(hasattr(flambeau, name) for name in flambeau.__all__)
