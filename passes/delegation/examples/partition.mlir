// flambeau-opt -p 'partition{backends=elementwise}'
func.func @forward(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.add.Tensor(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.relu(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.cumsum(%1) {dim = 0} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// -----

delegate.partition @forward_elementwise_0 backend "FlambeauElementwise" (%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = edge.add.Tensor(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.relu(%0) : (tensor<4xf32>) -> tensor<4xf32>
  delegate.return %1 : tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = delegate.call @forward_elementwise_0(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.cumsum(%0) {dim = 0} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
