// RUN: flambeau-opt %s -p legalize-operators | filecheck %s
// RUN: flambeau-opt %s -p legalize-operators{target=flambeau} | filecheck %s --check-prefix=OURS
// RUN: flambeau-opt %s -p legalize-operators{preserve=hardswish} | filecheck %s --check-prefix=KEPT
// RUN: flambeau-opt %s -p legalize-operators{backends=xnnpack} | filecheck %s --check-prefix=XNNPACK
// RUN: flambeau-opt %s -p 'legalize-operators{target=flambeau backends=xnnpack}' | filecheck %s --check-prefix=BOTH
// RUN: flambeau-opt %s -p 'legalize-operators{target=flambeau backends=xnnpack no-delegate=silu,hardswish}' | filecheck %s --check-prefix=OURS

// A target runs silu whole or not at all; XNNPACK takes it in parts, and comes before the target.
// CHECK-LABEL:   func.func @silu
// CHECK-NEXT:      %[[G:.*]] = edge.sigmoid(%x)
// CHECK-NEXT:      %[[R:.*]] = edge.mul.Tensor(%x, %[[G]])
// CHECK-NEXT:      func.return %[[R]]
// OURS-LABEL:    func.func @silu
// OURS-NEXT:       edge.silu(%x)
// XNNPACK-LABEL: func.func @silu
// XNNPACK-NEXT:    edge.sigmoid
// BOTH-LABEL:    func.func @silu
// BOTH-NEXT:       edge.sigmoid
func.func @silu(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = edge.silu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// XNNPACK has a hardswish. Where nothing has, it is taken apart to the end.
// CHECK-LABEL:   func.func @hardswish
// CHECK-NOT:       hard{{(swish|sigmoid)}}
// CHECK:           func.return
// OURS-LABEL:    func.func @hardswish
// OURS-NEXT:       edge.hardswish(%x)
// KEPT-LABEL:    func.func @hardswish
// KEPT-NEXT:       edge.hardswish(%x)
// XNNPACK-LABEL: func.func @hardswish
// XNNPACK-NEXT:    edge.hardswish(%x)
// BOTH-LABEL:    func.func @hardswish
// BOTH-NEXT:       edge.hardswish(%x)
func.func @hardswish(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = edge.hardswish(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// Stock ExecuTorch has no kernel of sort, although it is core; ours does. Types are explicit in what takes its place.
// CHECK-LABEL: func.func @sort
// CHECK-NEXT:    edge.topk(%x) {k = 3, largest = false}
// OURS-LABEL:  func.func @sort
// OURS-NEXT:     edge.sort(%x)
func.func @sort(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>) {
  %0, %1 = edge.sort(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  func.return %0, %1 : tensor<2x3xf32>, tensor<2x3xi64>
}

// The kernel of linear takes no vector: what takes its place is of the edge level, without views.
// CHECK-LABEL: func.func @line
// CHECK-NOT:     edge.linear
// CHECK-NOT:     aten.
// CHECK:         func.return
func.func @line(%x: tensor<3xf32>, %w: tensor<4x3xf32>) -> tensor<4xf32> {
  %0 = edge.linear(%x, %w, none) : (tensor<3xf32>, tensor<4x3xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// What a partition holds is its backend's.
// CHECK-LABEL: delegate.partition @inside
// CHECK-NEXT:    edge.silu
delegate.partition @inside backend "XnnpackBackend" (%x: tensor<2xf32>) -> (tensor<2xf32>) {
  %0 = edge.silu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  delegate.return %0 : tensor<2xf32>
}
