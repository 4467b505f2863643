"""Builds modules of a given size on which each pass of Flambeau has work to do.

A pass runs on several graphs: a chain, a value that all operations read, many results, many weights, one weight that all operations read.
A pass may be linear on one graph and not on another.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.pipeline import pass_text

Value = tuple[str, str]
"""A name and a type."""

T = "tensor<2x4xf32>"
IMAGE = "tensor<1x2x4x4xf32>"
DYNAMIC = "tensor<?x4xf32, #edge.layout<sizes = [s0 in [2, 9], 4]>>"
LAST = "tensor<1x2x4x4xf32, #edge.layout<[0, 2, 3, 1]>>"
CONVOLUTION = "stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1"


DOUBLE = """
pdl.pattern @double : benefit(1) {
  %x = pdl.operand
  %type = pdl.type
  %sum = pdl.operation "core.add.Tensor" (%x, %x : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %sum {
    %two = pdl.attribute = 2 : i64
    %product = pdl.operation "core.mul.Scalar" (%x : !pdl.value) {"other" = %two}
    pdl.replace %sum with %product
  }
}
"""
"""A pattern as IR."""


@dataclass
class Function:
    """A builder of the text of a function and of its weights."""

    context: FlambeauContext
    level: str
    kind: str
    """The type of the argument, and of the values that steps return."""
    prelude: str = ""
    """The text before the function in the module."""
    lines: list[str] = field(default_factory=list[str])
    globals: list[str] = field(default_factory=list[str])
    values: int = 0

    def op(self, name: str, operands: Sequence[Value | list[Value] | None], *results: str, **attributes: str) -> Value:
        """Adds an operation, of the function's level unless its name has a dialect, and returns its first result."""
        names: list[str] = []
        kinds: list[str] = []
        for operand in operands:
            items = operand if isinstance(operand, list) else [operand] if operand else []
            listed = ", ".join(value for value, _ in items)
            names.append(f"[{listed}]" if isinstance(operand, list) else listed or "none")
            kinds += [kind for _, kind in items]
        made = [f"%v{self.values + index}" for index in range(len(results))]
        self.values += len(results)
        given = f" {{{', '.join(f'{key} = {value}' for key, value in attributes.items())}}}" if attributes else ""
        full = name if name.startswith(("fused.", "quantized_decomposed.")) else f"{self.level}.{name}"
        kind = results[0] if len(results) == 1 else f"({', '.join(results)})"
        self.lines.append(f"  {', '.join(made)} = {full}({', '.join(names)}){given} : ({', '.join(kinds)}) -> {kind}")
        return made[0], results[0]

    def weight(self, kind: str, elements: int) -> Value:
        """Adds a global of type `kind` with `elements` float32 numbers, different in each global; returns its name and type."""
        number = len(self.globals)
        blob = self.context.blobs.add(f"w{number}", struct.pack(f"<{elements}f", *(number + index / 4 for index in range(elements))))
        self.globals.append(f"ml_program.global private @w{number}({blob}) : {kind}")
        return f"@w{number}", kind

    def load(self, weight: Value) -> Value:
        """Adds a load of a global, and returns the loaded value."""
        self.values += 1
        self.lines.append(f"  %v{self.values - 1} = ml_program.global_load_const {weight[0]} : {weight[1]}")
        return f"%v{self.values - 1}", weight[1]

    def module(self, results: Sequence[Value]) -> ModuleOp:
        """Returns the module with this function."""
        kinds = ", ".join(kind for _, kind in results)
        last = f"  func.return {', '.join(name for name, _ in results)} : {kinds}"
        head = f"func.func @forward(%x: {self.kind}) -> ({kinds}) {{"
        return parse_module("\n".join([self.prelude, *self.globals, head, *self.lines, last, "}"]), self.context, "generated").module


Step = Callable[[Function, Value], Value]
"""Adds a few operations that read a value, and returns a result of the same type."""


def chain(function: Function, step: Step, size: int) -> list[Value]:
    """Adds steps that each read the result of the previous step."""
    value = ("%x", function.kind)
    while len(function.lines) < size:
        value = step(function, value)
    return [value]


def fan_out(function: Function, step: Step, size: int) -> list[Value]:
    """Adds steps that all read the same value, and a sum of their results."""
    total = start = function.op("sigmoid", [("%x", function.kind)], function.kind)
    while len(function.lines) < size:
        total = function.op("add.Tensor", [total, step(function, start)], function.kind)
    return [total]


def many_results(function: Function, step: Step, size: int) -> list[Value]:
    """Adds steps that each read a much earlier result, until the function has `size` lines; returns the results of all steps."""
    values = [("%x", function.kind)]
    while len(function.lines) < size:
        values.append(step(function, values[len(values) // 2]))
    return values[1:]


SHAPES = {"chain": chain, "fan-out": fan_out, "results": many_results}


def plain(f: Function, x: Value) -> Value:
    """Adds operators of many kinds."""
    a = f.op("relu", [x], T)
    b = f.op("add.Tensor", [a, x], T)
    c = f.op("max.dim", [b], "tensor<2xf32>", "tensor<2xi64>", dim="1")
    return f.op("mul.Tensor", [b, f.op("unsqueeze", [c], "tensor<2x1xf32>", dim="1")], T)


def counted(f: Function, x: Value) -> Value:
    """Adds data-dependent sizes, each bounded by the previous size."""
    first, second = (f"tensor<?x2xi64, #edge.layout<sizes = [u{f.values + index} in [0, ?], 2]>>" for index in range(2))
    places = f.op("nonzero", [f.op("nonzero", [x], first)], second)
    return f.op("add.Tensor", [x, f.op("sum", [places], "tensor<i64>")], T)


def computed_size(f: Function, x: Value) -> Value:
    """Adds a tensor whose size is computed at run time and differs in each step."""
    size = f"s0 * {len(f.lines) + 2} + 1"
    f.op("full", [], f"tensor<?xf32, #edge.layout<sizes = [{size}]>>", size=f"[{size}]", fill_value="1.0")
    return f.op("relu", [x], DYNAMIC)


def branching(f: Function, x: Value) -> Value:
    """Adds a branch within a branch."""
    condition, _ = f.op("any", [x], "tensor<i1>")
    holds, first, second, third, inner, result = (f"%v{f.values + index}" for index in range(6))
    f.values += 6
    f.lines += [
        f"  {holds} = tensor.extract {condition}[] : tensor<i1>",
        f"  {result} = scf.if {holds} -> ({T}) {{",
        f"    {inner} = scf.if {holds} -> ({T}) {{",
        f"      {first} = {f.level}.neg({x[0]}) : ({T}) -> {T}",
        f"      scf.yield {first} : {T}",
        "    } else {",
        f"      {second} = {f.level}.abs({x[0]}) : ({T}) -> {T}",
        f"      scf.yield {second} : {T}",
        "    }",
        f"    scf.yield {inner} : {T}",
        "  } else {",
        f"    {third} = {f.level}.sin({x[0]}) : ({T}) -> {T}",
        f"    scf.yield {third} : {T}",
        "  }",
    ]
    return result, T


def plain_edge(f: Function, x: Value) -> Value:
    """Adds operators of many kinds, views and a concatenation."""
    a = f.op("relu", [x], T)
    b = f.op("view_copy", [a], "tensor<8xf32>", size="[8]")
    c = f.op("neg", [b], "tensor<8xf32>")
    d = f.op("view_copy", [c], "tensor<1x8xf32>", size="[1, 8]")
    e = f.op("cat", [[d, d]], "tensor<2x8xf32>")
    g = f.op("slice_copy.Tensor", [e], T, dim="1", start="0", end="4")
    return f.op("add.Tensor", [g, x], T)


def side_by_side(f: Function, x: Value) -> Value:
    """Adds two branches of large tensors, of which one may end before the other begins."""
    wide = [f.op(name, [f.op("cat", [[x] * 8], "tensor<16x4xf32>")], "tensor<16x4xf32>") for name in ("sin", "cos")]
    first, second = [f.op("slice_copy.Tensor", [item], T, dim="0", start="0", end="16", step="8") for item in wide]
    return f.op("add.Tensor", [first, second], T)


def weighted(f: Function, x: Value) -> Value:
    """Adds a multiplication of `x` by a new weight, and returns the product."""
    return f.op("mul.Tensor", [x, f.load(f.weight(T, 8))], T)


def shared(f: Function, x: Value) -> Value:
    """Adds a read of the weight that all steps share."""
    return f.op("mul.Tensor", [x, f.load(("@w0", T) if f.globals else f.weight(T, 8))], T)


def early(f: Function, x: Value) -> Value:
    """Adds transformations of the weight that all steps share, before any of them is read."""
    weight = f.load(("@w0", T) if f.globals else f.weight(T, 8))
    for item in [f.op("add.Scalar", [weight], T, other=f"{index}.0") for index in range(3)]:
        x = f.op("mul.Tensor", [x, item], T)
    return x


def identities(f: Function, x: Value) -> Value:
    """Adds operations that return their operand, or undo the previous operation."""
    a = f.op("permute", [x], "tensor<4x2xf32>", dims="[1, 0]")
    b = f.op("permute", [a], T, dims="[1, 0]")
    c = f.op("unsqueeze", [b], "tensor<1x2x4xf32>", dim="0")
    d = f.op("squeeze.dim", [c], T, dim="0")
    e = f.op("mul.Scalar", [d], T, other="1.0")
    return f.op("neg", [f.op("cat", [[e]], T)], T)


def repeated(f: Function, x: Value) -> Value:
    """Adds equal operations."""
    a, b = f.op("relu", [x], T), f.op("relu", [x], T)
    return f.op("sub.Tensor", [a, f.op("neg", [b], T)], T)


def doubled(f: Function, x: Value) -> Value:
    """Adds an addition of a value to itself, and an addition of two different values."""
    return f.op("relu", [f.op("add.Tensor", [f.op("add.Tensor", [x, x], T), x], T)], T)


def composite(f: Function, x: Value) -> Value:
    """Adds operators that no kernel takes whole."""
    return f.op("square", [f.op("selu", [x], T)], T)


def whole(f: Function, x: Value) -> Value:
    """Adds operators that some kernels take whole."""
    return f.op("hardswish", [f.op("silu", [x], T)], T)


def complex_square(f: Function, x: Value) -> Value:
    """Adds a product of complex numbers."""
    kind = T.replace("f32", "complex<f32>")
    z = f.op("complex", [x, x], kind)
    return f.op("real", [f.op("mul.Tensor", [z, z], kind)], T)


def promoting(f: Function, x: Value) -> Value:
    """Adds operations on operands of two types, operations on scalars, and views."""
    a = f.op("_to_copy", [x], "tensor<2x4xi64>", dtype="i64")
    b = f.op("add.Tensor", [x, a], T)
    c = f.op("mul.Scalar", [b], T, other="2")
    return f.op("view", [f.op("view", [c], "tensor<8xf32>", size="[8]")], T, size="[2, 4]")


def constant(f: Function, x: Value) -> Value:
    """Adds a transformed weight."""
    a = f.op("permute", [f.load(f.weight("tensor<4x2xf32>", 8))], T, dims="[1, 0]")
    return f.op("add.Tensor", [x, f.op("add.Scalar", [a], T, other="1.0")], T)


def constant_of_one(f: Function, x: Value) -> Value:
    """Adds a read of the weight that all steps share, and a transformation that differs from step to step."""
    weight = f.load(("@w0", T) if f.globals else f.weight(T, 8))
    return f.op("add.Tensor", [x, f.op("add.Scalar", [weight], T, other=f"{len(f.lines)}.0")], T)


def filled(f: Function, x: Value) -> Value:
    """Adds a constant that does not come from a weight."""
    return f.op("add.Tensor", [x, f.op("full", [], T, size="[2, 4]", fill_value=f"{len(f.lines)}.0", dtype="f32")], T)


def batch_norm(f: Function, x: Value) -> Value:
    """Adds a convolution with its own weight, and a batch norm."""
    a = f.op("convolution", [x, f.load(f.weight("tensor<2x2x1x1xf32>", 4)), None], IMAGE, **_pairs(CONVOLUTION))
    norms = [f.load(f.weight("tensor<2xf32>", 2)) for _ in range(4)]
    kinds = (IMAGE, "tensor<0xf32>", "tensor<0xf32>")
    return f.op("_native_batch_norm_legit_no_training", [a, *norms], *kinds, momentum="0.1", eps="1.0")


def _pairs(text: str) -> dict[str, str]:
    return dict(item.split(" = ") for item in text.replace("], ", "];").replace("e, ", "e;").split(";"))


def layers(f: Function, x: Value) -> Value:
    """Adds a linear layer with its own weight, and a norm."""
    a = f.op("linear", [x, f.load(f.weight("tensor<4x4xf32>", 16)), None], T)
    return f.op("layer_norm", [a, None, None], T, normalized_shape="[4]")


def layers_of_one(f: Function, x: Value) -> Value:
    """Adds linear layers that share their weight."""
    return f.op("linear", [x, f.load(("@w0", "tensor<4x4xf32>") if f.globals else f.weight("tensor<4x4xf32>", 16)), None], T)


def convolutions(f: Function, x: Value) -> Value:
    """Adds a convolution with its own weight, and an activation."""
    weight = f.load(f.weight("tensor<2x2x1x1xf32>", 4))
    return f.op("relu", [f.op("convolution", [x, weight, None], IMAGE, **_pairs(CONVOLUTION))], IMAGE)


def epilogues(f: Function, x: Value) -> Value:
    """Adds a fused layer followed by an addition and an activation, and a norm after an addition."""
    weight = f.load(("@w0", "tensor<1x4x16xf32>") if f.globals else f.weight("tensor<1x4x16xf32>", 64))
    a = f.op("fused.linear", [x, weight, None, None], T, out_features="4")
    b = f.op("relu", [f.op("add.Tensor", [a, x], T)], T)
    return f.op("fused.layer_norm", [f.op("add.Tensor", [b, x], T), None, None, None], T, normalized_shape="[4]", eps="1.0e-05")


def rms_norms(f: Function, x: Value) -> Value:
    """Adds a norm, written as elementary operators."""
    column = "tensor<2x1xf32>"
    a = f.op("mean.dim", [f.op("pow.Tensor_Scalar", [x], T, exponent="2.0")], column, dim="[-1]", keepdim="true")
    b = f.op("rsqrt", [f.op("add.Scalar", [a], column, other="1.0e-06")], column)
    weight = f.load(("@w0", "tensor<4xf32>") if f.globals else f.weight("tensor<4xf32>", 4))
    return f.op("mul.Tensor", [weight, f.op("mul.Tensor", [x, b], T)], T)


def quantized_layer(f: Function, x: Value) -> Value:
    """Adds a linear layer of quantized numbers and an activation."""
    kind, range_ = "tensor<2x4xi8>", {"zero_point": "3", "quant_min": "-128", "quant_max": "127", "dtype": "i8"}
    q, dq = "quantized_decomposed.quantize_per_tensor", "quantized_decomposed.dequantize_per_tensor"
    weight = f.op(dq, [f.load(f.weight("tensor<4x4xi8>", 4))], "tensor<4x4xf32>", scale="0.5", **{**range_, "zero_point": "0"})
    layer = f.op("linear", [f.op(dq, [f.op(q, [x], kind, scale="0.25", **range_)], T, scale="0.25", **range_), weight, None], T)
    return f.op(dq, [f.op(q, [f.op("relu", [layer], T)], kind, scale="0.5", **range_)], T, scale="0.5", **range_)


def layouts(f: Function, x: Value) -> Value:
    """Adds copies to the other layout and back, with elementwise operators between the copies."""
    a = f.op("_to_dim_order_copy", [x], IMAGE, dim_order="[0, 1, 2, 3]")
    b = f.op("add.Tensor", [f.op("relu", [a], IMAGE), a], IMAGE)
    return f.op("_to_dim_order_copy", [b], LAST, dim_order="[0, 2, 3, 1]")


def handed_over(f: Function, x: Value) -> Value:
    """Adds operators that a backend takes, between operators that it refuses."""
    a = f.op("relu", [f.op("add.Tensor", [x, x], T)], T)
    b = f.op("permute_copy", [f.op("permute_copy", [a], "tensor<4x2xf32>", dims="[1, 0]")], T, dims="[1, 0]")
    return f.op("mul.Tensor", [f.op("sigmoid", [a], T), b], T)


def attentions(f: Function, x: Value) -> Value:
    """Adds attention whose heads of keys and values are repeated, as in grouped-query attention."""
    wide = "tensor<1x4x4x4xf32>"
    repeated = [f.op("repeat_interleave.self_int", [x], wide, repeats="2", dim="1") for _ in range(2)]
    a = f.op("scaled_dot_product_attention", [repeated[0], *repeated, None], wide)
    return f.op("slice.Tensor", [a], IMAGE, dim="1", start="0", end="2")


def clamped(f: Function, x: Value) -> Value:
    """Adds clamps of values inside and outside of the bounds."""
    a = f.op("hardtanh", [f.op("sigmoid", [x], T)], T, min_val="0.0", max_val="6.0")
    return f.op("relu", [f.op("sub.Tensor", [f.op("relu", [a], T), x], T)], T)


def dead(f: Function, x: Value) -> Value:
    """Adds chains without uses."""
    a = f.op("neg", [f.op("mul.Tensor", [x, f.load(f.weight(T, 8))], T)], T)
    f.op("sigmoid", [a], T)
    return f.op("relu", [x], T)


@dataclass(frozen=True)
class Case:
    """A recipe for the modules of a pass."""

    level: str
    steps: tuple[Step, ...]
    kind: str = T
    before: str = ""
    """The passes that run on the module before this pass."""
    options: str = ""
    prelude: str = ""


_EXEC = (plain_edge, weighted, shared)

CASES: dict[str, tuple[Case, ...]] = {
    "apply-pdl-patterns": (Case("core", (doubled,), prelude=DOUBLE),),
    "bound-symbols": (Case("aten", (counted, plain)),),
    "canonicalize": (Case("core", (identities, plain)),),
    "coalesce-slots": (Case("edge", (branching, plain_edge), before="lower-scf,convert-edge-to-exec"),),
    "convert-aten-to-core": (Case("aten", (plain, weighted, shared)),),
    "convert-core-to-edge": (Case("core", (promoting, plain, weighted)),),
    "convert-edge-to-exec": (Case("edge", _EXEC),),
    "convert-edge-to-fused": (Case("edge", (layers, layers_of_one)), Case("edge", (convolutions,), IMAGE)),
    "convert-partitions": (Case("edge", (handed_over, weighted), before="partition{backends=xnnpack}"),),
    "cse": (Case("core", (repeated, plain, shared)),),
    "decompose-aten": (Case("aten", (composite,)),),
    "elide-views": (Case("edge", _EXEC, before="convert-edge-to-exec"),),
    "fold-batch-norm": (Case("core", (batch_norm,), IMAGE),),
    "fold-constants": (Case("core", (constant, constant_of_one, filled, weighted)),),
    "fuse-epilogues": (Case("edge", (epilogues, plain_edge)),),
    "fuse-quantized": (Case("edge", (quantized_layer, plain_edge)),),
    "fuse-rms-norm": (Case("edge", (rms_norms, plain_edge)),),
    "group-attention": (Case("aten", (attentions,), IMAGE),),
    "legalize-operators": (Case("edge", (whole, plain_edge)),),
    "lower-complex": (Case("aten", (complex_square, composite)),),
    "lower-expressions": (Case("edge", (computed_size,), DYNAMIC, before="convert-edge-to-exec"),),
    "lower-partitions": (Case("edge", (handed_over, weighted), before="partition{backends=elementwise}"),),
    "lower-scf": (Case("edge", (branching, plain_edge)),),
    "partition": (Case("edge", (handed_over, weighted, plain_edge), options="{backends=elementwise}"),),
    "place-concat": (Case("edge", _EXEC, before="convert-edge-to-exec,elide-views"),),
    "plan-memory": (Case("edge", _EXEC, before="convert-edge-to-exec,elide-views,place-concat,reuse-storage"),),
    "propagate-layouts": (Case("edge", (layouts,), LAST), Case("edge", (plain_edge,))),
    "remove-dead-code": (Case("core", (dead, shared)), Case("edge", _EXEC, before="convert-edge-to-exec,elide-views")),
    "remove-redundant-clamps": (Case("core", (clamped, weighted)),),
    "reorder-instructions": (Case("edge", (side_by_side, *_EXEC), before="convert-edge-to-exec,elide-views,place-concat,reuse-storage"),),
    "reuse-storage": (Case("edge", _EXEC, before="convert-edge-to-exec,elide-views,place-concat"),),
    "simplify-jumps": (Case("edge", (branching, plain_edge), before="lower-scf,convert-edge-to-exec,coalesce-slots"),),
    "sink-operators": (Case("edge", (early, *_EXEC)),),
    "verify-plan": (Case("edge", _EXEC, before="convert-edge-to-exec,elide-views,place-concat,reuse-storage,plan-memory"),),
}
"""The modules of each pass."""


@dataclass(frozen=True)
class Source:
    """A family of modules."""

    level: str
    kind: str
    prelude: str
    step: Step
    shape: str

    def module(self, size: int) -> tuple[ModuleOp, FlambeauContext]:
        """Returns a valid module of about `size` operations."""
        function = Function(FlambeauContext(), self.level, self.kind, self.prelude)
        return function.module(SHAPES[self.shape](function, self.step, size)), function.context


@dataclass(frozen=True)
class Problem:
    """A pass and a family of modules for it."""

    name: str
    case: Case
    step: Step
    shape: str

    def __str__(self) -> str:
        return f"{self.name} {self.step.__name__.replace('_', '-')} {self.shape}"

    @property
    def source(self) -> Source:
        """The family of modules that the pass runs on."""
        return Source(self.case.level, self.case.kind, self.case.prelude, self.step, self.shape)

    def pipeline(self) -> Pipeline:
        """Returns the pipeline with this pass only."""
        return Pipeline.parse(self.name + self.case.options)

    def before(self) -> tuple[str, ...]:
        """Returns the passes that run before the measured pass."""
        return tuple(pass_text(step) for step in Pipeline.parse(self.case.before).passes()) if self.case.before else ()

    def module(self, size: int) -> tuple[ModuleOp, FlambeauContext]:
        """Returns a module for the pass. The module has about `size` operations before the passes of `before` run."""
        module, context = self.source.module(size)
        if self.case.before:
            Pipeline.parse(self.case.before).run(module, context, verify_each=False)
        return module, context


def problems(name: str) -> list[Problem]:
    """Returns all families of modules for a pass: the families in CASES, else the families of `cse`, which suit any pass."""
    return [Problem(name, case, step, shape) for case in CASES.get(name, CASES["cse"]) for step in case.steps for shape in SHAPES]
