"""`flambeau test-backend` on quantized graphs: what is drawn, how far results may be apart, and what fails."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import ir_backend
import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, f32, i8, i16, i64
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import ElementType, dtype_of, element_of, ui8
from flambeau.dialects.quantized_decomposed.quantize import RANGES, DequantizePerChannelOp, DequantizePerTensorOp, QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.number_format import NumberFormat
from flambeau.passes.analysis.operator_table import Check, Limit, OperatorTable, Rule
from flambeau.passes.analysis.quantized_types import DEQUANTIZE
from flambeau.passes.delegation.interface import BackendOptions, register_backend
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.tables import declared_by
from flambeau.tools.conformance.drawing.graph import STAYS, Graph
from flambeau.tools.conformance.drawing.operator_choices import operators_of
from flambeau.tools.conformance.drawing.quantized_drawing import MOST_STEPS, storages_of
from flambeau.tools.conformance.drawing.seeded_graphs import draw_graph, seeds_from
from flambeau.tools.main import main
from flambeau.tools.semantics.result_comparison import SemanticsOptions, Steps, difference_of

Plant: TypeAlias = Callable[..., None]
OPERATORS = ("add.Tensor", "mul.Tensor", "relu", "hardtanh", "tanh", "neg", "cat", "view_copy", "avg_pool2d", "cos")
LAYERS = {"convolution": Rule(constants=("weight", "bias"), dequantized=("weight",)), "linear": Rule()}
PREFIX = "quantized_decomposed"


def table_of(*storages: ElementType) -> OperatorTable:
    """A table of operators of floats, and of quantizations to some types."""
    quantize, dequantize = Rule((Limit("result", dtypes=storages),)), Rule((Limit("input", dtypes=storages),))
    channels = Rule(
        (Limit("input", dtypes=storages), Limit("scales", dtypes=(f32,)), Limit("zero_points", dtypes=(i64,))),
        ("input", "scales", "zero_points"),
    )
    conversions = {"quantize_per_tensor": quantize, "dequantize_per_tensor": dequantize, "dequantize_per_channel": channels}
    known = {**dict.fromkeys(OPERATORS, Rule()), **LAYERS, **{f"{PREFIX}.{name}": rule for name, rule in conversions.items()}}
    return OperatorTable(known, Limit(dtypes=(f32,)), absorbs=lambda op, value: True)


TABLE = table_of(i8, ui8)


def drawn(table: OperatorTable, count: int, quantized: bool = True) -> Iterator[Graph]:
    operators, _ = operators_of(table)
    for seed in seeds_from(0, count, table, quantized):
        graph = draw_graph(table, operators, seed)
        assert graph is not None
        yield graph


def edge_operators(graph: Graph) -> list[SchemaOp]:
    return [op for op in graph.module.walk() if isinstance(op, SchemaOp) and op.level() == "edge"]


def integers_of(op: Operation) -> set[SSAValue]:
    """The integers whose floats an operation reads."""
    return {value.owner.operands[0] for value in op.operands if isinstance(value.owner, DequantizePerTensorOp)}


def before(op: Operation) -> set[Operation]:
    """The operations that an operation depends on."""
    found, waiting = set[Operation](), [op]
    while waiting:
        new = {value.owner for value in waiting.pop().operands if isinstance(value.owner, Operation)} - found
        found |= new
        waiting += new
    return found


def shapes_of(graph: Graph) -> Counter[str]:
    """Which of the shapes that must occur a graph has."""
    stays = [op for op in edge_operators(graph) if STAYS in op.attributes or TABLE.why_not(op) is not None]
    taken = [op for op in edge_operators(graph) if op not in stays]
    shared = [(a, b) for a in stays for b in taken if integers_of(a) & integers_of(b)]
    (returned,) = (op for op in graph.module.walk() if isinstance(op, ReturnOp))
    floats = [op for op in taken if any(isinstance(value.owner, SchemaOp) and value.owner in taken for value in op.operands)]
    shapes = {
        "read by both": shared,
        "residual": [op for op, other in shared if len(other.operands) > 1 and op in before(other)],
        "several results": returned.operands[1:],
        "mixed": floats and any(map(integers_of, taken)),
        "integers returned": [value for value in returned.operands if isinstance(value.owner, QuantizePerTensorOp)],
        "floats returned": [value for value in returned.operands if isinstance(value.owner, DequantizePerTensorOp)],
        "weights per tensor": [op for op in taken if "weight" in _constant_weights(op, DequantizePerTensorOp)],
        "weights per channel": [op for op in taken if "weight" in _constant_weights(op, DequantizePerChannelOp)],
    }
    return Counter(name for name, found in shapes.items() if found)


def _constant_weights(op: SchemaOp, kind: type[Operation]) -> list[str]:
    names = [argument.name for argument in op.schema.arguments if argument.name == "weight"]
    return [name for name in names if isinstance(op.argument(name).owner, kind)]


def test_every_shape_of_graph_is_drawn():
    found = sum((shapes_of(graph) for graph in drawn(TABLE, 60)), Counter[str]())
    names = ("read by both", "residual", "several results", "mixed", "integers returned", "floats returned")
    for name in (*names, "weights per tensor", "weights per channel"):
        assert found[name] >= 3, found


def test_a_seed_gives_one_graph_and_every_second_is_quantized():
    first, again = (str(next(drawn(TABLE, 1)).module) for _ in range(2))
    assert first == again
    kinds = [graph.kind.startswith("quantized") for graph in drawn(TABLE, 6, quantized=False)]
    assert kinds == [False, True] * 3
    assert list(seeds_from(4, 3, TABLE, True)) == [5, 7, 9] and list(seeds_from(4, 3, TABLE, False)) == [4, 5, 6]


@pytest.mark.parametrize("storage", [i8, ui8], ids=str)
def test_activations_are_of_the_types_that_the_table_takes(storage: ElementType):
    table = table_of(storage)
    assert storages_of(table) == [storage]
    for graph in drawn(table, 12):
        for op in graph.module.walk():
            if isinstance(op, QuantizePerTensorOp):
                assert element_of(op.result) == storage


@pytest.mark.parametrize("storage", RANGES, ids=str)
def test_every_type_of_activations_between_integers_is_drawn_or_of_32_bits(storage: ElementType):
    table = OperatorTable({}, Limit(dtypes=(f32,)), integers={"relu": Rule()}, activations=(storage,))
    assert storages_of(table) == ([] if dtype_of(storage).size == 4 else [storage])
    for graph in drawn(table, 6) if storages_of(table) else ():
        assert {element_of(op.result) for op in graph.module.walk() if isinstance(op, QuantizePerTensorOp)} <= {storage}


def test_integers_are_drawn_as_the_quantizer_of_the_table_writes_them():
    rules = {"linear": LAYERS["convolution"], "tanh": Rule(), "add.Tensor": Rule()}
    table = OperatorTable({}, Limit(dtypes=(f32,)), integers=rules, activations=(i16,), numbers=NumberFormat(symmetric=True))
    assert storages_of(table) == [i16]
    kinds = Counter[str]()
    for op in (op for graph in drawn(table, 30) for op in graph.module.walk()):
        if isinstance(op, QuantizePerTensorOp):
            assert (element_of(op.result), op.argument("zero_point")) == (i16, 0)
        elif isinstance(op, (DequantizePerChannelOp, DequantizePerTensorOp)):
            kinds[str(element_of(op.operands[0]))] += 1
    assert kinds.keys() == {"i8", "i16"} and min(kinds.values()) > 5


def test_scales_have_the_range_of_the_values():
    """Most quantizations use most of their integers, and cut off nothing."""
    used: list[float] = []
    for graph in drawn(TABLE, 20):
        for results, steps in zip(graph.expected, graph.steps, strict=True):
            for array, step in zip(results, steps, strict=True):
                assert step is None or 0 <= step.most <= MOST_STEPS + 2
                if array.dtype.name in ("int8", "uint8") and array.size > 8:
                    used.append(float(np.ptp(array.astype(int))))
    assert np.median(used) > 100


@pytest.fixture
def plant() -> Generator[Plant]:
    """Registers a backend that takes the operators of the table, and computes them as `numpy` does, but for some fields."""
    with declared_by("a test") as registered:

        def register(**fields: Any) -> None:
            given = {"table": TABLE, **fields}
            register_backend(replace(ir_backend.BACKEND, name="planted", identifier="PlantedBackend", **given))

        yield register
    for registration in reversed(registered):
        registration.undo()


def judged(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main(["test-backend", "planted", *arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


def moved_by(steps: int) -> Callable[[PartitionOp, ModuleConstants, BackendOptions], None]:
    """A conversion after which the integers of the last quantization are some steps larger."""

    def convert(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> None:
        for op in partition.body.walk():
            if isinstance(op, QuantizePerTensorOp) and not any(isinstance(use.operation, DEQUANTIZE) for use in op.result.uses):
                op.properties["zero_point"] = IntegerAttr(op.argument("zero_point") + steps, i64)

    return convert


@pytest.mark.parametrize("steps", [1, 2])
def test_one_step_is_within_rounding_and_two_are_not(plant: Plant, capsys: pytest.CaptureFixture[str], steps: int):
    plant(convert=moved_by(steps))
    status, report = judged(capsys, "--quantized", "--graphs", "40", "--size", "1")
    details = [failure["details"] for failure in report["failures"]]
    assert report["graphs"] == 40 and status == (steps == 2) and (len(details) > 4) == (steps == 2)
    assert all("max |Δ| is 2 steps of scale 0." in line for line in details if "1 within rounding" in line)


def test_a_relu_that_is_left_out_is_found(plant: Plant, capsys: pytest.CaptureFixture[str]):
    def convert(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> None:
        for op in list(partition.body.walk()):
            if op.name == "edge.relu" and isinstance(next(iter(op.results[0].uses)).operation, QuantizePerTensorOp):
                op.results[0].replace_all_uses_with(op.operands[0])

    plant(convert=convert)
    status, report = judged(capsys, "--quantized", "--graphs", "40")
    assert status == 1 and report["failures"]
    assert all("relu" in failure["operators"] for failure in report["failures"])


def never(op: SchemaOp) -> str | None:
    return "it is never taken here"


@pytest.mark.parametrize(("check", "graphs", "is_found"), [(never, 20, True), (never, 8, False), (None, 20, False)])
def test_an_operator_that_is_never_tried_fails(
    plant: Plant, capsys: pytest.CaptureFixture[str], check: Check | None, graphs: int, is_found: bool
):
    """The run must have graphs enough for each operator to be the first one."""
    rules = {"tanh": Rule(), "neg": Rule(checks=() if check is None else (check,)), "add.Tensor": Rule(), "relu": Rule()}
    conversions = {name: rule for name, rule in TABLE.rules.items() if name.startswith(PREFIX) and "channel" not in name}
    plant(table=OperatorTable({**rules, **conversions}, TABLE.tensors))
    status, report = judged(capsys, "--graphs", str(graphs))
    found = [failure for failure in report["failures"] if failure["check"] == "every operator is tried"]
    assert bool(found) == is_found == (status == 1)
    for failure in found:
        assert failure["operators"] == ["neg"] and failure["details"] == "never tried: neg: it is never taken here"


def test_without_quantized_numbers_one_line_says_so(plant: Plant, capsys: pytest.CaptureFixture[str]):
    plant(table=OperatorTable({"tanh": Rule(), "neg": Rule()}, TABLE.tensors))
    assert main(["test-backend", "planted", "--graphs", "4"]) == 0
    notes = [line for line in capsys.readouterr().out.splitlines() if "quantized" in line]
    assert notes == ["note: quantized graphs: skipped, because the table does not quantize and dequantize int8 or uint8 per tensor"]


def test_what_cannot_run_is_not_checked(plant: Plant, capsys: pytest.CaptureFixture[str]):
    plant(decode=None)
    assert main(["test-backend", "planted", "--graphs", "4"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "numpy on the decoded form: not checked: the backend has neither decode nor simulate" in shown
    assert any(line.startswith("C runtime: not checked: ") and "needs backend 'PlantedBackend'" in line for line in shown)


@pytest.mark.parametrize(
    ("found", "steps", "details"),
    [
        (np.array([3, 5], np.int8), Steps(1, 0.02), None),
        (np.array([3, 6], np.int8), Steps(1, 0.02), "max |Δ| is 2 steps of scale 0.02, 1 within rounding"),
        (np.array([3, 5], np.int8), Steps(0, 0.02), "max |Δ| is 1 step of scale 0.02, 0 within rounding"),
        (np.array([3, 5], np.int8), None, "1 of 2 elements"),
        (np.array([3, 5], np.uint8), Steps(1, 0.02), "uint8 [2] instead of int8 [2]"),
    ],
)
def test_integers_are_compared_in_steps(found: np.ndarray[Any, Any], steps: Steps | None, details: str | None):
    assert difference_of(np.array([3, 4], np.int8), found, SemanticsOptions(), steps=steps) == details


def test_floats_are_compared_in_steps():
    expected = np.array([0.0, 1.0], np.float32)

    def difference(delta: float, most: float) -> str | None:
        return difference_of(expected, expected + np.float32(delta), SemanticsOptions(), steps=Steps(most, 0.02))

    assert [difference(0.02, 1), difference(0.00005, 0)] == [None, None]
    assert difference(0.041, 1) == "max |Δ| is 2.05 steps of scale 0.02, 1 within rounding"
    assert difference(np.nan, 1) == "2 of 2 elements are infinite or not numbers on one side only"


def test_withheld_operators_are_marked():
    graphs = [graph for graph in drawn(TABLE, 20) if any(op.attributes.get(STAYS) == UnitAttr() for op in edge_operators(graph))]
    assert len(graphs) > 4
