// RUN: flambeau-opt %s -p decompose-aten | filecheck %s
// RUN: flambeau-opt %s -p decompose-aten{strict} | filecheck %s --check-prefix=STRICT

// Operators that some kernel or backend takes whole stay, though they are not in Core ATen.
// CHECK-LABEL:  func.func @silu
// CHECK-NEXT:     aten.silu(%x)
// STRICT-LABEL: func.func @silu
// STRICT-NEXT:    %[[G:.*]] = aten.sigmoid(%x)
// STRICT-NEXT:    %[[R:.*]] = aten.mul.Tensor(%x, %[[G]])
// STRICT-NEXT:    func.return %[[R]]
func.func @silu(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.silu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// What decomposes into what decomposes is taken apart to the end.
// CHECK-LABEL:  func.func @matmul
// CHECK-NOT:      aten.{{(matmul|square)}}
// CHECK:          func.return
// STRICT-LABEL: func.func @matmul
func.func @matmul(%x: tensor<2x3x4xf32>, %y: tensor<4x5xf32>) -> tensor<2x3x5xf32> {
  %0 = aten.square(%x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %1 = aten.matmul(%0, %y) : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  func.return %1 : tensor<2x3x5xf32>
}

// Core operators and those without a meaning stay as they are, and so does what stands at another level.
// CHECK-LABEL:  func.func @stays
// CHECK-NEXT:     aten.sort(%x)
// CHECK-NEXT:     aten._coalesce
// CHECK-NEXT:     core.silu
// STRICT-LABEL: func.func @stays
// STRICT-NEXT:    aten.sort(%x)
// STRICT-NEXT:    aten._coalesce
// STRICT-NEXT:    core.silu
func.func @stays(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0, %1 = aten.sort(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  %2 = aten._coalesce(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = core.silu(%2) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %3 : tensor<2x3xf32>
}
