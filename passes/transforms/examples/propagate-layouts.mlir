// flambeau-opt -p 'propagate-layouts'
func.func @forward(%x: tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>> {
  %0 = edge._to_dim_order_copy(%x) {dim_order = [0, 1, 2, 3]} : (tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x4x4xf32>
  %1 = edge.relu(%0) : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  %2 = edge._to_dim_order_copy(%1) {dim_order = [0, 2, 3, 1]} : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>
  func.return %2 : tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>
}

// -----

func.func @forward(%x: tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>> {
  %0 = edge.relu(%x) : (tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>
  func.return %0 : tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>
}
