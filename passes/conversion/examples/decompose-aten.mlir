// flambeau-opt -p 'decompose-aten'
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.silu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.square(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.silu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.mul.Tensor(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
