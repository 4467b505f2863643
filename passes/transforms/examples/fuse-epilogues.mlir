// flambeau-opt -p 'fuse-epilogues'
func.func @forward(%x: tensor<2x3xf32>, %w: tensor<1x3x16xf32>, %r: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = fused.linear(%x, %w, none, none) {out_features = 4} : (tensor<2x3xf32>, tensor<1x3x16xf32>) -> tensor<2x4xf32>
  %1 = edge.add.Tensor(%r, %0) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = edge.relu(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %2 : tensor<2x4xf32>
}

// -----

func.func @forward(%x: tensor<2x3xf32>, %w: tensor<1x3x16xf32>, %r: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = fused.linear(%x, %w, none, %r) {out_features = 4, activation = "relu"} : (tensor<2x3xf32>, tensor<1x3x16xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
