"""Each built-in backend passes the conformance suite, 200 graphs in all; `make conformance BACKEND=…` tries 2000 of one."""

from __future__ import annotations

import pytest
from shares import block

from flambeau.passes.delegation.interface import backend_names
from flambeau.tools.conformance.conformance import ConformanceOptions, judge

GRAPHS = 200
RUNTIME, STOCK = "C runtime", "executorch"


@pytest.mark.parametrize("name", backend_names())
def test_a_backend_passes(name: str):
    seeds = block(GRAPHS // len(backend_names()))
    report = judge(name, ConformanceOptions(seed=seeds.start, graphs=len(seeds), engines={STOCK: "stock_executorch:load"}))
    assert report.failures == []
    assert report.graphs == len(seeds) and report.absent.keys() <= {STOCK}
    assert report.passed[f"{RUNTIME}, bad payloads"] and report.passed[f"{RUNTIME}, two instances"]
    # Half of the graphs have several partitions, at random: all those of one share may have one.
    assert report.passed[f"{RUNTIME}, several partitions"] or len(seeds) < GRAPHS // len(backend_names())
    assert {operator for operator, result in report.operators.items() if result.untried} == set()
