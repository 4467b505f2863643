"""The quantizer for torchao's PT2E that follows a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import fx
from torchao.quantization.pt2e.quantizer import (
    EdgeOrNode,
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpecBase,
    Quantizer,
    SharedQuantizationSpec,
)

from flambeau.frontends.quantization_choices import FLOAT, RecipeError, Scheme
from flambeau.frontends.torch_export.functionalization import mutated_arguments
from flambeau.frontends.torch_export.node_locations import module_path
from flambeau.frontends.torch_quantization.backend_forms import BackendForms
from flambeau.frontends.torch_quantization.number_specs import NumberSpecs
from flambeau.frontends.torch_quantization.operator_forms import (
    AVERAGES,
    CLAMPS,
    JOIN,
    LAYERS,
    PAIRS,
    is_function,
    keeps_numbers,
    layer_of,
    operator_name,
    output_axis,
    overload_of,
    weight_of,
    why_not_int8,
)
from flambeau.frontends.torch_quantization.recipe import Recipe
from flambeau.passes.analysis.number_format import NumberFormat

_KEY = "quantization_annotation"


@dataclass(frozen=True)
class Choice:
    """The decision about an operator, and the reason if it stays in floats."""

    scheme: Scheme
    reason: str = ""
    is_lost: bool = False
    """Whether the operator has a form of integers that would not tell its numbers apart."""


@dataclass
class RecipeQuantizer(Quantizer):
    """A quantizer that annotates the operators that a recipe selects and that a backend, or Flambeau, has integer forms of."""

    recipe: Recipe
    forms: BackendForms | None = None
    """The forms that the backend has; None for the kernels of Flambeau."""
    lost: Mapping[str, str] = field(default_factory=dict[str, str])
    """The nodes that stay in floats because integers would not tell their numbers apart, unless an override asks for them: the reasons."""
    numbers: NumberFormat | None = None
    """The numbers of a target; None for those of the backend, or of Flambeau."""
    choices: dict[str, Choice] = field(default_factory=dict[str, Choice])
    """The choice for each node, by its name."""

    def __post_init__(self) -> None:
        self._free: set[str] = set()
        self._specs = NumberSpecs.of(None if self.forms is None else self.forms.table, self.numbers)

    def annotate(self, model: fx.GraphModule) -> fx.GraphModule:
        """Annotates the nodes of a graph. Raises RecipeError."""
        nodes = [node for node in model.graph.nodes if _computes_tensor(node)]
        self.recipe.check(map(names_of, nodes))
        for node in nodes:
            if node.name not in self.choices:
                self.choices[node.name] = self._choose(node)
        return model

    def validate(self, model: fx.GraphModule) -> None:
        """Accepts every annotation of `annotate`."""

    def may_lose(self, name: str) -> bool:
        """Returns whether a node may stay in floats because integers would not tell its numbers apart: nobody asked for its integers."""
        return name in self._free and self.choices[name].scheme == "int8"

    def _choose(self, node: fx.Node) -> Choice:
        name = operator_name(node) or ""
        scheme, text = self.recipe.scheme_of(names_of(node))
        if scheme == FLOAT:
            return Choice(FLOAT, f"{text!r} keeps it")
        self._free |= {node.name} if text is None else set()
        if scheme == "int8" and text is None and node.name in self.lost:
            return Choice(FLOAT, self.lost[node.name], is_lost=True)
        if node.meta["val"].dtype != torch.float32:
            return Choice(FLOAT, f"it computes {str(node.meta['val'].dtype).removeprefix('torch.')}, not float32")
        if scheme == "int8" and any(mutated_arguments(overload) for user in node.users if (overload := overload_of(user)) is not None):
            return Choice(FLOAT, "its result is written to the model's state")
        if scheme == "int8" and self.forms is not None and (reason := self.forms.why_not(node)) is not None:
            return Choice(FLOAT, reason)
        other = next((item for item in node.all_input_nodes if scheme == "int8" and _dtype(item) not in (None, torch.float32)), None)
        if other is not None:
            return Choice(FLOAT, f"its operand {other.name} is of {str(_dtype(other)).removeprefix('torch.')}, not float32")
        has_own = self.forms is not None and self.forms.has_own(node)
        if (layer := layer_of(node)) is not None and (scheme in LAYERS[layer] or (scheme == "int8" and has_own and layer != "embedding")):
            return self._layer(node, layer, scheme)
        if scheme == "int8":
            if name in AVERAGES or (name in PAIRS and len(node.all_input_nodes) == 2):
                return self._integers(node, {item: self._operand(item) for item in node.all_input_nodes})
            if name == JOIN:
                return self._join(node)
            if keeps_numbers(node):
                return self._keep(node)
            if is_function(node):
                return self._function(node)
            if has_own:
                return self._call(node)
        return Choice(FLOAT, f"{name or node.target} has no form of {scheme}")

    def _layer(self, node: fx.Node, layer: str, scheme: Scheme) -> Choice:
        weight, x = weight_of(node), node.args[0]
        assert isinstance(x, fx.Node)
        if weight.op != "get_attr":
            return Choice(FLOAT, "its weight is not a constant")
        numbers = self._specs.weight_along(output_axis(layer))
        match scheme:
            case "int8":
                choice = self._integers(node, {x: self._operand(x), weight: numbers})
                if choice.scheme == FLOAT:
                    return choice
            case "int8-dynamic":
                node.meta[_KEY] = QuantizationAnnotation({x: self._specs.activation_of_a_run, weight: numbers}, _annotated=True)
            case _:
                node.meta[_KEY] = QuantizationAnnotation({weight: numbers}, _annotated=True)
        for user in weight.users:
            # An embedding takes its rows from the integers of a layer with its weight, so that the table is not there in floats too.
            if layer_of(user) == "embedding" and self.recipe.scheme_of(names_of(user))[0] != FLOAT:
                user.meta[_KEY] = QuantizationAnnotation({weight: numbers}, _annotated=True)
                self.choices[user.name] = Choice("w8")
        return Choice(scheme)

    def _integers(self, node: fx.Node, operands: dict[fx.Node, QuantizationSpecBase]) -> Choice:
        """Annotates a layer, a sum, a product or an average, together with a clamp that is its only user."""
        if self.forms is None and (reason := why_not_int8(node)) is not None:
            return Choice(FLOAT, reason)
        last = node
        if len(node.users) == 1 and operator_name(user := next(iter(node.users))) in CLAMPS and len(user.all_input_nodes) == 1:
            if self.recipe.scheme_of(names_of(user))[0] == "int8" and (self.forms is None or self.forms.why_not(user) is None):
                last = user
        node.meta[_KEY] = QuantizationAnnotation({**operands}, None if last is not node else self._result(node), _annotated=True)
        if last is not node:
            last.meta[_KEY] = QuantizationAnnotation(output_qspec=self._result(node), _annotated=True)
            self.choices[last.name] = Choice("int8")
        return Choice("int8")

    def _operand(self, x: fx.Node) -> QuantizationSpecBase:
        """Returns the specification of an operand: fixed numbers stay as they are."""
        found = _specification(x)
        while isinstance(found, SharedQuantizationSpec):
            found = _specification(found.edge_or_node)
        return found if isinstance(found, FixedQParamsQuantizationSpec) else self._specs.activation

    def _result(self, node: fx.Node) -> QuantizationSpecBase:
        """Returns the specification of a node's result."""
        if self.forms is not None and (fixed := self.forms.fixed(node)) is not None:
            return self._specs.fixed(*fixed)
        is_shared = self.forms is not None and self.forms.keeps_scale(node)
        return SharedQuantizationSpec((node.all_input_nodes[0], node)) if is_shared else self._specs.activation

    def _join(self, node: fx.Node) -> Choice:
        """Annotates an operator that joins integers, so that all of them have the same parameters."""
        first, *others = node.all_input_nodes
        operands = {first: self._specs.activation, **{item: SharedQuantizationSpec((first, node)) for item in others}}
        node.meta[_KEY] = QuantizationAnnotation({**operands}, SharedQuantizationSpec((first, node)), _annotated=True)
        return Choice("int8")

    def _function(self, node: fx.Node) -> Choice:
        """Annotates a function of integers."""
        (x,) = node.all_input_nodes
        if not _is_quantized(x):
            return Choice(FLOAT, "its operand is in floats")
        node.meta[_KEY] = QuantizationAnnotation({x: self._operand(x)}, self._result(node), _annotated=True)
        return Choice("int8")

    def _call(self, node: fx.Node) -> Choice:
        """Annotates an operator that the backend has between integers, whose constants stay in floats."""
        operands = [item for item in node.all_input_nodes if item.op != "get_attr"]
        if not any(_is_quantized(item) or item.op == "placeholder" for item in operands):
            return Choice(FLOAT, "its operands are in floats")
        return self._integers(node, {item: self._operand(item) for item in operands})

    def _keep(self, node: fx.Node) -> Choice:
        """Annotates an operator that only moves or clamps numbers, if its operand is quantized."""
        (x,) = node.all_input_nodes
        if not _is_quantized(x):
            return Choice(FLOAT, "its operand is in floats")
        node.meta[_KEY] = QuantizationAnnotation({x: SharedQuantizationSpec(x)}, SharedQuantizationSpec((x, node)), _annotated=True)
        return Choice("int8")


