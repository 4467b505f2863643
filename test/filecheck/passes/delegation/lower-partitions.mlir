// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p lower-partitions,convert-edge-to-exec | filecheck %s

// CHECK:       delegate.payload @p backend "FlambeauElementwise" (#flambeau.blob<"payload.p", "{{.*}}">) : (tensor<4xf32>) -> tensor<4xf32> attributes {operators = {edge.relu = 1 : i64}}
// CHECK-LABEL: exec.method @forward
// CHECK-NEXT:    %x = exec.tensor : tensor<4xf32>
// CHECK-NEXT:    %[[Y:.*]] = exec.tensor : tensor<4xf32>
// CHECK-NEXT:    exec.delegate_call @p(%x) outs(%[[Y]])
// CHECK-NEXT:    exec.return inputs(%x) outputs(%[[Y]])
delegate.partition @p backend "FlambeauElementwise" (%a: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = edge.relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
  delegate.return %0 : tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = delegate.call @p(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{lower-partitions: partition @p cannot be lowered: no backend here is called 'Other' by programs (}}
delegate.partition @p backend "Other" (%a: tensor<4xf32>) -> (tensor<4xf32>) {
  delegate.return %a : tensor<4xf32>
}

// -----

// expected-error @+1 {{lower-partitions: elementwise: partition @p holds edge.cos: the backend has no such operator}}
delegate.partition @p backend "FlambeauElementwise" (%a: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = edge.cos(%a) : (tensor<4xf32>) -> tensor<4xf32>
  delegate.return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{lower-partitions: elementwise: partition @p holds edge.neg: a tensor is of i64, and its kernel takes f32}}
delegate.partition @p backend "FlambeauElementwise" (%a: tensor<4xi64>) -> (tensor<4xi64>) {
  %0 = edge.neg(%a) : (tensor<4xi64>) -> tensor<4xi64>
  delegate.return %0 : tensor<4xi64>
}
