"""Graphs in the JSON of Google's Model Explorer, which shows them by module.

Format: https://github.com/google-ai-edge/model-explorer/wiki/6.-Develop-Adapter-Extension, `GraphCollection`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flambeau.tools.report.program_graph import Node, ProgramGraph


def graph_collection(label: str, graphs: Mapping[str, ProgramGraph]) -> dict[str, Any]:
    """Returns a collection with a graph for each stage."""
    return {"label": label, "graphs": [{"id": stage, "nodes": _nodes(graph)} for stage, graph in graphs.items()]}


def _nodes(graph: ProgramGraph) -> list[dict[str, Any]]:
    lines = graph.text.splitlines()
    return [_node(number, node, lines) for number, node in enumerate(graph.nodes)]


def _node(number: int, node: Node, lines: list[str]) -> dict[str, Any]:
    attributes = {
        "line": "" if node.line is None else f"{node.line[0]}:{node.line[1]}",
        "weights": ", ".join(node.weights),
        "ir": "" if node.first is None or node.last is None else "\n".join(line.strip() for line in lines[node.first : node.last + 1]),
    }
    return {
        "id": str(number),
        "label": node.operator,
        "namespace": node.modules[0].replace(".", "/") if node.modules else "",
        "attrs": [{"key": key, "value": value} for key, value in attributes.items() if value],
        "incomingEdges": [
            {"sourceNodeId": str(source), "sourceNodeOutputId": str(output), "targetNodeInputId": str(index)}
            for index, (source, output) in enumerate(node.inputs)
        ],
        "outputsMetadata": [
            {"id": str(index), "attrs": [{"key": "type", "value": kind}, {"key": "name", "value": name}]}
            for index, (kind, name) in enumerate(zip(node.types, node.names, strict=False))
        ],
    }
