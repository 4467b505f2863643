// flambeau-opt -p 'group-attention,remove-dead-code'
func.func @forward(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x3x8xf32>) -> tensor<1x4x3x8xf32> {
  %0 = aten.repeat_interleave.self_int(%k) {repeats = 2, dim = 1} : (tensor<1x2x3x8xf32>) -> tensor<1x4x3x8xf32>
  %1 = aten.scaled_dot_product_attention(%q, %0, %0, none) {is_causal = true} : (tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>) -> tensor<1x4x3x8xf32>
  func.return %1 : tensor<1x4x3x8xf32>
}

// -----

func.func @forward(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x3x8xf32>) -> tensor<1x4x3x8xf32> {
  %0 = aten.scaled_dot_product_attention(%q, %k, %k, none) {is_causal = true, enable_gqa = true} : (tensor<1x4x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>) -> tensor<1x4x3x8xf32>
  func.return %0 : tensor<1x4x3x8xf32>
}
