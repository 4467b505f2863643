"""`flambeau test-backend`: what is right passes, and each planted mistake is found, and told with its seed."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import ir_backend
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Operation

from flambeau.backends.elementwise import BACKEND
from flambeau.backends.elementwise.payload import COMPUTATIONS, read_payload
from flambeau.backends.elementwise.program import decode, encode
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.extents import UndecidedError
from flambeau.dialects.ir.tensor_types import f32
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import Check, Limit, OperatorTable, Rule
from flambeau.passes.delegation.interface import BackendOptions, Encoded, RefusedError, one_by_one, register_backend
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.runtime.interpreter import interpret
from flambeau.support.tables import declared_by
from flambeau.tools.conformance.drawing.operator_choices import operators_of
from flambeau.tools.conformance.drawing.seeded_graphs import draw_graph
from flambeau.tools.conformance.readme_check import SECTIONS, readme_complaints
from flambeau.tools.main import main
from flambeau.tools.semantics.result_comparison import SemanticsOptions, difference_of

Plant: TypeAlias = Callable[..., None]
GOOD = Partitioner("elementwise").table


@pytest.fixture
def plant() -> Generator[Plant]:
    """Registers a backend like `elementwise`, but for some fields; it is gone after the test."""
    with declared_by("a test") as registered:

        def register(**fields: Any) -> None:
            register_backend(replace(BACKEND, name="planted", identifier="PlantedBackend", **fields))

        yield register
    for registration in reversed(registered):
        registration.undo()


def judged(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main(["test-backend", *arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_backend_that_is_right(capsys: pytest.CaptureFixture[str]):
    status, report = judged(capsys, "elementwise", "--graphs", "20")
    assert status == 0 and report["failures"] == [] and report["graphs"] == 20
    assert report["operators"].keys() == GOOD.rules.keys()
    assert sum(item["ok"] for item in report["operators"].values()) > 20
    assert report["checks"] == ["README", "refused operators", "operators in parts", "unknown option"] and report["absent"] == {}


def test_every_operator_of_the_edge_level_in_every_float_type(capsys: pytest.CaptureFixture[str]):
    status, report = judged(capsys, "ir", "--load-plugin", ir_backend.__file__, "--graphs", "60", "--seed", "100")
    assert status == 0 and report["passed"]["numpy on the decoded form"] == report["graphs"] > 50
    assert report["absent"] == {"C runtime": "method 'forward' needs backend 'IrBackend', which this runtime does not have"}
    assert sum(item["ok"] > 0 for item in report["operators"].values()) > 100


def wrong_sub(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
    """Adds where it should subtract."""
    payload = read_payload(encode(partition, constants, options).data)
    code, other = COMPUTATIONS["sub.Tensor"], COMPUTATIONS["add.Tensor"]
    steps = tuple(replace(step, code=other) if step.code == code else step for step in payload.instructions)
    return Encoded(replace(payload, instructions=steps).encode())


def test_a_wrong_payload_is_blamed_on_its_operator(plant: Plant, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    plant(encode=one_by_one(wrong_sub))
    status, report = judged(capsys, "planted", "--graphs", "20", "--keep", str(tmp_path))
    assert status == 1 and report["failures"]
    for failure in report["failures"]:
        assert failure["check"] == "numpy on the decoded form" and "max |Δ|" in failure["details"]
        assert set(failure["operators"]) <= {"sub.Tensor", "sub.Scalar"}
        assert "edge.sub" in (tmp_path / f"planted-{failure['seed']}.mlir").read_text()
    again = judged(capsys, "planted", "--graphs", "1", "--seed", str(report["failures"][0]["seed"]))
    assert again[1]["failures"] == report["failures"][:1]
    assert report["operators"]["tanh"]["failed"] == 0 < report["operators"]["sub.Tensor"]["failed"]


def test_what_the_table_takes_and_nothing_encodes(plant: Plant, capsys: pytest.CaptureFixture[str]):
    plant(table=OperatorTable({**GOOD.rules, "cos": Rule()}, GOOD.tensors, GOOD.absorbs, GOOD.most))
    assert main(["test-backend", "planted", "--graphs", "21"]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[1].split()[0] == "cos" and [line.split()[3] for line in shown[2:5]] == ["0"] * 3
    place = next(index for index, line in enumerate(shown) if "cos: encode: lower-partitions: " in line)
    assert shown[place + 1].strip().startswith("flambeau test-backend planted --seed ")


def test_names_that_nothing_has(capsys: pytest.CaptureFixture[str]):
    assert main(["test-backend", "elementwize"]) == 1
    assert "there is no backend 'elementwize'" in capsys.readouterr().err


ENGINES = {
    "crashes": ("import os\n\n\ndef load(program):\n    os.abort()\n", "its process ends with SIGABRT"),
    "refuses": ("def load(program):\n    raise ValueError('it has no memory')\n", "it runs nothing: it has no memory"),
    "differs": ("def load(program):\n    return lambda arrays: [arrays[0] * 0] * 9\n", "it runs nothing: 9 outputs instead of "),
}


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_that_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str):
    code, details = ENGINES[name]
    (tmp_path / "engine.py").write_text(code)
    status, report = judged(capsys, "elementwise", "--graphs", "1", "--engine", f"other={tmp_path}/engine.py:load")
    assert status == 1 and report["failures"] and not any(check.startswith("other") for check in report["passed"])
    assert all(failure["check"].startswith("other") and details in failure["details"] for failure in report["failures"])


def test_an_engine_that_is_absent(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    (tmp_path / "engine.py").write_text("def load(program):\n    raise NotImplementedError('it has no device')\n")
    status, report = judged(capsys, "elementwise", "--graphs", "2", "--engine", f"other={tmp_path}/engine.py:load")
    assert status == 0 and report["absent"] == {"other": "it has no device"}
    assert main(["test-backend", "elementwise", "--engine", "other"]) == 1
    assert "--engine is NAME=PLACE" in capsys.readouterr().err


def test_what_is_taken_in_parts_has_parts_that_are_taken(plant: Plant, capsys: pytest.CaptureFixture[str]):
    plant(table=OperatorTable(GOOD.rules, GOOD.tensors, GOOD.absorbs, GOOD.most, in_parts={"silu": Rule(), "glu": Rule(), "clap": Rule()}))
    status, report = judged(capsys, "planted", "--graphs", "1")
    (failure,) = report["failures"]
    assert status == 1 and failure["check"] == "operators in parts"
    glu = "glu is said to be taken in parts, but its part edge.slice_copy.Tensor stays: the backend has no such operator"
    assert failure["details"] == f"{glu}; clap is said to be taken in parts, but there is no such operator"


def undecided(op: SchemaOp) -> str | None:
    raise UndecidedError("only the run knows")


def wordless(op: SchemaOp) -> str | None:
    return "no"


@pytest.mark.parametrize(
    ("check", "details"),
    [(undecided, "the table raises UndecidedError: only the run knows"), (wordless, "no reason in words: 'no'")],
)
def test_refusals_need_reasons(plant: Plant, capsys: pytest.CaptureFixture[str], check: Check, details: str):
    plant(table=OperatorTable({**GOOD.rules, "tanh": Rule(checks=(check,))}, GOOD.tensors, GOOD.absorbs, GOOD.most))
    status, report = judged(capsys, "planted", "--graphs", "20")
    assert status == 1 and {failure["details"] for failure in report["failures"]} == {details}
    assert {(failure["check"], *failure["operators"]) for failure in report["failures"]} == {("reasons for refusals", "tanh")}


def test_bad_payloads_must_be_refused(plant: Plant, capsys: pytest.CaptureFixture[str]):
    def struct_error(data: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore) -> ModuleOp:
        struct.unpack_from("<7I", data)
        return decode(data, named_data, blobs)

    plant(decode=struct_error)
    status, report = judged(capsys, "planted", "--graphs", "20")
    assert status == 1 and {failure["check"] for failure in report["failures"]} == {"decode of bad payloads"}
    assert all("is not refused with a BackendError, but raises error: unpack_from" in failure["details"] for failure in report["failures"])


NEEDY = """
from dataclasses import replace

