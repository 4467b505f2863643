"""What the run decides about sizes may be too much for a payload: whether they fit, or a number of an operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.expressions import Symbol, of_symbol
from flambeau.dialects.ir.extents import extent
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.delegation.checks import keeps_elements
from flambeau.passes.delegation.interface import backend_names
from flambeau.passes.delegation.open_sizes import numbers_are_known, only_first_is_open, sizes_fit
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.tools.conformance.drawing.operator_choices import operators_of
from flambeau.tools.samples.sample_operations import arrays_of, type_of, with_tensors

S3, S4 = "s3 in [1, 6]", "s4 in [1, 8]"


def kind(*sizes: int | str) -> str:
    """A tensor type: a text is a symbol with its range."""
    dims = "x".join("?" if isinstance(size, str) else str(size) for size in sizes)
    if not any(isinstance(size, str) for size in sizes):
        return f"tensor<{dims}xf32>"
    return f"tensor<{dims}xf32, #edge.layout<sizes = [{', '.join(map(str, sizes))}]>>"


def operation(name: str, operands: Sequence[str | None], result: str, attributes: str = "") -> SchemaOp:
    """One of arguments of these types, where None is none."""
    given = [(f"%{place}", operand) for place, operand in enumerate(operands) if operand is not None]
    names = ", ".join("none" if operand is None else f"%{place}" for place, operand in enumerate(operands))
    names = f"[{names}]" if name == "cat" else names
    results = {
        f"%r{place}": type
        for place, type in enumerate(
            [result, *{"native_layer_norm": [kind(2, 1)] * 2, "native_group_norm": [kind(2, 2)] * 2}.get(name, [])]
        )
    }
    text = f"""func.func @forward({", ".join(f"{value}: {type}" for value, type in given)}) {{
        {", ".join(results)} = edge.{name}({names}) {{{attributes}}}
          : ({", ".join(type for _, type in given)}) -> ({", ".join(results.values())})
        func.return
    }}"""
    (op,) = (item for item in parse_module(text, FlambeauContext()).module.walk() if isinstance(item, SchemaOp))
    return op


ATTRIBUTES = {
    "expand_copy": "size = [2, 3, 4]",
    "view_copy": f"size = [{S4}, 6]",
    "select_scatter": "dim = -1, index = 2",
    "slice_scatter": "dim = 1, start = 1, end = 3, step = 1",
    **dict.fromkeys(("layer_norm", "native_layer_norm", "rms_norm"), "normalized_shape = [4], eps = 1.0e-05"),
    "native_group_norm": "N = 2, C = 4, HxW = 5, group = 2, eps = 1.0e-05",
    "convolution": "stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 4",
}
QUERY, KEY = kind(1, 2, 4, 8), kind(1, 2, 5, 8)


@pytest.mark.parametrize(
    ("name", "operands", "result", "undecided"),
    [
        ("minimum", [kind(3, 4), kind(S3, 4)], kind(3, 4), "s3 is 3"),
        ("add.Tensor", [kind(S3, 4), kind(S4, 1)], kind(S3, 4), "s4 is s3"),
        ("where.self", ["tensor<3x4xi1>", kind(S3, 4), kind(1)], kind(3, 4), "s3 is 3"),
        ("expand_copy", [kind(S3, 1)], kind(2, 3, 4), "s3 is 3"),
        ("linear", [kind(2, S3), kind(4, 3), None], kind(2, 4), "s3 is 3"),
        ("linear", [kind(2, 3), kind(4, 3), kind(S4)], kind(2, 4), "s4 is 4"),
        ("mm", [kind(2, S3), kind(3, 4)], kind(2, 4), "s3 is 3"),
        ("addmm", [kind(4), kind(2, S3), kind(3, 4)], kind(2, 4), "s3 is 3"),
        ("addmm", [kind(S4), kind(2, 3), kind(3, 4)], kind(2, 4), "s4 is 4"),
        ("bmm", [kind(2, 3, S4), kind(2, 4, 5)], kind(2, 3, 5), "s4 is 4"),
        ("scaled_dot_product_attention", [QUERY, kind(1, 2, 5, S4), KEY, None], QUERY, "8 is s4"),
        ("scaled_dot_product_attention", [QUERY, KEY, kind(1, 2, S4, 8), None], QUERY, "5 is s4"),
        ("scaled_dot_product_attention", [QUERY, kind(1, S3, 5, 8), KEY, None], QUERY, "s3 is 2"),
        ("scaled_dot_product_attention", [QUERY, KEY, KEY, kind(S4, 5)], QUERY, "s4 is 4"),
        ("cat", [kind(2, 3), kind(1, S3)], kind(3, 3), "s3 is 3"),
        ("view_copy", [kind(S4, S3)], kind(S4, 6), "s3 * s4 is s4 * 6"),
        ("native_layer_norm", [kind(2, S4), None, None], kind(2, S4), "s4 is 4"),
        ("layer_norm", [kind(2, S4), None, None], kind(2, S4), "s4 is 4"),
        ("native_group_norm", [kind(S3, 4, 5), None, None], kind(S3, 4, 5), "s3 is 2"),
        ("native_group_norm", [kind(2, 4, 5), kind(S4), None], kind(2, 4, 5), "s4 is 4"),
        ("native_group_norm", [kind(2, 4, S3), None, None], kind(2, 4, S3), "s3 is 5"),
        ("select_scatter", [kind(S3, 4), kind(3)], kind(S3, 4), "s3 is 3"),
        ("slice_scatter", [kind(S3, 4), kind(3, 2)], kind(S3, 4), "s3 is 3"),
        ("rms_norm", [kind(2, S4), None], kind(2, S4), "s4 is 4"),
        ("prelu", [kind(2, S3, 5), kind(3)], kind(2, S3, 5), "s3 is 3"),
        ("prelu", [kind(S3), kind(3)], kind(S3), "s3 is 3"),
        ("convolution", [kind(1, S4, 5, 5), kind(4, 1, 3, 3), None], kind(1, 4, 3, 3), "s4 is 4"),
    ],
)
def test_sizes_fit_before_the_run(name: str, operands: list[str | None], result: str, undecided: str):
    op = operation(name, operands, result, ATTRIBUTES.get(name, ""))
    assert sizes_fit(op) == f"whether {undecided} is known when it runs only"


@pytest.mark.parametrize("backend", backend_names())
def test_what_backends_take_is_an_operation_at_its_greatest_sizes_too(backend: str):
    """Each size of each operand alone is one that only the run knows: it is refused, or may be any, the greatest too."""
    table = Partitioner(backend).table
    for operator in operators_of(table)[0]:
        for sample in operator.samples:
            kinds = list(map(type_of, arrays_of(sample)))
            for place, dim in ((place, dim) for place, kind in enumerate(kinds) for dim in range(len(shape_of(kind))) if len(kinds) > 1):
                most = shape_of(kinds[place])[dim] + 3
                try:
                    op, _block = _with_size(operator.kind, sample, kinds, place, dim, extent(of_symbol(Symbol("s", 1, most))))
                except (TypeError, ValueError, VerifyException):
                    continue  # the size must be known
                if table.why_not(op) is None:
                    _with_size(operator.kind, sample, kinds, place, dim, most)


def _with_size(
    op: type[SchemaOp], sample: Sequence[Any], kinds: Sequence[Tensor], place: int, dim: int, size: int
) -> tuple[SchemaOp, Block]:
    """Returns an operation on a sample, in which one operand has another size, and the block of its operands."""
    sizes = [*shape_of(kinds[place])]
    sizes[dim] = size
    block = Block(arg_types=[*kinds[:place], tensor(element_of(kinds[place]), sizes), *kinds[place + 1 :]])
    return op(*with_tensors(sample, lambda number, _: block.args[number])), block


@pytest.mark.parametrize(
    ("name", "operand", "result", "attributes"),
    [
        ("upsample_bilinear2d.vec", kind(2, S3, 4, 5), kind(2, S3, 7, S3), f"output_size = [7, {S3}], align_corners = true"),
        ("slice_copy.Tensor", kind(6, S3), kind(S3, S3), f"end = {S3}"),
        ("constant_pad_nd", kind(S3, 3), kind(S3, "s3 + 3"), f"pad = [{S3}, 0], value = 0.0"),
    ],
)
def test_numbers_of_operators_are_known_before_the_run(name: str, operand: str, result: str, attributes: str):
    assert numbers_are_known(operation(name, [operand], result, attributes)) == "a number in it is known when it runs only"


@pytest.mark.parametrize(
    ("name", "operands", "result", "attributes"),
    [
        ("minimum", [kind(S3, 4), kind(1, 4)], kind(S3, 4), ""),
        ("view_copy", [kind(S3, 4)], kind("s3 * 2", 2), "size = [-1, 2]"),
        ("prelu", [kind(2, S3, 5), kind(1)], kind(2, S3, 5), ""),
        ("prelu", [kind(S3), kind(1)], kind(S3), ""),
        ("avg_pool2d", [kind(S3, 2, 4, 4)], kind(S3, 2, 2, 2), "kernel_size = [2, 2]"),
        ("scaled_dot_product_attention", [kind(S3, 4, 5, 8), *[kind(S3, 2, 5, 8)] * 2, None], kind(S3, 4, 5, 8), "enable_gqa = true"),
    ],
)
def test_sizes_that_are_the_same_symbol_fit(name: str, operands: list[str | None], result: str, attributes: str):
    op = operation(name, operands, result, attributes)
    assert sizes_fit(op) is None and numbers_are_known(op) is None


def test_only_first_sizes_are_open():
    found = only_first_is_open(operation("permute_copy", [kind(S3, 4)], kind(4, S3), "dims = [1, 0]"))
    assert found == "a size of [4, s3] behind the first is known when it runs only"
    assert only_first_is_open(operation("relu", [kind(S3, 4)], kind(S3, 4))) is None
    assert only_first_is_open(operation("relu", [kind(3, 4)], kind(3, 4))) is None


@pytest.mark.parametrize(
    ("shape", "pads", "why"),
    [
        ((S4, 3), "[0, 0, -1, 0]", "it cuts elements off a size that is known when it runs only"),
        ((S4, 3), "[-1, 0, 1, 0]", None),
        ((S4, 3), "[-2, -1, 0, 0]", "its negative pads [-2, -1, 0, 0] leave no elements of [s4, 3]"),
    ],
)
def test_pads_cut_elements_off_known_sizes(shape: Sequence[int | str], pads: str, why: str | None):
    assert keeps_elements(operation("constant_pad_nd", [kind(*shape)], "tensor<?x?xf32>", f"pad = {pads}, value = 0.0")) == why
