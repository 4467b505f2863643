"""Reads and writes the layers of a model: as lines, and as OpenVINO's intermediate representation, version 11, which is XML.

A line of a model has the type of a layer, its opset, its inputs, the precisions of its outputs, its path and its data, between tabs. An
input is the number of a layer before it, and `.` and the number of its output unless that is 0. An empty path is that of the layer before.
Path and data are written as in XML. OpenVINO's text says the same in ten times as many bytes: `runtime/model.c` writes it when a program is
loaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.etree import ElementTree
from xml.sax.saxutils import escape, unescape

from flambeau.backends.openvino.payload import refused

VERSION = "11"
OPEN = -1
"""The size, in a port, of a dimension whose size is unknown before the run."""
LONGEST_PATH = 255
"""In bytes, as written: a path stands in a text of OpenVINO again for each layer."""
_DATA = re.compile(r'([\w-]+)="([^"]*)"(?: |$)')
_QUOTES = {'"': "&quot;", "\t": "&#9;", "\n": "&#10;"}


@dataclass(frozen=True)
class Port:
    """A tensor that a layer computes: its precision, such as `FP32`, and its sizes if the text says them."""

    precision: str
    sizes: tuple[int, ...] | None = None


@dataclass
class Layer:
    """A layer."""

    path: str
    type: str
    opset: str
    data: Mapping[str, str] = field(default_factory=dict[str, str])
    inputs: Sequence[tuple[int, int]] = ()
    """The layer that computes each input, and the number of its output."""
    outputs: Sequence[Port] = ()


def layer_name(layer: Layer, number: int) -> str:
    """Returns what OpenVINO calls a layer of this number."""
    return f"{layer.path}{'.' if layer.path else ''}{layer.type}_{number}"


def write_lines(layers: Sequence[Layer]) -> bytes:
    """Returns a model as lines. Each layer must follow the layers whose results it reads."""
    lines: list[str] = []
    before = ""
    for layer in layers:
        inputs = " ".join(f"{source}.{place}" if place else str(source) for source, place in layer.inputs)
        data = " ".join(f'{name}="{escape(value, _QUOTES)}"' for name, value in layer.data.items())
        path = "" if layer.path == before else escape(layer.path, _QUOTES)
        path = path if len(path.encode()) <= LONGEST_PATH else "…"
        outputs = " ".join(port.precision for port in layer.outputs)
        lines.append("\t".join((layer.type, layer.opset, inputs, outputs, path, data)) + "\n")
        before = layer.path
    return "".join(lines).encode()


def read_lines(text: memoryview) -> list[Layer]:
    """Returns the layers of a model from its lines. Raises BackendError if the text is not a model, or if a layer reads a later layer."""
    try:
        lines = str(text, "utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise refused(f"its text is not UTF-8: {error}") from error
    layers: list[Layer] = []
    if lines.pop():
        raise refused("its text does not end with a line")
    for number, line in enumerate(lines):
        fields = line.split("\t")
        if len(fields) != 6:
            raise refused(f"layer {number} has {len(fields)} fields, not 6")
        kind, opset, inputs, outputs, path, data = fields
        sources = [_source(word, layers) for word in inputs.split()]
        found = dict(_DATA.findall(data))
        if " ".join(f'{name}="{value}"' for name, value in found.items()) != data:
            raise refused(f"layer {number}, {kind[:40]}, has other data than names with values")
        values = {name: _plain(value) for name, value in found.items()}
        path = _plain(path) if path or not layers else layers[-1].path
        layers.append(Layer(path, kind, opset, values, sources, [Port(word) for word in outputs.split()]))
    return layers


def _plain(text: str) -> str:
    return unescape(text, {escaped: letter for letter, escaped in _QUOTES.items()})


def _source(word: str, layers: Sequence[Layer]) -> tuple[int, int]:
    layer, _, place = word.partition(".")
    return _checked(_number(layer), _number(place or "0"), layers)


def _checked(layer: int, place: int, layers: Sequence[Layer]) -> tuple[int, int]:
    """Returns a source. Raises BackendError unless one of these layers, which are before its reader, has this output."""
    if not 0 <= layer < len(layers):
        raise refused(f"layer {len(layers)} reads layer {layer}; layers follow those that they read")
    if not 0 <= place < len(layers[layer].outputs):
        raise refused(f"layer {len(layers)} reads output {place} of layer {layer}, which has {len(layers[layer].outputs)}")
    return layer, place


def write_model(layers: Sequence[Layer]) -> bytes:
    """Returns the text of a model that OpenVINO reads, as `runtime/model.c` writes it. OpenVINO computes the sizes of tensors."""
    net = ElementTree.Element("net", name="flambeau", version=VERSION)
    body, edges = ElementTree.SubElement(net, "layers"), ElementTree.SubElement(net, "edges")
    for number, layer in enumerate(layers):
        name, opset = layer_name(layer, number), f"opset{layer.opset}"
        element = ElementTree.SubElement(body, "layer", id=str(number), name=name, type=layer.type, version=opset)
        if layer.data:
            ElementTree.SubElement(element, "data", dict(layer.data))
        for place, (source, port) in enumerate(layer.inputs):
            ends = {"from-layer": source, "from-port": port, "to-layer": number, "to-port": place}
            ElementTree.SubElement(edges, "edge", {end: str(value) for end, value in ends.items()})
        for tag, count in (("input", len(layer.inputs)), ("output", len(layer.outputs))):
            ports = ElementTree.SubElement(element, tag)
            for place in range(count):
                said = {"precision": layer.outputs[place].precision} if tag == "output" else {}
                ElementTree.SubElement(ports, "port", {"id": str(place)} | said)
    return ElementTree.tostring(net, encoding="utf-8", xml_declaration=True)


def read_model(text: memoryview) -> list[Layer]:
    """Returns the layers of a model from OpenVINO's text, as in payloads of version 1. Raises BackendError as `read_lines` does."""
    data = bytes(text)
    if b"<!" in data:
        raise refused("its text declares or comments something, which no model needs")
    try:
        net = ElementTree.fromstring(data, ElementTree.XMLParser(encoding="utf-8"))
    except ElementTree.ParseError as error:
        raise refused(f"its text is not XML: {error}") from error
    _fields(net, "net", "name", "version")
    if net.get("version") != VERSION or [child.tag for child in net] != ["layers", "edges"]:
        raise refused(f"its text is not a model of version {VERSION} of layers and edges")
    sources = _read_edges(net[1], len(net[0]))
    layers: list[Layer] = []
    for number, element in enumerate(net[0]):
        layers.append(_read_layer(element, number, sources.get(number, {}), layers))
    return layers


