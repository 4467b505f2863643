"""`flambeau.quantize`: turns a program and samples into a program with 8-bit integers."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, cast

import torch
from torch import fx
from torch.export import Dim, ExportedProgram
from torch.utils import _pytree as pytree
from torchao.quantization.pt2e import ObserverBase
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from flambeau.frontends.quantization_choices import FLOAT, RecipeError, Scheme, quantizing_backend, quantizing_target
from flambeau.frontends.torch_export import capture
from flambeau.frontends.torch_export.functionalization import mutated_arguments
from flambeau.frontends.torch_quantization.backend_forms import BackendForms
from flambeau.frontends.torch_quantization.calibration import Calibration
from flambeau.frontends.torch_quantization.operator_forms import overload_of
from flambeau.frontends.torch_quantization.quantization_report import QuantizationReport, compare
from flambeau.frontends.torch_quantization.recipe import Recipe
from flambeau.frontends.torch_quantization.recipe_quantizer import Choice, RecipeQuantizer, check_trains_not
from flambeau.frontends.torch_quantization.samples import Samples, SamplesError, arguments_of
from flambeau.frontends.torch_quantization.whole_layers import fold_weights, steps_between_integers, steps_of_recurrent_layers
from flambeau.passes.analysis.number_format import NumberFormat
from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.passes.delegation.partitioner import Partitioner


@dataclass(frozen=True)
class QuantizedProgram:
    """A quantized program, with the float program and the samples that it was made from."""

    program: ExportedProgram
    """The program, for `torch.export.save`, `flambeau.to_edge` and `flambeau compile`."""
    choices: Mapping[str, Choice]
    """The decision about each operator, by the name of its node."""
    _floats: fx.GraphModule
    _integers: fx.GraphModule
    _samples: Sequence[Sequence[Any]]

    def report(self, samples: Samples | None = None) -> QuantizationReport:
        """Runs samples through both programs, and compares the results of each operator.

        The default is the samples that determined the ranges; other samples are a better test. Raises SamplesError.
        """
        leaves = self._samples if samples is None else arguments_of(self.program, samples)
        return compare(self._floats, self._integers, leaves, self.choices)


def quantize(
    model: ExportedProgram | tuple[Any, ...],
    samples: Samples | None = None,
    recipe: Recipe | Scheme = "int8",
    backend: str | Partitioner | None = None,
) -> QuantizedProgram:
    """Quantizes a program.

    Args:
        model: a result of `torch.export.export`, or a module and its example inputs, as `(module, inputs)` or `(module, inputs, kwargs)`.
        samples: an array for each input by its name, or as `arg0`, whose first dimension counts samples; or a tuple of arguments for each
            sample. A recipe with ranges from samples needs some; for another one, an empty list is as None.
        recipe: `int8`, `int8-dynamic`, `w8`, or a `Recipe` with overrides for parts of the model.
        backend: a backend, or its name, perhaps with options, whose table decides about the numbers, and about the operators between
            integers; or the name of a target that has numbers of its own. Without one, these are those of Flambeau's kernels.

    Raises:
        CaptureError: `torch.export` cannot capture the module.
        RecipeError: there is no such recipe, no such backend, or no quantized numbers in its table; an override fits no operator, nothing
            of the program can be quantized by it, or it trains.
        UnsupportedProgramError: the program that is quantized for a backend cannot be imported.
        SamplesError: the samples are missing, or do not fit the program.
    """
    if isinstance(samples, str | Recipe):
        raise SamplesError(f"the second argument holds the samples; name the recipe: recipe={samples!r}")
    if isinstance(model, torch.nn.Module):
        raise SamplesError(f"a module needs example inputs to be exported with: give ({type(model).__name__}(…), (inputs, …))")
    recipe = recipe if isinstance(recipe, Recipe) else Recipe(recipe)
    target = quantizing_target(backend)
    chosen = None if backend is None or target is not None else quantizing_backend(backend)
    program = model if isinstance(model, ExportedProgram) else capture(*model)
    check_trains_not(program.graph)
    program = _functional(program, None if chosen is None else chosen.table)
    needs_samples = "int8" in (recipe.scheme, *recipe.overrides.values())
    if not needs_samples and isinstance(samples, Mapping | Sequence) and not samples:
        samples = None
    if samples is None and needs_samples:
        raise SamplesError("the recipe int8 needs samples, from which ranges follow (--data FILE.npz); int8-dynamic and w8 do not")
    leaves = arguments_of(program, samples)
    forms = None if chosen is None else BackendForms.of(program, chosen)
    with torch.no_grad(), warnings.catch_warnings(action="ignore"):
        prepared, choices = _calibrated(program, leaves, recipe, forms, None if target is None else target.numbers)
        # The copy shares the parameters. The original is converted, because annotations refer to its nodes.
        floats = copy.deepcopy(prepared, {id(item): item for item in prepared.parameters()})
        integers = convert_pt2e(prepared)
    _remove_unused(integers)
    _reset(integers, program)
    # A sample whose batch has one entry would make its dynamic size a constant.
    args, kwargs = program.example_inputs or pytree.tree_unflatten(list(leaves[0]), cast(Any, program.call_spec.in_spec))
    exported = capture(integers, args, kwargs, _dynamic_shapes(program))
    _remove_observers(floats)
    for module in (floats, integers):
        _reset(module, program)
    return QuantizedProgram(exported, choices, floats, integers, leaves)


def _calibrated(
    program: ExportedProgram, leaves: Sequence[Sequence[Any]], recipe: Recipe, forms: BackendForms | None, numbers: NumberFormat | None
) -> tuple[fx.GraphModule, Mapping[str, Choice]]:
    """Returns the graph with observers that have seen the samples, and the choice for each operator. Raises RecipeError."""
    lost: dict[str, str] = {}
    while True:
        quantizer = RecipeQuantizer(recipe, forms, lost, numbers)
        graph = program.module(check_guards=False)
        _reset(graph, program)
        fold_weights(graph, program.graph_signature.buffers_to_mutate.values())
        prepared = prepare_pt2e(graph, quantizer)
        if all(choice.scheme == FLOAT for choice in quantizer.choices.values()):
            raise RecipeError(f"nothing of the program can be quantized by the recipe {recipe.scheme}: {_reasons(quantizer.choices)}")
        calibration = Calibration(prepared)
        for sample in leaves:
            calibration.run(*sample, enable_io_processing=False)
        found = {name: reason for name, reason in calibration.lost().items() if quantizer.may_lose(name)}
        if not found:
            return prepared, quantizer.choices
        # Other scales follow where fewer operators are of integers.
        lost |= found


def save(program: ExportedProgram, file: IO[bytes]) -> None:
    """Writes a program as a `.pt2` file."""
    with warnings.catch_warnings(action="ignore"):
        torch.export.save(program, cast(Any, file))


def _reset(graph: fx.GraphModule, program: ExportedProgram) -> None:
    """Resets buffers that the program writes to their first values, in memory of their own."""
    for name in program.graph_signature.buffers_to_mutate.values():
        owner, _, last = name.rpartition(".")
        setattr(graph.get_submodule(owner), last, program.state_dict[name].clone())


def _remove_observers(graph: fx.GraphModule) -> None:
    """Removes the observers from a graph, which stays in floats and keeps torchao's folding of batch norms."""
    for node in [*graph.graph.nodes]:
        if node.op == "call_module" and isinstance(graph.get_submodule(str(node.target)), ObserverBase):
            node.replace_all_uses_with(node.args[0])
            graph.graph.erase_node(node)
    graph.recompile()


