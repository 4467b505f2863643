// flambeau-opt -p 'legalize-operators{target=executorch}'
func.func @forward(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> (tensor<4xf32>, tensor<2x3xf32>) {
  %0 = edge.silu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.relu(%y) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<2x3xf32>
}

// -----

func.func @forward(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> (tensor<4xf32>, tensor<2x3xf32>) {
  %0 = edge.sigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.mul.Tensor(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.relu(%y) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1, %2 : tensor<4xf32>, tensor<2x3xf32>
}
