// flambeau-opt -p 'fuse-rms-norm,remove-dead-code'
func.func @forward(%x: tensor<2x4xf32>, %w: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = edge.pow.Tensor_Scalar(%x) {exponent = 2.0} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = edge.mean.dim(%0) {dim = [-1], keepdim = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = edge.add.Scalar(%1) {other = 1.0e-06} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %3 = edge.rsqrt(%2) : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = edge.mul.Tensor(%x, %3) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %5 = edge.mul.Tensor(%w, %4) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %5 : tensor<2x4xf32>
}

// -----

func.func @forward(%x: tensor<2x4xf32>, %w: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = fused.rms_norm(%x, none, %w) {normalized_shape = [4], eps = 1.0e-06} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