def _specification(place: EdgeOrNode) -> QuantizationSpecBase | None:
    """Returns how the result of a node is annotated, or an operand, given with the node that reads it."""
    x, reader = place if isinstance(place, tuple) else (place, None)
    annotation = (reader or x).meta.get(_KEY)
    return None if annotation is None else annotation.output_qspec if reader is None else annotation.input_qspec_map.get(x)


def _is_quantized(node: fx.Node) -> bool:
    annotation = node.meta.get(_KEY)
    return annotation is not None and annotation.output_qspec is not None


def _dtype(node: fx.Node) -> torch.dtype | None:
    value = node.meta.get("val")
    return value.dtype if isinstance(value, torch.Tensor) else None


def _computes_tensor(node: fx.Node) -> bool:
    value = node.meta.get("val")
    return overload_of(node) is not None and isinstance(value, torch.Tensor) and value.dtype.is_floating_point


def check_trains_not(graph: fx.Graph) -> None:
    """Raises RecipeError for a program that was exported in training mode, whose results depend on randomness and on each batch."""
    for node in graph.nodes:
        name = operator_name(node)
        if (name == "dropout" and node.args[2]) or (name == "batch_norm" and node.args[5]):
            raise RecipeError(f"the program trains, with {name} of {module_path(node) or 'the model'}: call the module's eval() before")


def names_of(node: fx.Node) -> set[str]:
    """Returns the names of an operator: its own, and the paths of its module and of the enclosing ones."""
    parts = module_path(node).split(".")
    found = {".".join(parts[:count]) for count in range(1, len(parts) + 1)} - {""}
    if (overload := overload_of(node)) is not None:
        full = str(overload).removesuffix(".default")
        found |= {str(overload), full, full.partition(".")[2], full.split(".")[1]}
    return found
