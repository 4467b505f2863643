"""What every row promises, for every row: syntax, types, meaning, decomposition, schema, documentation."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO
from typing import Any

import numpy as np
import pytest
import torch
from families import each
from row_harness import ROWS, SAMPLES, assert_close, call_torch, evaluate, samples_of, torch_operator, values_of
from shares import drawn
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.aten.library.numerics import cast_to, element_of_array
from flambeau.dialects.ir.equivalence import equivalent
from flambeau.dialects.ir.tensor_types import element_of, f32, f64, shape_of, tensor
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import LEVELS, find_op, find_schema, nondeterministic_operators, schema_table
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_table import check_functions, load_rows, schema_files
from flambeau.passes.delegation.interface import backend_names
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.targets.interface import find_target, target_names
from flambeau.runtime.manifest import activation_names
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_operations import arrays_of, converted, meaning, operation

UNINITIALIZED = {"aten.empty.memory_format", "aten.empty_strided", "aten.empty_permuted", "aten.empty_like", "aten.new_empty"}
"""Their content is anything."""
LOOSER: dict[str, float] = {}
"""Operators whose long computations differ from torch's by more rounding errors."""


def family(name: str) -> str:
    """The file of a row."""
    return ROWS[name].__module__.removeprefix("flambeau.")


each_row = each(sorted(ROWS), family)
each_torch_row = each(sorted(name for name, op in ROWS.items() if torch_operator(op) is not None), family)
each_decomposed_row = each(sorted(name for name, op in ROWS.items() if op.has("decompose")), family)


def function_of(name: str, op: SchemaOp, block: Block) -> FuncOp:
    block.add_ops([op, ReturnOp(*op.results)])
    return FuncOp(name, FunctionType.from_lists(block.arg_types, op.result_types), Region(block))


def printed(module: ModuleOp, generic: bool) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def is_valid(op: SchemaOp) -> bool:
    """Edge takes fewer operands: of one type, and bounded."""
    try:
        op.verify_()
    except VerifyException:
        return False
    return True


@each_row
def test_a_row_has_documentation_meaning_and_samples(name: str):
    op = ROWS[name]
    assert "__doc__" in vars(op) and op.__doc__ and op.__doc__.strip().endswith("."), "the row needs a docstring"
    assert op.has("infer") and op.has("numpy"), "the row needs infer and numpy"
    assert name in SAMPLES, f"{name} needs samples in tools/samples"
    assert samples_of(op)
    if op.level() == "aten" and not op.core:
        assert op.has("decompose") or op.keep, "neither core nor decomposed nor kept"
    if op.keep:
        tables = [Partitioner(name).table for name in backend_names()]
        kept = [*(find_target(target).has(op) for target in target_names()), *(op.schema.name in table.rules for table in tables)]
        assert any(kept), "no target has a kernel or a fused form for it, and no backend takes it whole"


@each_row
def test_functions_name_arguments_of_the_schema(name: str):
    check_functions(ROWS[name])


def parts_of(array: Array) -> Array:
    """Complex numbers as twice as many real ones."""
    return np.atleast_1d(array).view(f"f{array.itemsize // 2}") if array.dtype.kind == "c" else array


@each(sorted(name for name, op in ROWS.items() if op.moves and "conj" not in name), family)
def test_what_moves_elements_computes_none(name: str):
    for sample in samples_of(ROWS[name]):
        arrays = arrays_of(sample)
        for result in meaning(operation(ROWS[name], sample)[0], arrays):
            result, *arrays = (parts_of(array) for array in (result, *arrays))
            given = np.concatenate([cast_to(array, element_of_array(result)).ravel() for array in arrays])
            assert np.isin(result, given).all(where=result == result)  # NaN, which equals nothing, aside


def test_activations_are_those_of_the_fused_kernels():
    assert {"none", *(name for op in ROWS.values() for name, *_ in op.activations)} == set(activation_names())


def test_samples_belong_to_rows():
    assert sorted(set(SAMPLES) - set(ROWS)) == []