def _fields(element: ElementTree.Element, tag: str, *names: str) -> list[str]:
    """Returns the values of an element's attributes. Raises BackendError unless its tag is `tag` and its attributes are `names`."""
    if element.tag != tag or sorted(element.keys()) != sorted(names) or (element.text or "").strip() or (element.tail or "").strip():
        raise refused(
            f"expected <{tag}> with {', '.join(names) or 'nothing'}, got <{element.tag}> with {', '.join(element.keys()) or 'nothing'}"
        )
    return [element.get(name, "") for name in names]


def _number(text: str | None) -> int:
    text = (text or "").strip()
    if not text.removeprefix("-").isascii() or not text.removeprefix("-").isdecimal() or len(text) > 20:
        raise refused(f"{text[:40]!r} is not a number")
    return int(text)


def _read_edges(element: ElementTree.Element, count: int) -> dict[int, dict[int, tuple[int, int]]]:
    """Returns for each layer number and each input port of that layer the source layer and the source port. Raises BackendError."""
    _fields(element, "edges")
    found: dict[int, dict[int, tuple[int, int]]] = {}
    for edge in element:
        source, port, target, place = map(_number, _fields(edge, "edge", "from-layer", "from-port", "to-layer", "to-port"))
        if not 0 <= source < target < count:
            raise refused(f"an edge leads from layer {source} to layer {target} of {count}; layers follow those that they read")
        if found.setdefault(target, {}).setdefault(place, (source, port)) != (source, port):
            raise refused(f"port {place} of layer {target} gets two tensors")
    return found


def _read_layer(element: ElementTree.Element, number: int, sources: Mapping[int, tuple[int, int]], before: Sequence[Layer]) -> Layer:
    text, name, kind, version = _fields(element, "layer", "id", "name", "type", "version")
    if _number(text) != number:
        raise refused(f"layer {number} calls itself {text[:40]!r}")
    children = list(element)
    data: dict[str, str] = {}
    if children and children[0].tag == "data":
        data = dict(children.pop(0).items())
    ports: dict[str, list[Port]] = {"input": [], "output": []}
    for tag in ports:
        if children and children[0].tag == tag:
            first = len(ports["input"]) if tag == "output" else 0
            ports[tag] = [_read_port(port, place) for place, port in enumerate(children.pop(0), first)]
    if children or sorted(sources) != [*range(len(ports["input"]))]:
        raise refused(f"layer {number}, {kind[:40]}, has other parts than data, input ports with an edge each, and output ports")
    inputs: list[tuple[int, int]] = []
    for place, said in enumerate(ports["input"]):
        source, port = sources[place]
        inputs.append(_checked(source, port - len(before[source].inputs), before))
        if before[source].outputs[inputs[-1][1]] != said:
            raise refused(f"layer {number}, {kind[:40]}, takes another tensor than port {port} of layer {source} gives")
    return Layer(name, kind, version.removeprefix("opset"), data, inputs, ports["output"])


def _read_port(element: ElementTree.Element, number: int) -> Port:
    text, precision = _fields(element, "port", "id", "precision")
    if _number(text) != number:
        raise refused(f"port {number} calls itself {text[:40]!r}")
    for dim in element:
        if dim.tag != "dim" or dim.keys() or len(dim):
            raise refused(f"expected <dim> in a port, got <{dim.tag}>")
    return Port(precision, tuple(_number(dim.text) for dim in element))
