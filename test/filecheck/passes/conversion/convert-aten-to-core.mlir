// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p convert-aten-to-core | filecheck %s

// CHECK-LABEL: func.func @renamed
// CHECK-NEXT:    %[[S:.*]] = core.add.Tensor(%x, %x) {alpha = 2} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:    core.relu(%[[S]])
func.func @renamed(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.add.Tensor(%x, %x) {alpha = 2} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = aten.relu(%0) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// Everything that cannot be converted is listed at once, with its place in the model.
func.func @illegal(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+2 {{convert-aten-to-core: 3 operations cannot be converted to Core ATen}}
  // expected-note @+1 {{aten._coalesce (2 times, also at layers.1 (model.py:12)): Flambeau knows this operator's schema but not its meaning; a row in a plug-in says it: see docs/tutorials/add_operator.md}}
  %0 = aten._coalesce(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("layers.0"("model.py":12:0))
  %1 = aten._coalesce(%0) : (tensor<2xf32>) -> tensor<2xf32> loc("layers.1"("model.py":12:0))
  // expected-note @+1 {{aten.square: it is not in Core ATen; run decompose-aten first}}
  %2 = aten.square(%1) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

// -----

// The front end notes why PyTorch's decomposition does not apply.
func.func @undecomposed(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{convert-aten-to-core: 1 operation cannot be converted to Core ATen: aten._coalesce: its decomposition asks for a size}}
  %0 = aten._coalesce(%x) {flambeau.undecomposed = "its decomposition asks for a size"} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