@each_row
@pytest.mark.parametrize("generic", drawn([False, True], parts=2), ids=lambda generic: "generic" if generic else "custom")
def test_text_round_trip(name: str, generic: bool):
    row = ROWS[name]
    levels = LEVELS if row.level() == "aten" and (row.core or row.keep) else (row.level(),)
    functions: list[FuncOp] = []
    for level in levels:
        pairs = [operation(row.at(level), sample) for sample in samples_of(row)]
        distinct = {str(op.properties): (op, block) for op, block in pairs if level != "edge" or is_valid(op)}
        functions += [function_of(f"{level}{index}", *pair) for index, pair in enumerate(distinct.values())]
    module = ModuleOp(list(functions))
    module.verify()
    text = printed(module, generic)
    parsed = Parser(FlambeauContext(), text).parse_module()
    parsed.verify()
    assert equivalent(parsed, module), text
    assert printed(parsed, generic) == text


@each_row
def test_verifier_rejects_another_result_type(name: str):
    op, _ = operation(ROWS[name], samples_of(ROWS[name])[0])
    right = op.result_types[0]
    other_element = f64 if element_of(right) == f32 else f32
    for wrong in (tensor(other_element, shape_of(right)), tensor(element_of(right), (*shape_of(right), 7))):
        changed = type(op).from_attributes(op.operands, [wrong, *op.result_types[1:]], dict(op.properties))
        with pytest.raises(VerifyException, match="result types must be"):
            changed.verify_()


@each_torch_row
def test_types_and_values_are_those_of_torch(name: str):
    row = ROWS[name]
    for sample in samples_of(row):
        op, _ = operation(row, sample)
        actual, expected = meaning(op, arrays_of(sample)), call_torch(row, sample)
        if op.draws() or name in UNINITIALIZED:
            assert [(a.shape, a.dtype) for a in actual] == [(e.shape, e.dtype) for e in expected]
        else:
            assert_close(f"{op}", actual, expected, LOOSER.get(name), row)


@each_decomposed_row
def test_decomposition_has_the_meaning(name: str):
    row = ROWS[name]
    for sample in samples_of(row):
        op, block = operation(row, sample)
        values = values_of(op.call("decompose", op.arguments()))
        assert [value.type for value in values] == list(op.result_types), f"{op}"
        arrays = arrays_of(sample)
        actual, expected = evaluate(values, dict(zip(block.args, arrays, strict=True))), meaning(op, arrays)
        if name not in UNINITIALIZED:
            assert_close(f"{op}", actual, expected, LOOSER.get(name), row)


@each_torch_row
def test_schema_and_core_tag_are_those_of_torch(name: str):
    row = ROWS[name]
    if row.level() in LEVELS:
        assert find_schema(row.schema.name) == row.schema
    assert row.core == (torch.Tag.core in torch_operator(row).tags)


def test_what_draws_is_what_torch_says():
    tagged = {
        name
        for lines in schema_table().values()
        for name in (line[: line.index("(")] for line in lines)
        if torch.Tag.nondeterministic_seeded in torch_overload(name).tags
    }
    assert nondeterministic_operators() == tagged
    drawing = {name for name, row in load_rows()["aten"].items() if row.random}
    assert drawing <= tagged
    # Rows of the others compute one thing: what would be random in them is refused.
    evaluated = {"scaled_dot_product_attention"}
    recurrent = {"lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input"}
    assert (tagged & set(load_rows()["aten"])) - drawing == evaluated | recurrent
    for name in sorted(tagged - set(load_rows()["aten"])):
        found = find_op(f"aten.{name}")
        assert found is not None and not found.has_trait(Pure)


def test_looking_up_one_row_finds_what_loading_all_rows_finds():
    files = schema_files()
    for dialect, rows in load_rows().items():
        for name, row in rows.items():
            found = files[dialect].get(name)
            made_by_code = found is None and not row.schema.base.endswith("_copy")  # such a row is found by loading all
            assert made_by_code or (found is not None and row.__module__ in found), row.name


def torch_overload(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def test_schema_table_is_that_of_the_pinned_torch():
    lines = [line for base in schema_table().values() for line in base]
    # In a process of its own, since peers that other tests import add schemas to `aten`.
    program = "import torch; print(*torch._C._jit_get_all_schemas(), sep='\\n')"
    registered = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.splitlines()
    expected = {schema.removeprefix("aten::") for schema in registered if schema.startswith("aten::")}
    assert sorted(set(lines) - expected) == []
    assert sorted(expected - set(lines)) == []


def test_a_sample_that_a_type_does_not_hold_is_infinite_without_a_warning():
    with np.errstate(all="raise"):
        assert np.isinf(converted(np.array([1e300]), "float32")).all()
