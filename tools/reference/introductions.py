"""The introductions of the pages of dialects, below the docstring of the dialect."""

INTRODUCTIONS = {
    "aten": """
An operator prints as its schema names it: tensors in parentheses, everything else in braces, types at the end. An optional tensor that
is absent is `none`, a list is `[%a, %b]`, and an attribute that has the schema's default is not there:

```mlir
func.func @f(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %y: tensor<4xf32>) -> (tensor<1x4x6x6xf32>, tensor<8xf32>) {
  %0 = aten.conv2d(%x, %w, none) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %1 = aten.cat([%y, %y]) {dim = -1} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  func.return %0, %1 : tensor<1x4x6x6xf32>, tensor<8xf32>
}
```

Below are the operators with a row, which have a meaning here: their types are inferred, the interpreter runs them, and each goes on to
the `core` dialect. A signature is PyTorch's: `Tensor?` may be absent, `int[2]` is a list of two, arguments after `*` are keyword-only,
and `=` gives the default. The level says: *core*, it is Core ATen; *kept*, it is not, and some kernel or backend takes it whole.
Otherwise passes decompose it.

The other overloads of ATen, {others} of them, parse, print and verify by their schema, so a report of unsupported operators is complete.
""",
    "core": """
The operators have the names of [`aten`](aten.md); in italics, those that are not Core ATen, and that some kernel or
backend takes whole. A pass over `core` meets only these operators. Declared result types are the inferred ones.
""",
    "edge": """
The operators are those of [`core`](core.md), except that a view is a copy: `view` is `view_copy`. Facts that are implicit in
PyTorch are explicit here: operands have the type that an operator computes in, numbers are tensors where kernels want tensors, and the
type has any layout that is not row-major:

```mlir
func.func @f(%x: tensor<1x3x8x8xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x8x8xf32, #edge.layout<[0, 2, 3, 1]>> {
  %0 = edge.relu(%x) : (tensor<1x3x8x8xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x8x8xf32, #edge.layout<[0, 2, 3, 1]>>
  func.return %0 : tensor<1x3x8x8xf32, #edge.layout<[0, 2, 3, 1]>>
}
```

In addition to the operators of `core`:
""",
    "exec": """
A method is a list of slots and of instructions on them. Slots are made once, before the first instruction; instructions read and write
them. `relu(x * y)`, planned: the product and the result lie where `%x` did.

```mlir
exec.method @forward {arenas = [32]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %y = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  %0 = exec.reuse %x : tensor<4xf32>
  %1 = exec.reuse %0 : tensor<4xf32>
  exec.call "aten::mul.out"(%x, %y) outs(%0)
  exec.call "aten::relu.out"(%0) outs(%1)
  exec.return inputs(%x, %y) outputs(%1)
}
```
""",
    "delegate": """
[`partition`](passes.md#partition) puts the operators that a backend takes into functions of their own;
[`convert-partitions`](passes.md#convert-partitions) rewrites them in the backend's own dialect, if it has one;
[`lower-partitions`](passes.md#lower-partitions) replaces those by the backend's code, a `delegate.payload` of the same name:

```mlir
delegate.partition @part backend "FlambeauElementwise" (%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = edge.mul.Tensor(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.relu(%0) : (tensor<4xf32>) -> tensor<4xf32>
  delegate.return %1 : tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = delegate.call @part(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
```

[`disassemble-payloads`](passes.md#disassemble-payloads) goes back, in programs of any origin.
""",
    "cadence": """
ExecuTorch's runtime for Cadence's DSPs has their kernels, and so has Flambeau's, to the bit as numpy computes them here.
[`convert-edge-to-cadence`](passes.md#convert-edge-to-cadence) makes them for the target `cadence`:

```mlir
func.func @f(%x: tensor<2x3xi8>, %w: tensor<4x3xi8>, %b: tensor<4xi32>) -> tensor<2x4xi8> {
  %0 = cadence.quantized_linear.per_tensor(%x, %w, %b, none) {src_zero_point = 3, weight_zero_point = 0,
      out_multiplier = 1073741824, out_shift = -1, out_zero_point = 2} : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<4xi32>) -> tensor<2x4xi8>
  func.return %0 : tensor<2x4xi8>
}
```

A sum becomes `clamp((sum * out_multiplier + 2 ** (30 - out_shift) >> 31 - out_shift) + out_zero_point)`, in 64 bits. ExecuTorch's generic
kernels scale in float32, and the vendor's library rounds in its own way: both may differ by a step.
""",
    "fused": """
They are created late, among the operators of `edge`:

```mlir
func.func @f(%x: tensor<2x3xf32>, %packed: tensor<1x3x16xf32>) -> tensor<2x4xf32> {
  %0 = fused.linear(%x, %packed, none, none) {out_features = 4, activation = "relu"}
      : (tensor<2x3xf32>, tensor<1x3x16xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
```
""",
    "quantized_decomposed": """
Operators are the same at every level. A quantised model computes between them in floating point, as PyTorch's quantisation writes
it; kernels on integers replace the operators between a `dequantize` and a `quantize`.

```mlir
func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = quantized_decomposed.quantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8}
      : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %1 = quantized_decomposed.dequantize_per_tensor(%0) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8}
      : (tensor<2x3xi8>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
```
""",
    "torchvision": """
Programs that torch.export makes of torchvision's detection models call these operators. They need no kernels: `legalize-operators` rewrites
them in terms of ATen's, `nms` with a loop of as many rounds as boxes suppress each other in a chain.

```mlir
func.func @f(%boxes: tensor<6x4xf32>, %scores: tensor<6xf32>) -> tensor<?xi64> {
  %0 = torchvision.nms(%boxes, %scores) {iou_threshold = 0.5} : (tensor<6x4xf32>, tensor<6xf32>) -> tensor<?xi64>
  func.return %0 : tensor<?xi64>
}
```
""",
    "flambeau": """
Attributes with its prefix are on operations of other dialects. On `func.func`:

* `flambeau.inputs`, `flambeau.outputs`: the method's inputs and outputs with the model's names, as
  `[{name = "x"}, {name = "scale", value = 3 : i64}]`. A leaf with a value is a constant, and no argument.
* `flambeau.in_spec`, `flambeau.out_spec`: how those leaves nest, as PyTorch's serialised tree specs.

On `exec.method`:

* `flambeau.arena_lower_bound`, `flambeau.arena_algorithm`: the fewest bytes that any plan needs, and which planner won.
""",
    "ml_program": """
The bytes of weights are in a `.safetensors` file beside the text, which names them with a digest.

```mlir
ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<4xf32>
ml_program.global private mutable @cache(dense<0.0> : tensor<4xf32>) : tensor<4xf32>

func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = ml_program.global_load_const @w : tensor<4xf32>
  %c = ml_program.global_load @cache : tensor<4xf32>
  %0 = core.mul.Tensor(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  ml_program.global_store @cache = %0 : tensor<4xf32>
  func.return %c : tensor<4xf32>
}
```
""",
}
"""By the name of the dialect. Code is run by the tests."""
