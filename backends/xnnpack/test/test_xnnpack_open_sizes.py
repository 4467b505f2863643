"""What the run decides about sizes may be too much: whether they fit, or a number of a node."""

from __future__ import annotations

import pytest

from flambeau.backends.xnnpack.legality import table
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.delegation.interface import BackendOptions

S3, S4 = "s3 in [1, 6]", "s4 in [1, 8]"


def kind(*sizes: int | str) -> str:
    """A tensor type: a text is a symbol with its range."""
    dims = "x".join("?" if isinstance(size, str) else str(size) for size in sizes)
    if not any(isinstance(size, str) for size in sizes):
        return f"tensor<{dims}xf32>"
    return f"tensor<{dims}xf32, #edge.layout<sizes = [{', '.join(map(str, sizes))}]>>"


CASES = {
    "minimum": ("%a, %b", [kind(3, 4), kind(S3, 4)], kind(3, 4), "whether s3 is 3 is known when it runs only"),
    "add.Tensor": ("%a, %b", [kind(S3, 4), kind(S4, 1)], kind(S3, 4), "whether s4 is s3 is known when it runs only"),
    "where.self": ("%w, %a, %v", ["tensor<3x4xi1>", kind(S3, 4), kind(1)], kind(3, 4), "whether s3 is 3 is known when it runs only"),
    "expand_copy": ("%a", [kind(S3, 1)], kind(2, 3, 4), "whether s3 is 3 is known when it runs only"),
    "linear": ("%a, %w, none", [kind(2, S3), kind(4, 3)], kind(2, 4), "whether s3 is 3 is known when it runs only"),
    "mm": ("%a, %w", [kind(2, S3), kind(3, 4)], kind(2, 4), "whether s3 is 3 is known when it runs only"),
    "addmm": ("%v, %a, %w", [kind(4), kind(2, S3), kind(3, 4)], kind(2, 4), "whether s3 is 3 is known when it runs only"),
    "bmm": ("%a, %b", [kind(2, 3, S4), kind(2, 4, 5)], kind(2, 3, 5), "whether s4 is 4 is known when it runs only"),
    "cat": ("[%a, %b]", [kind(2, 3), kind(1, S3)], kind(3, 3), "whether s3 is 3 is known when it runs only"),
    "view_copy": ("%a", [kind(S4, S3)], kind(S4, 6), "whether s3 * s4 is s4 * 6 is known when it runs only"),
    "native_layer_norm": ("%a, none, none", [kind(2, S4)], kind(2, S4), "whether s4 is 4 is known when it runs only"),
    "convolution": (
        "%a, %w, none",
        [kind(1, S4, 5, 5), kind(4, 1, 3, 3)],
        kind(1, 4, 3, 3),
        "whether s4 is 4 is known when it runs only",
    ),
}
ATTRIBUTES = {
    "expand_copy": "size = [2, 3, 4]",
    "view_copy": f"size = [{S4}, 6]",
    "native_layer_norm": "normalized_shape = [4], eps = 1.0e-05",
    "convolution": "stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 4",
}


def why_not(operands: str, operand_types: list[str], name: str, result: str, attributes: str = "") -> str | None:
    """The reason of the table: operands are arguments, `%w` and `%v` constants."""
    names = [word for word in operands.replace("[", "").replace("]", "").split(", ") if word != "none"]
    given = list(zip(names, operand_types, strict=True))
    results = [result, *{"native_layer_norm": [kind(2, 1)] * 2}.get(name, [])]
    text = "\n".join(
        [
            *(
                f'ml_program.global private @{n[1:]}(#flambeau.blob<"{n}", "0000000000000000">) : {t}'
                for n, t in given
                if n in ("%w", "%v")
            ),
            f"func.func @forward({', '.join(f'{n}: {t}' for n, t in given if n in ('%a', '%b'))}) {{",
            *(f"{n} = ml_program.global_load_const @{n[1:]} : {t}" for n, t in given if n in ("%w", "%v")),
            f"{', '.join(f'%{place}' for place in range(len(results)))} = edge.{name}({operands}) {{{attributes}}}"
            f" : ({', '.join(operand_types)}) -> {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}",
            "func.return\n}",
        ]
    )
    (op,) = (item for item in parse_module(text, FlambeauContext()).module.walk() if isinstance(item, SchemaOp))
    return table(BackendOptions()).why_not(op)


@pytest.mark.parametrize("name", CASES)
def test_sizes_fit_before_the_run(name: str):
    operands, types, result, reason = CASES[name]
    assert why_not(operands, types, name, result, ATTRIBUTES.get(name, "")) == reason


@pytest.mark.parametrize(
    ("name", "operand", "result", "attributes"),
    [
        ("upsample_bilinear2d.vec", kind(2, S3, 4, 5), kind(2, S3, 7, S3), f"output_size = [7, {S3}], align_corners = true"),
        ("slice_copy.Tensor", kind(6, S3), kind(S3, S3), f"end = {S3}"),
        ("constant_pad_nd", kind(S3, 3), kind(S3, "s3 + 3"), f"pad = [{S3}, 0], value = 0.0"),
    ],
)
def test_numbers_of_nodes_are_known_before_the_run(name: str, operand: str, result: str, attributes: str):
    assert why_not("%a", [operand], name, result, attributes) == "a number in it is known when it runs only"


def test_sizes_that_are_the_same_symbol_fit():
    assert why_not("%a, %b", [kind(S3, 4), kind(1, 4)], "minimum", kind(S3, 4)) is None
    assert why_not("%a", [kind(S3, 4)], "view_copy", kind("s3 * 2", 2), "size = [-1, 2]") is None
    assert why_not("%a", [kind("s5 in [3, 9]", 2, 4, 4)], "avg_pool2d", kind("s5 in [3, 9]", 2, 2, 2), "kernel_size = [2, 2]") is None
