// RUN: flambeau-opt %s -p decompose-aten | filecheck %s
// RUN: flambeau-opt %s -p decompose-aten{target=flambeau} | filecheck %s --check-prefix=OURS
// RUN: flambeau-opt %s -p 'decompose-aten{preserve="hardswish"}' | filecheck %s --check-prefix=KEPT

// CHECK-LABEL: func.func @silu
// CHECK-NEXT:    %[[G:.*]] = aten.sigmoid(%x)
// CHECK-NEXT:    %[[R:.*]] = aten.mul.Tensor(%x, %[[G]])
// CHECK-NEXT:    func.return %[[R]]
// OURS-LABEL:  func.func @silu
// OURS-NEXT:     aten.silu(%x)
func.func @silu(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.silu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// What decomposes into what decomposes is taken apart to the end.
// CHECK-LABEL: func.func @hardswish
// CHECK-NOT:     aten.hard{{(swish|sigmoid)}}
// CHECK:         func.return
// KEPT-LABEL:  func.func @hardswish
// KEPT-NEXT:     aten.hardswish(%x)
func.func @hardswish(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.hardswish(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// Stock ExecuTorch has a kernel of linear; core operators and unknown ones stay as they are.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT:    aten.linear(%x, %w, none)
// CHECK-NEXT:    aten.relu
// CHECK-NEXT:    aten._coalesce
func.func @stays(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> tensor<2x4xf32> {
  %0 = aten.linear(%x, %w, none) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = aten.relu(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = aten._coalesce(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %2 : tensor<2x4xf32>
}

// Stock ExecuTorch has no kernel of sort, although it is core; ours does.
// CHECK-LABEL: func.func @sort
// CHECK-NEXT:    aten.topk(%x) {k = 3, largest = false}
// OURS-LABEL:  func.func @sort
// OURS-NEXT:     aten.sort(%x)
func.func @sort(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>) {
  %0, %1 = aten.sort(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  func.return %0, %1 : tensor<2x3xf32>, tensor<2x3xi64>
}