def _functional(program: ExportedProgram, table: OperatorTable | None) -> ExportedProgram:
    """Returns the program with functional operators for in-place ones, and steps for recurrent layers and what a backend has in parts.

    torchao copies tensors, and a write would change only one copy (findings/pt2e_write_to_a_view.sh).
    """
    overloads = map(overload_of, program.graph.nodes)
    steps = {**steps_of_recurrent_layers(program), **({} if table is None else steps_between_integers(program, table))}
    if steps or any(mutated_arguments(overload) for overload in overloads if overload is not None):
        with warnings.catch_warnings(action="ignore"):
            return cast(Any, program).run_decompositions(steps)
    return program


def _reasons(choices: Mapping[str, Choice]) -> str:
    return "; ".join(dict.fromkeys(choice.reason for choice in choices.values())) or "it computes nothing"


def _remove_unused(graph: fx.GraphModule) -> None:
    """Removes the float weights that integers have replaced."""
    used = {node.target for node in graph.graph.nodes if node.op == "get_attr"}
    for name in [name for name, _ in (*graph.named_parameters(), *graph.named_buffers()) if name not in used]:
        owner, _, last = name.rpartition(".")
        delattr(graph.get_submodule(owner), last)


def _dynamic_shapes(program: ExportedProgram) -> Any:
    """Returns the `dynamic_shapes` with which `torch.export` exports a program again with its dynamic sizes; None if it has none."""
    known: dict[str, Any] = {}

    def sizes(value: Any) -> dict[int, Any] | None:
        if not isinstance(value, torch.Tensor):
            return None
        return {dim: _dim(size, program, known) for dim, size in enumerate(value.shape) if isinstance(size, torch.SymInt)}

    names = program.graph_signature.user_inputs
    values = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    found = [sizes(values.get(cast(str, name))) for name in names]
    if not any(found):
        return None
    args, kwargs = pytree.tree_unflatten(found, cast(Any, program.call_spec.in_spec))
    return (*args, *kwargs.values())


def _dim(size: torch.SymInt, program: ExportedProgram, known: dict[str, Any]) -> Any:
    symbol: Any = cast(Any, size).node.expr
    ranges: Mapping[Any, Any] = cast(Any, program).range_constraints
    bounds = ranges.get(symbol)
    if not symbol.is_Symbol or bounds is None:
        return Dim.AUTO
    name = str(symbol)
    if name not in known:
        limit = int(bounds.upper) if bounds.upper.is_Integer else None
        known[name] = Dim(name, min=int(bounds.lower), max=limit)
    return known[name]
