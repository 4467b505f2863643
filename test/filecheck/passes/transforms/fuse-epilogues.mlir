// RUN: flambeau-opt %s -p fuse-epilogues | filecheck %s

// CHECK-LABEL: func.func @activation_and_addend
// CHECK-NEXT:    %[[Y:.*]] = fused.linear(%x, %w, none, %r) {out_features = 4, activation = "relu"} :
// CHECK-NEXT:    func.return %[[Y]]
func.func @activation_and_addend(%x: tensor<2x3xf32>, %w: tensor<1x3x16xf32>, %r: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = fused.linear(%x, %w, none, none) {out_features = 4} : (tensor<2x3xf32>, tensor<1x3x16xf32>) -> tensor<2x4xf32>
  %1 = edge.add.Tensor(%r, %0) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = edge.relu(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %2 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @names
// CHECK-NEXT:    fused.linear({{.*}}activation = "relu6"
// CHECK-NEXT:    fused.linear({{.*}}activation = "gelu_tanh"
func.func @names(%x: tensor<2x3xf32>, %w: tensor<1x3x16xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = fused.linear(%x, %w, none, none) {out_features = 4} : (tensor<2x3xf32>, tensor<1x3x16xf32>) -> tensor<2x4xf32>
  %1 = edge.hardtanh(%0) {min_val = 0.0, max_val = 6.0} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = fused.linear(%x, %w, none, none) {out_features = 4} : (tensor<2x3xf32>, tensor<1x3x16xf32>) -> tensor<2x4xf32>
  %3 = edge.gelu(%2) {approximate = "tanh"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %1, %3 : tensor<2x4xf32>, tensor<2x4xf32>
}

// A norm takes in the sum that only it reads.
// CHECK-LABEL: func.func @norm
// CHECK-NEXT:    fused.layer_norm(%a, %b, none, none)
func.func @norm(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = edge.add.Tensor(%a, %b) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = fused.layer_norm(%0, none, none, none) {normalized_shape = [4], eps = 1.0e-05} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}

// What something else reads stays, and so do an addition that broadcasts, one with a factor, and an activation before the addition.
// CHECK-LABEL: func.func @stays
// CHECK:         fused.linear({{.*}}) {out_features = 4} :
// CHECK-NEXT:    edge.relu
// CHECK-NEXT:    fused.linear({{.*}}) {out_features = 4} :
// CHECK-NEXT:    edge.add.Tensor
// CHECK-NEXT:    fused.linear({{.*}}) {out_features = 4} :
// CHECK-NEXT:    edge.add.Tensor
// CHECK-NEXT:    fused.linear({{.*}}activation = "relu"
// CHECK-NEXT:    edge.add.Tensor
func.func @stays(%x: tensor<2x3xf32>, %w: tensor<1x3x16xf32>, %r: tensor<1x4xf32>, %s: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = fused.linear(%x, %w, none, none) {out_features = 4} : (tensor<2x3xf32>, tensor<1x3x16xf32>) -> tensor<2x4xf32>
  %1 = edge.relu(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = fused.linear(%x, %w, none, none) {out_features = 4} : (tensor<2x3xf32>, tensor<1x3x16xf32>) -> tensor<2x4xf32>
  %3 = edge.add.Tensor(%2, %r) : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %4 = fused.linear(%x, %w, none, none) {out_features = 4} : (tensor<2x3xf32>, tensor<1x3x16xf32>) -> tensor<2x4xf32>
  %5 = edge.add.Tensor(%s, %4) {alpha = 2} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = fused.linear(%x, %w, none, none) {out_features = 4, activation = "relu"} : (tensor<2x3xf32>, tensor<1x3x16xf32>) -> tensor<2x4xf32>
  %7 = edge.add.Tensor(%6, %s) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %0, %1, %3, %5, %7 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
