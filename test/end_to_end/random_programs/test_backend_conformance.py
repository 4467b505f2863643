"""Each built-in backend passes the conformance suite, 200 graphs in all; `make conformance BACKEND=…` tries 2000 of one."""

from __future__ import annotations

from pathlib import Path

import pytest
from shares import block
from vendor_tools import installed

from flambeau.passes.delegation.interface import backend_names, find_backend
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.tools.conformance.conformance import ConformanceOptions, judge

ROOT = Path(__file__).resolve().parents[3]
GRAPHS = 200
FURTHER = 3
RUNTIME, STOCK = "C runtime", "executorch"
SEVERAL = f"{RUNTIME}, several partitions"


def library_of(name: str) -> Path | None:
    """The vendor's library that a backend's part of the runtime finds at load: in this Python, or among what its tests install."""
    library = find_backend(name).found
    if library is None:
        return None
    packages = (Path(python).parents[1] for python in installed(f"{name}-test"))
    others = (path for place in packages for path in place.glob(f"lib/*/site-packages/{library.package}/{library.prefix}*"))
    return library.find() or next(others, None)


TOOLS = {name: {tool.variable: installed(name, tool.name) for tool in find_backend(name).tools} for name in backend_names()}
"""The tools of each backend: where each is installed, by the variable that says so."""


def is_built(name: str) -> bool:
    """Whether the build made what a backend needs: some need a compiler that not every machine has."""
    unbuilt = find_backend(name).unbuilt
    return unbuilt is None or unbuilt() is None


@pytest.mark.parametrize("name", [name for name, tools in TOOLS.items() if all(tools.values()) and is_built(name)])
def test_a_backend_passes(name: str, monkeypatch: pytest.MonkeyPatch):
    backend = find_backend(name)
    for variable, (program,) in TOOLS[name].items():
        monkeypatch.setenv(variable, program)
    library = library_of(name)
    if backend.found is not None and library is not None:
        monkeypatch.setenv(backend.found.variable, str(library))
    most = GRAPHS // len(backend_names())
    seeds = block(most)
    # ExecuTorch's runtime is not given payloads that it does not run: one ends its process.
    engines = {STOCK: "stock_executorch:load"} if Partitioner.judged(name).options.only_here is None else {}
    options = ConformanceOptions(seed=seeds.start, graphs=len(seeds), engines=engines)
    report = judge(name, options)
    assert report.failures == []
    assert {operator for operator, result in report.operators.items() if result.untried} == set()
    runtime = ROOT / "backends" / name / "runtime"
    is_found_at_load = (runtime / "backend.cmake").is_file() and "found_at_load" in (runtime / "backend.cmake").read_text(encoding="utf-8")
    lacks_library = is_found_at_load and library is None and RUNTIME in report.absent
    if backend.tools or lacks_library or not runtime.is_dir():
        # Its payloads are for a device of the vendor: numpy alone runs what they decode to. A simulator takes seconds for each.
        checks = ["encode"] if backend.decode is None else ["numpy on the decoded form", "decode of bad payloads"]
        unseen = {"numpy on the decoded form"} if backend.decode is None and backend.simulate is None else set[str]()
        assert report.graphs == len(seeds) and report.absent.keys() <= {RUNTIME, STOCK, "simulator", *unseen}
        assert all(report.passed[check] == len(seeds) for check in checks)
        return
    assert report.graphs == len(seeds) and report.absent.keys() <= {STOCK}
    assert report.passed[f"{RUNTIME}, bad payloads"]
    # Half of the graphs have several partitions, at random, so that a share may have none: one of the next ones has.
    seed = seeds.stop
    while not report.passed[SEVERAL] and seed < seeds.stop + most:
        report = judge(name, ConformanceOptions(seed=seed, graphs=FURTHER))
        assert report.failures == []
        seed += FURTHER
    assert report.passed[SEVERAL]