from flambeau.backends.elementwise import BACKEND
from flambeau.passes.delegation.interface import one_by_one
{top}

def encode(partition, constants, options):
    from flambeau.backends.elementwise.program import encode

    import {module}

    return encode(partition, constants, options)


NEEDY = replace(BACKEND, name="needy", identifier="NeedyBackend", encode=one_by_one(encode), requires=("{module}",))
"""


@pytest.mark.parametrize(
    ("module", "top", "details"),
    [
        ("safetensors", "", None),
        ("no_such_sdk", "", None),
        ("safetensors", "import safetensors", "without safetensors: .*import of safetensors halted"),
    ],
)
def test_what_a_backend_requires_may_be_absent(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, module: str, top: str, details: str | None
):
    (tmp_path / "needy.py").write_text(NEEDY.format(module=module, top=top))
    status, report = judged(capsys, "needy", "--load-plugin", f"{tmp_path}/needy.py", "--graphs", "3")
    assert status == (details is not None) and ("absent modules" in report["checks"]) == (details is None and module != "no_such_sdk")
    absent = "backend 'needy' needs no_such_sdk, which is not installed here" if module == "no_such_sdk" else None
    assert report["absent"].get("encode") == absent
    for failure in report["failures"]:
        assert failure["check"] == "absent modules" and re.search(details or "^$", failure["details"]), failure["details"]


def test_without_its_tool_a_backend_decodes_and_names_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = NEEDY.format(module="math", top="from flambeau.passes.vendor_tools.tool import Tool").replace(
        'requires=("math",)', "tools=(CC,)"
    )
    text = text.replace("NEEDY =", 'CC = Tool("shaderc", "FLAMBEAU_TEST_SHADERC", "the SDK", version=())\nNEEDY =')
    (tmp_path / "needy.py").write_text(text)
    monkeypatch.setenv("FLAMBEAU_TEST_SHADERC", "true")
    status, report = judged(capsys, "needy", "--load-plugin", f"{tmp_path}/needy.py", "--graphs", "2")
    assert status == 0 and "absent tools" in report["checks"] and "absent modules" not in report["checks"]
    (tmp_path / "needy.py").write_text(text.replace("import math", "CC.find()"))
    monkeypatch.delenv("FLAMBEAU_TEST_SHADERC")
    status, report = judged(capsys, "needy", "--load-plugin", f"{tmp_path}/needy.py", "--graphs", "2")
    assert status == 0 and report["absent"]["encode"].startswith("backend 'needy' needs a tool: shaderc is not on PATH, and FLAMBEAU_TEST_")


def test_operators_that_are_given_back_count_as_refused(plant: Plant, capsys: pytest.CaptureFixture[str]):
    def picky(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
        if refused := [op for op in partition.walk() if op.name == "edge.tanh"]:
            raise RefusedError(dict.fromkeys(refused, "there is no room"))
        return encode(partition, constants, options)

    plant(encode=one_by_one(picky), refuses=True, library=None)
    status, report = judged(capsys, "planted", "--graphs", "20")
    tanh = report["operators"]["tanh"]
    assert status == 0 and tanh["ok"] == 0 < tanh["refused"]["its compiler refuses it: there is no room"]
    assert report["operators"]["exp"]["ok"] > 0


def test_a_readme_has_sections(tmp_path: Path):
    assert readme_complaints(tmp_path) == [f"there is no README.md in {tmp_path.name}"]
    (tmp_path / "README.md").write_text("".join(f"## {title}\n\nNone.\n\n" for title in SECTIONS if title != "Debug") + "## Debug\n")
    assert readme_complaints(tmp_path) == [f"README.md has nothing under '## Debug': {SECTIONS['Debug']}"]


def test_a_readme_says_of_each_dependency_what_users_ask(tmp_path: Path):
    sections = "".join(f"## {title}\n\nText.\n\n" for title in SECTIONS if title != "Dependencies")
    table = "| | why | licence | to upgrade | to mind |\n|---|---|---|---|---|\n| `sdk` | it runs | MIT | raise it | 9 GB |\n"
    for text, complaints in {
        "None.": [],
        "Some.": ["README.md, Dependencies: 'None.', or a table with the columns why, licence, to upgrade, to mind"],
        table: [],
        table.replace("9 GB", ""): ["README.md, Dependencies: nothing says of `sdk` 'to mind'"],
        table.replace(" raise it | 9 GB |", ""): [
            "README.md, Dependencies: nothing says of `sdk` " + repr(column) for column in ("to upgrade", "to mind")
        ],
    }.items():
        (tmp_path / "README.md").write_text(f"{sections}## Dependencies\n\n{text}\n")
        assert readme_complaints(tmp_path) == complaints


def test_what_is_drawn_does_not_hang_on_how_a_function_is_approximated():
    """A GELU near 0 is x times the difference of 1 and almost 1: libraries differ there by some units of the last place of 1."""
    table = OperatorTable({"gelu": Rule(), "pow.Tensor_Scalar": Rule()}, Limit(dtypes=(f32,), static=True))
    operators, _ = operators_of(table)
    graphs = [graph for seed in range(60) if (graph := draw_graph(table, operators, seed, 3)) is not None]
    assert len(graphs) > 50

    def approximated(op: Operation, found: Sequence[Any]) -> Sequence[Any] | None:
        return [array - np.float32(2**-22) for array in found] if op.name == "edge.gelu" else None

    for graph in graphs:
        program = interpret(graph.module, graph.context)
        for inputs, expected in zip(graph.calls, graph.expected, strict=True):
            found = program.run("forward", inputs, approximated)
            assert [difference_of(a, np.asarray(b), SemanticsOptions()) for a, b in zip(expected, found, strict=True)] == [None] * len(
                found
            )


def test_no_integers_are_drawn_of_extremes() -> None:
    """Libraries differ in the place of a largest number where one is none, and in what becomes of numbers that int32 does not hold."""
    places, converted = Limit("result", dtypes=(i64,)), Limit("result", dtypes=(i32,))
    table = OperatorTable({"argmax": Rule((places,)), "_to_copy": Rule((converted,))}, Limit(dtypes=(f32,), static=True))
    operators, _ = operators_of(table)
    graphs = [graph for seed in range(8) if (graph := draw_graph(table, operators, seed, 1)) is not None]
    assert len(graphs) > 4
    assert all(np.abs(array).max(initial=0) < 1e5 for graph in graphs for inputs in graph.calls for array in inputs)
