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

// -----

func.func @linear_bias(%a0: tensor<2x3xf32>, %a1: tensor<1x3x16xf32>, %a2: tensor<3xf32>) {
  // expected-error @+1 {{fused.linear: bias must have the shape [4], got [3]}}
  %0 = fused.linear(%a0, %a1, %a2, none) {out_features = 4} : (tensor<2x3xf32>, tensor<1x3x16xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @linear_addend(%a0: tensor<2x3xf32>, %a1: tensor<1x3x16xf32>, %a2: tensor<2x3xf32>) {
  // expected-error @+1 {{fused.linear: addend must have the result's shape [2, 4], got [2, 3]}}
  %0 = fused.linear(%a0, %a1, none, %a2) {out_features = 4} : (tensor<2x3xf32>, tensor<1x3x16xf32>, tensor<2x3xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @misfit(%a0: tensor<1x2x5x4xf32>, %a1: tensor<1x2x5x3xf32>, %a2: tensor<1x2x5x4xf32>) {
  // expected-error @+1 {{fused.scaled_dot_product_attention: query [1, 2, 5, 4], key [1, 2, 5, 3] and value [1, 2, 5, 4] do not fit each other}}
  %0 = fused.scaled_dot_product_attention(%a0, %a1, %a2, none) {is_causal = false, scale = 0.5, enable_gqa = false} : (tensor<1x2x5x4xf32>, tensor<1x2x5x3xf32>, tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32>
  func.return
}

// -----

func.func @norm_shape(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{fused.layer_norm: normalized_shape [2] must be the last dimensions of the input's shape [2, 3]}}
  %0 = fused.layer_norm(%a0, none, none, none) {normalized_shape = [2], eps = 1.0e-05} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @norm_addend(%a0: tensor<2x3xf32>, %a1: tensor<3xf32>) {
  // expected-error @+1 {{fused.layer_norm: addend must have the input's shape [2, 3], got [3]}}
  %0 = fused.layer_norm(%a0, %a1, none, none) {normalized_shape = [3], eps = 1.0e-05} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @norm_weight(%a0: tensor<2x3xf32>, %a1: tensor<2xf32>) {
  // expected-error @+1 {{fused.layer_norm: weight and bias must have the shape [3], got [2]}}
  %0 = fused.layer_norm(%a0, none, %a1, none) {normalized_shape = [3], eps = 1.0e-05} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @conv_rank(%a0: tensor<3x5x5xf32>, %a1: tensor<1x27x16xf32>) {
  // expected-error @+1 {{fused.conv2d: input must have 4 dimensions, got 3}}
  %0 = fused.conv2d(%a0, %a1, none, none) {kernel_size = [3, 3], stride = [1, 1], padding = [0, 0], dilation = [1, 1], groups = 1, out_channels = 4} : (tensor<3x5x5xf32>, tensor<1x27x16xf32>) -> tensor<4x3x3xf32>
  func.return
}

// -----

func.func @conv_groups(%a0: tensor<1x4x5x5xf32>, %a1: tensor<1x18x16xf32>) {
  // expected-error @+1 {{fused.conv2d: groups must be 1, or both numbers of channels; got 2 with 4 and 4 channels}}
  %0 = fused.conv2d(%a0, %a1, none, none) {kernel_size = [3, 3], stride = [1, 1], padding = [0, 0], dilation = [1, 1], groups = 2, out_channels = 4} : (tensor<1x4x5x5xf32>, tensor<1x18x16xf32>) -> tensor<1x4x3x3xf32>
  func.return
}

// -----

func.func @conv_packed(%a0: tensor<1x3x5x5xf32>, %a1: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{fused.conv2d: packed_weight must have the shape [1, 27, 16], got [4, 3, 3, 3]}}
  %0 = fused.conv2d(%a0, %a1, none, none) {kernel_size = [3, 3], stride = [1, 1], padding = [0, 0], dilation = [1, 1], groups = 1, out_channels = 4} : (tensor<1x3x5x5xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x3x3xf32>
  func.return
}

// -----

func.func @conv_stride(%a0: tensor<1x3x5x5xf32>, %a1: tensor<1x27x16xf32>) {
  // expected-error @+1 {{fused.conv2d: kernel_size, stride and dilation must be positive and padding not negative}}
  %0 = fused.conv2d(%a0, %a1, none, none) {kernel_size = [3, 3], stride = [0, 1], padding = [0, 0], dilation = [1, 1], groups = 1, out_channels = 4} : (tensor<1x3x5x5xf32>, tensor<1x27x16xf32>) -> tensor<1x4x3x3xf32>
  func.return
}

// -----

func.func @conv_kernel(%a0: tensor<1x3x2x2xf32>, %a1: tensor<1x27x16xf32>) {
  // expected-error @+1 {{fused.conv2d: the kernel [3, 3] does not fit the padded input [1, 3, 2, 2]}}
  %0 = fused.conv2d(%a0, %a1, none, none) {kernel_size = [3, 3], stride = [1, 1], padding = [0, 0], dilation = [1, 1], groups = 1, out_channels = 4} : (tensor<1x3x2x2xf32>, tensor<1x27x16xf32>) -> tensor<1x4x3x3xf32>
  func.return
}

// -----

func.func @conv_addend(%a0: tensor<1x3x5x5xf32>, %a1: tensor<1x27x16xf32>, %a2: tensor<1x4x2x2xf32>) {
  // expected-error @+1 {{fused.conv2d: addend must have the result's shape [1, 4, 3, 3], got [1, 4, 2, 2]}}
  %0 = fused.conv2d(%a0, %a1, none, %a2) {kernel_size = [3, 3], stride = [1, 1], padding = [0, 0], dilation = [1, 1], groups = 1, out_channels = 4} : (tensor<1x3x5x5xf32>, tensor<1x27x16xf32>, tensor<1x4x2x2xf32>) -> tensor<1x4x3x3xf32>
  func.return
}

// -----

func.func @window(%q: tensor<1x2x3x4xf32>, %p: tensor<1xi64>) -> tensor<1x2x3x4xf32> {
  // expected-error @+1 {{fused.cached_attention: the window must have at least one key, got 0}}
  %0 = fused.cached_attention(%q, %q, %q, %p) {scale = 0.5, window = 0} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1xi64>) -> tensor<1x2x3x4xf32>
  func.return %0 : tensor<1x2x3x4xf32>
}

// -----

func.func @position(%q: tensor<1x2x3x4xf32>, %p: tensor<2xi64>) -> tensor<1x2x3x4xf32> {
  // expected-error @+1 {{fused.cached_attention: position must be one number of int64, got tensor<2xi64>}}
  %0 = fused.cached_attention(%q, %q, %q, %p) {scale = 0.5} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<2xi64>) -> tensor<1x2x3x4xf32>
  func.return %0 : tensor<1x2x3x4xf32>
}
