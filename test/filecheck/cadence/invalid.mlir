// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

func.func @types(%x: tensor<2x3xi8>, %w: tensor<4x3xui8>, %b: tensor<4xi32>) {
  // expected-error @+1 {{cadence.quantized_linear.per_tensor: the operands must be of int8 or uint8, all of one, got int8, uint8}}
  %0 = cadence.quantized_linear.per_tensor(%x, %w, %b, none) {src_zero_point = 3, weight_zero_point = 0, out_multiplier = 1, out_shift = 0, out_zero_point = 2} : (tensor<2x3xi8>, tensor<4x3xui8>, tensor<4xi32>) -> tensor<2x4xi8>
  func.return
}

// -----

func.func @zero_points(%x: tensor<2x3xi8>, %w: tensor<4x3xi8>, %b: tensor<4xi32>) {
  // expected-error @+1 {{zero points must be numbers of int8, from -128 to 127, got 3, 0, 200}}
  %0 = cadence.quantized_linear.per_tensor(%x, %w, %b, none) {src_zero_point = 3, weight_zero_point = 0, out_multiplier = 1, out_shift = 0, out_zero_point = 200} : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<4xi32>) -> tensor<2x4xi8>
  func.return
}

// -----

func.func @ratio(%x: tensor<2x3xi8>) {
  // expected-error @+1 {{out_multiplier must be from 0 to 2147483647 and out_shift from -30 to 30, got 5 and 31}}
  %0 = cadence.quantized_relu.per_tensor(%x) {X_zero_point = 3, out_zero_point = 3, out_multiplier = 5, out_shift = 31} : (tensor<2x3xi8>) -> tensor<2x3xi8>
  func.return
}

// -----

func.func @bias(%x: tensor<2x3xi8>, %w: tensor<4x3xi8>, %b: tensor<3xi32>) {
  // expected-error @+1 {{the bias must have the shape [4], got [3]}}
  %0 = cadence.quantized_linear.per_tensor(%x, %w, %b, none) {src_zero_point = 3, weight_zero_point = 0, out_multiplier = 1, out_shift = 0, out_zero_point = 2} : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<3xi32>) -> tensor<2x4xi8>
  func.return
}

// -----

func.func @window(%x: tensor<1x3x8x8xi8>, %w: tensor<2x3x3x3xi8>, %b: tensor<2xi32>) {
  // expected-error @+1 {{input must have 3 or 4 dimensions, and each window as many numbers, got [1, 3, 8, 8]}}
  %0 = cadence.quantized_conv2d_nchw.per_tensor(%x, %w, %b) {stride = [2], padding = [1, 1], dilation = [1, 1], groups = 1, input_zero_point = 3, weight_zero_point = 0, bias_scale = 0.0625, out_scale = 0.25, out_zero_point = 0, out_multiplier = 1, out_shift = 0} : (tensor<1x3x8x8xi8>, tensor<2x3x3x3xi8>, tensor<2xi32>) -> tensor<1x2x4x4xi8>
  func.return
}

// -----

func.func @scales(%x: tensor<2x3xi8>) {
  // expected-error @+1 {{scales must be from 2^-100 to 2^100, got 0.5 and 0.5 and 0.0}}
  %0 = cadence.quantized_add_asym8sxasym8s_asym8s.per_tensor(%x, %x) {X_scale = 0.5, X_zero_point = 3, Y_scale = 0.5, Y_zero_point = 3, out_scale = 0.0, out_zero_point = 0} : (tensor<2x3xi8>, tensor<2x3xi8>) -> tensor<2x3xi8>
  func.return
}

// -----

func.func @typed(%x: tensor<2x3xui8>) {
  // expected-error @+1 {{cadence.quantized_relu_asym8s_asym8s.per_tensor is not defined for uint8 tensors; it is for int8}}
  %0 = cadence.quantized_relu_asym8s_asym8s.per_tensor(%x) {X_zero_point = 3, out_zero_point = 3, out_multiplier = 5, out_shift = 1} : (tensor<2x3xui8>) -> tensor<2x3xui8>
  func.return
}
