// RUN: flambeau-opt %s -p fuse-rms-norm,remove-dead-code | filecheck %s

// CHECK-LABEL: func.func @rms_norm
// CHECK-NEXT:    %[[Y:.*]] = fused.rms_norm(%x, none, %w) {normalized_shape = [4], eps = 1.0e-06} :
// CHECK-NEXT:    func.return %[[Y]]
func.func @rms_norm(%x: tensor<2x4xf32>, %w: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = edge.pow.Tensor_Scalar(%x) {exponent = 2.0} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = edge.mean.dim(%0) {dim = [-1], keepdim = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = edge.add.Scalar(%1) {other = 1.0e-06} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %3 = edge.rsqrt(%2) : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = edge.mul.Tensor(%x, %3) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %5 = edge.mul.Tensor(%w, %4) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %5 : tensor<2x4xf32>
}

// The mean of another tensor, or over another dimension, is no norm of this one.
// CHECK-LABEL: func.func @other_tensor
// CHECK-NOT:     fused.rms_norm
// CHECK-LABEL: func.func @other_dimension
// CHECK-NOT:     fused.rms_norm
func.func @other_tensor(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %w: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = edge.pow.Tensor_Scalar(%y) {exponent = 2.0} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = edge.mean.dim(%0) {dim = [-1], keepdim = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = edge.add.Scalar(%1) {other = 1.0e-06} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %3 = edge.rsqrt(%2) : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = edge.mul.Tensor(%x, %3) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %5 = edge.mul.Tensor(%w, %4) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %5 : tensor<2x4xf32>
}
func.func @other_dimension(%x: tensor<4x4xf32>, %w: tensor<4xf32>) -> tensor<4x4xf32> {
  %0 = edge.pow.Tensor_Scalar(%x) {exponent = 2.0} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = edge.mean.dim(%0) {dim = [0], keepdim = true} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %2 = edge.add.Scalar(%1) {other = 1.0e-06} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %3 = edge.rsqrt(%2) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %4 = edge.mul.Tensor(%x, %3) : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  %5 = edge.mul.Tensor(%w, %4) : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %5 : tensor<4x4xf32>
}

// The mean of everything.
// CHECK-LABEL: func.func @other_means
// CHECK-NOT:     fused.rms_norm
func.func @other_means(%x: tensor<2x4xf32>, %w: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = edge.mul.Tensor(%x, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = edge.mean.dim(%0) {keepdim = true} : (tensor<2x4xf32>) -> tensor<1x1xf32>
  %2 = edge.add.Scalar(%1) {other = 1.0e-5} : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %3 = edge.rsqrt(%2) : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %4 = edge.mul.Tensor(%x, %3) : (tensor<2x4xf32>, tensor<1x1xf32>) -> tensor<2x4xf32>
  %5 = edge.mul.Tensor(%4, %w) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %5 : tensor<2x4xf32>
}
