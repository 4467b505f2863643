// RUN: flambeau-opt %s --verify-roundtrip | filecheck %s

// A loop is an instruction. Its body computes elements of whole tensors, which are broadcast as the operators have it.
// CHECK-LABEL: exec.method @forward
exec.method @forward {} {
  %x = exec.tensor : tensor<2x4xf32>
  %row = exec.tensor : tensor<4xf32>
  %two = exec.double 2.0
  %r = exec.tensor : tensor<2x4xf32>
  %s = exec.reuse %x : tensor<2x4xf32>
  // CHECK:      cpu.loop(%x, %row, %two) outs(%r, %s) {"flambeau.step" = 3 : i64} do {
  // CHECK-NEXT: ^bb0(%a: tensor<2x4xf32>, %b: tensor<4xf32>, %c: !exec.double):
  // CHECK-NEXT:   %0 = cpu.element "aten::mul.out"(%a, %b) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT:   %1 = cpu.element "aten::mul.Scalar_out"(%0, %c) : (tensor<2x4xf32>, !exec.double) -> tensor<2x4xf32>
  // CHECK-NEXT:   cpu.yield %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
  // CHECK-NEXT: }
  cpu.loop(%x, %row, %two) outs(%r, %s) {"flambeau.step" = 3 : i64} do {
  ^bb0(%a : tensor<2x4xf32>, %b : tensor<4xf32>, %c : !exec.double):
    %0 = cpu.element "aten::mul.out"(%a, %b) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %1 = cpu.element "aten::mul.Scalar_out"(%0, %c) : (tensor<2x4xf32>, !exec.double) -> tensor<2x4xf32>
    cpu.yield %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
  }
  exec.return inputs(%x, %row) outputs(%r, %s)
}
