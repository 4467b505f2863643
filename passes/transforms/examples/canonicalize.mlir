// flambeau-opt -p 'canonicalize'
func.func @forward(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = core.view(%x) {size = [3, 2]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = core.view(%0) {size = [6]} : (tensor<3x2xf32>) -> tensor<6xf32>
  %2 = core.clone(%1) : (tensor<6xf32>) -> tensor<6xf32>
  func.return %2 : tensor<6xf32>
}

// -----

func.func @forward(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = core.view(%x) {size = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %0 : tensor<6xf32>
}
