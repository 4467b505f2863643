"""Reads and writes OpenVINO's intermediate representation, version 11: layers, and edges between their ports, as XML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.etree import ElementTree

from flambeau.backends.openvino.payload import refused

VERSION = "11"
OPEN = -1
"""The size, in a port, of a dimension whose size is unknown before the run."""


@dataclass(frozen=True)
class Port:
    """A tensor that a layer reads or computes: its precision, such as `FP32`, and its sizes."""

    precision: str
    sizes: tuple[int, ...]


@dataclass
class Layer:
    """A layer. The numbers of its ports count the inputs first, then the outputs."""

    name: str
    type: str
    version: str
    data: Mapping[str, str] = field(default_factory=dict[str, str])
    inputs: Sequence[tuple[int, int]] = ()
    """The layer and the port that compute each input."""
    outputs: Sequence[Port] = ()


def write_model(layers: Sequence[Layer]) -> bytes:
    """Returns the text of a model. Each layer must follow the layers whose results it reads."""
    net = ElementTree.Element("net", name="flambeau", version=VERSION)
    body, edges = ElementTree.SubElement(net, "layers"), ElementTree.SubElement(net, "edges")
    for number, layer in enumerate(layers):
        element = ElementTree.SubElement(body, "layer", id=str(number), name=layer.name, type=layer.type, version=layer.version)
        if layer.data:
            ElementTree.SubElement(element, "data", dict(layer.data))
        given = [layers[source].outputs[port - len(layers[source].inputs)] for source, port in layer.inputs]
        for place, (source, port) in enumerate(layer.inputs):
            ends = {"from-layer": source, "from-port": port, "to-layer": number, "to-port": place}
            ElementTree.SubElement(edges, "edge", {name: str(end) for name, end in ends.items()})
        for name, ports, first in (("input", given, 0), ("output", layer.outputs, len(given))):
            if ports:
                _write_ports(ElementTree.SubElement(element, name), ports, first)
    return ElementTree.tostring(net, encoding="utf-8", xml_declaration=True)


def _write_ports(parent: ElementTree.Element, ports: Sequence[Port], first: int) -> None:
    for number, port in enumerate(ports, first):
        element = ElementTree.SubElement(parent, "port", id=str(number), precision=port.precision)
        for size in port.sizes:
            ElementTree.SubElement(element, "dim").text = str(size)


def read_model(text: memoryview) -> list[Layer]:
    """Returns the layers of a model. Raises BackendError if the text is not a model, or if a layer reads a later layer."""
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
    inputs = [sources[place] for place in range(len(sources))]
    for (source, port), said in zip(inputs, ports["input"], strict=True):
        outputs, place = before[source].outputs, port - len(before[source].inputs)
        if not 0 <= place < len(outputs) or outputs[place] != said:
            raise refused(f"layer {number}, {kind[:40]}, takes another tensor than port {port} of layer {source} gives")
    return Layer(name, kind, version, data, inputs, ports["output"])


def _read_port(element: ElementTree.Element, number: int) -> Port:
    text, precision = _fields(element, "port", "id", "precision")
    if _number(text) != number:
        raise refused(f"port {number} calls itself {text[:40]!r}")
    for dim in element:
        if dim.tag != "dim" or dim.keys() or len(dim):
            raise refused(f"expected <dim> in a port, got <{dim.tag}>")
    return Port(precision, tuple(_number(dim.text) for dim in element))
