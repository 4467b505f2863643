"""Reads payloads with ExecuTorch's own schema and `flatc`, and compares them with what was written.

The schema is `backends/apple/mps/serialization/schema.fbs` of a checkout of ExecuTorch before 1.4; `flatc` is that of the installed wheel.
The text that `flatc` makes of a graph must have its nodes, values and lists, and the graph that it makes of this text is the same again.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from flambeau.backends.mps.payload import Graph, Node, read_payload, write_payload


def flatc() -> str:
    """The program of ExecuTorch's wheel."""
    spec = importlib.util.find_spec("executorch")
    (folder,) = [] if spec is None else spec.submodule_search_locations or []
    return str(Path(folder) / "data" / "bin" / "flatc")


def read_by_schema(payload: memoryview, schema: Path) -> None:
    """Checks one payload. Raises AssertionError."""
    graph, constants = read_payload(payload)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "graph.bin").write_bytes(payload[24 : len(payload) - len(constants)])
        common = [flatc(), "-o", folder, "--raw-binary", "--strict-json", "--defaults-json"]
        subprocess.run([*common, "--json", str(schema), "--", str(place / "graph.bin")], check=True)
        text = (place / "graph.json").read_text(encoding="utf-8")
        check_text(json.loads(text.replace(" inf", " 1e999").replace("-inf", "-1e999")), graph)
        subprocess.run([flatc(), "-o", folder, "--binary", str(schema), str(place / "graph.json")], check=True)
        again = place / "graph.bin" if (place / "graph.bin").exists() else place / "graph.mpsgraph"
        data = again.read_bytes()
    whole = write_payload(graph, bytes(constants))
    start = 24 + -(-(24 + len(data)) // 16) * 16 - 24
    header = whole[:8] + start.to_bytes(8, "little") + len(constants).to_bytes(8, "little")
    found, _ = read_payload(memoryview(header + data + bytes(start - 24 - len(data)) + constants))
    assert replace(found, mps_nodes=()) == replace(graph, mps_nodes=())
    for node, other in zip(found.mps_nodes, graph.mps_nodes, strict=True):
        check_fields({name: value for name, value in node.mpsnode_union.__dict__.items() if value is not None}, other)


def check_text(said: Any, graph: Graph) -> None:
    """Compares what `flatc` read with a graph."""
    assert [item["mpsnode_union_type"] for item in said["mps_nodes"]] == [
        f"MPS{type(node.mpsnode_union).__name__}" for node in graph.mps_nodes
    ]
    for item, node in zip(said["mps_nodes"], graph.mps_nodes, strict=True):
        check_fields(item["mpsnode_union"], node)
    assert [tuple(item["dims"]) for item in said["mps_values"]] == [value.dims for value in graph.mps_values]
    for name in ("input_ids", "output_ids", "constant_ids"):
        assert tuple(said[name]) == getattr(graph, name)


def check_fields(found: dict[str, Any], node: Node) -> None:
    """Compares the fields of a node. The text of `flatc` has 12 digits of a number behind the point."""
    fields: dict[str, Any] = {name: value for name, value in node.mpsnode_union.__dict__.items() if value is not None}
    assert found.keys() == fields.keys()
    for name, value in fields.items():
        is_same = found[name] == value if isinstance(value, str) else np.allclose(found[name], value, rtol=1e-6, atol=1e-11)
        assert is_same, (name, found[name], value)
