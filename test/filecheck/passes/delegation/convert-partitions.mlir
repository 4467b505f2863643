// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p convert-partitions | filecheck %s

// A backend without a dialect takes the operators as they are.
// CHECK:       delegate.partition @p backend "FlambeauElementwise"
// CHECK-NEXT:    edge.relu
delegate.partition @p backend "FlambeauElementwise" (%a: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = edge.relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
  delegate.return %0 : tensor<4xf32>
}

// -----

// CHECK:       delegate.partition @p backend "XnnpackBackend"
// CHECK-NEXT:    xnnpack.clamp(%a) {output_min = 0.0}
delegate.partition @p backend "XnnpackBackend" (%a: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = edge.relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
  delegate.return %0 : tensor<4xf32>
}

// -----

delegate.partition @p backend "XnnpackBackend" (%a: tensor<4xf32>) -> (tensor<4xf32>) {
  // expected-error @+1 {{convert-partitions: 1 operation cannot be converted to the xnnpack dialect: edge.acos: the backend computes operators of its own}}
  %0 = edge.acos(%a) : (tensor<4xf32>) -> tensor<4xf32>
  delegate.return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{convert-partitions: partition @p cannot be converted: no backend here is called 'Other' by programs (}}
delegate.partition @p backend "Other" (%a: tensor<4xf32>) -> (tensor<4xf32>) {
  delegate.return %a : tensor<4xf32>
}
