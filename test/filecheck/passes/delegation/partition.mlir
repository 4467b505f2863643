// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p partition{backends=elementwise} | filecheck %s

// What lies between two groups splits them: one group would wait for itself. A constant number becomes part of the partition.
ml_program.global private @half(#flambeau.blob<"half", "0000000000000000">) : tensor<f32>
// CHECK:       delegate.partition @forward_elementwise_0 backend "FlambeauElementwise" (%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
// CHECK-NEXT:    %[[H:.*]] = ml_program.global_load_const @half : tensor<f32>
// CHECK-NEXT:    %[[A:.*]] = edge.add.Tensor(%x, %y)
// CHECK-NEXT:    %[[B:.*]] = edge.relu(%[[A]])
// CHECK-NEXT:    %[[C:.*]] = edge.mul.Tensor(%[[B]], %[[H]])
// CHECK-NEXT:    delegate.return %[[B]], %[[C]]
// CHECK:       delegate.partition @forward_elementwise_1
// CHECK-NEXT:    edge.sub.Tensor
// CHECK-NEXT:    edge.sigmoid
// CHECK-LABEL: func.func @forward
// CHECK:         %[[R:.*]], %[[S:.*]] = delegate.call @forward_elementwise_0(%x, %y)
// CHECK-NEXT:    %[[P:.*]] = edge.permute_copy(%[[R]])
// CHECK-NEXT:    %[[Q:.*]] = edge.permute_copy(%[[P]])
// CHECK-NEXT:    %[[T:.*]] = delegate.call @forward_elementwise_1(%[[S]], %[[Q]])
// CHECK-NEXT:    func.return %[[T]]
func.func @forward(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %h = ml_program.global_load_const @half : tensor<f32>
  %0 = edge.add.Tensor(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.permute_copy(%1) {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = edge.permute_copy(%2) {dims = [1, 0]} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %4 = edge.mul.Tensor(%1, %h) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %5 = edge.sub.Tensor(%4, %3) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = edge.sigmoid(%5) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %6 : tensor<2x3xf32>
}

// -----

// What the backend refuses stays: integers, broadcasts, an alpha, an operator on its own.
// CHECK-LABEL: func.func @stays
// CHECK-NOT:     delegate.call
// CHECK:         func.return
func.func @stays(%x: tensor<2x3xf32>, %r: tensor<3xf32>, %i: tensor<2xi64>) -> (tensor<2x3xf32>, tensor<2xi64>) {
  %0 = edge.add.Tensor(%x, %r) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = edge.sub.Tensor(%0, %x) {alpha = 2} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.relu(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = edge.neg(%i) : (tensor<2xi64>) -> tensor<2xi64>
  %4 = edge.neg(%3) : (tensor<2xi64>) -> tensor<2xi64>
  func.return %2, %4 : tensor<2x3xf32>, tensor<2xi64>
}

// -----

// What is in the regions of control flow goes too, and the branch waits for the partition whose result it reads.
// CHECK:       delegate.partition @branches_elementwise_0 backend "FlambeauElementwise" (%x: tensor<3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT:    edge.relu
// CHECK-NEXT:    edge.tanh
// CHECK:       delegate.partition @branches_elementwise_1
// CHECK-NEXT:    edge.add.Tensor
// CHECK-NEXT:    edge.sigmoid
// CHECK-LABEL: func.func @branches
// CHECK-NEXT:    %[[A:.*]] = delegate.call @branches_elementwise_0(%x)
// CHECK-NEXT:    scf.if %c
// CHECK-NEXT:      %[[B:.*]] = delegate.call @branches_elementwise_1(%x, %[[A]])
// CHECK-NEXT:      scf.yield %[[B]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      edge.neg
func.func @branches(%x: tensor<3xf32>, %c: i1) -> tensor<3xf32> {
  %0 = edge.relu(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = edge.tanh(%0) : (tensor<3xf32>) -> tensor<3xf32>
  %2 = scf.if %c -> (tensor<3xf32>) {
    %3 = edge.add.Tensor(%x, %1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %4 = edge.sigmoid(%3) : (tensor<3xf32>) -> tensor<3xf32>
    scf.yield %4 : tensor<3xf32>
  } else {
    %5 = edge.neg(%1) : (tensor<3xf32>) -> tensor<3xf32>
    scf.yield %5 : tensor<3xf32>
  }
  func.return %2 : tensor<3xf32>
}

// -----

// What the backend's compiler refused before, with the same options, stays; what another one refused goes.
// CHECK:       delegate.partition @refused_elementwise_0
// CHECK-NEXT:    edge.relu(%x) {refused = {xnnpack = "no room"}}
// CHECK-NEXT:    edge.neg
// CHECK-LABEL: func.func @refused
// CHECK-NEXT:    %[[R:.*]] = delegate.call @refused_elementwise_0(%x)
// CHECK-NEXT:    edge.tanh(%[[R]]) {refused = {elementwise = "no room"}}
// CHECK-NEXT:    func.return
func.func @refused(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.relu(%x) {refused = {xnnpack = "no room"}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.neg(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.tanh(%1) {refused = {elementwise = "no room"}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}
