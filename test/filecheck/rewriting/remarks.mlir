// RUN: flambeau-opt %s --split-input-file --verify-diagnostics --remarks -p fuse-epilogues
// RUN: flambeau-opt %s --split-input-file -p fuse-epilogues 2>&1 | filecheck %s

// What was nearly done is said to those who ask, with the reason.
// CHECK-NOT: remark
func.func @activation(%x: tensor<2x3xf32>, %w: tensor<1x3x16xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = fused.linear(%x, %w, none, none) {out_features = 4} : (tensor<2x3xf32>, tensor<1x3x16xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{not fused with fused.linear: something else reads its result too}}
  %1 = edge.relu(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// A reason that a later rewrite made void is not given.
// CHECK: fused.layer_norm(%x, %y
func.func @norm(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> (tensor<2x4xf32>) {
  %0 = edge.add.Tensor(%x, %y) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = fused.layer_norm(%0, none, none, none) {normalized_shape = [4], eps = 1.0e-05} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = edge.relu(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}
