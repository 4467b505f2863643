// flambeau-opt -p 'remove-redundant-clamps'
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = core.sigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = core.hardtanh(%0) {min_val = 0.0, max_val = 6.0} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = core.sigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
