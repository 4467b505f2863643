// flambeau-opt -p 'convert-core-to-edge'
func.func @forward(%x: tensor<2x3xi64>, %y: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = core.add.Tensor(%x, %y) : (tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = core.view(%0) {size = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %1 : tensor<6xf32>
}

// -----

func.func @forward(%x: tensor<2x3xi64>, %y: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = edge._to_copy(%x) {dtype = f32} : (tensor<2x3xi64>) -> tensor<2x3xf32>
  %1 = edge.add.Tensor(%0, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.view_copy(%1) {size = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %2 : tensor<6xf32>
}
