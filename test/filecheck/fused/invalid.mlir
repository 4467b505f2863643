// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

func.func @unpacked(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{fused.linear: packed_weight must have the shape [1, 3, 16], got [4, 3]}}
  %0 = fused.linear(%x, %w, none, none) {out_features = 4} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// -----

func.func @activation(%x: tensor<2x3xf32>, %w: tensor<1x3x16xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{fused.linear: activation must be one of none, relu, relu6, gelu, gelu_tanh, silu, hardswish, hardsigmoid, sigmoid, tanh, got 'softmax'}}
  %0 = fused.linear(%x, %w, none, none) {out_features = 4, activation = "softmax"} : (tensor<2x3xf32>, tensor<1x3x16xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// -----

func.func @heads(%q: tensor<1x3x5x4xf32>, %k: tensor<1x2x5x4xf32>) -> tensor<1x3x5x4xf32> {
  // expected-error @+1 {{fused.scaled_dot_product_attention: 3 query heads do not share 2 key heads}}
  %0 = fused.scaled_dot_product_attention(%q, %k, %k, none) {is_causal = false, scale = 0.5, enable_gqa = true} : (tensor<1x3x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x3x5x4xf32>
  func.return %0 : tensor<1x3x5x4xf32>
}
