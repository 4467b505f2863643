// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

func.func @type(%x: tensor<2x3xf32>) -> tensor<2x3xi16> {
  // expected-error @+1 {{quantized_decomposed.quantize_per_tensor: result types must be (tensor<2x3xi8>), got (tensor<2x3xi16>)}}
  %0 = quantized_decomposed.quantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi16>
  func.return %0 : tensor<2x3xi16>
}

// -----

func.func @missing(%x: tensor<2x3xf32>) -> tensor<2x3xi8> {
  // expected-error @+1 {{quantized_decomposed.quantize_per_tensor needs the attribute 'zero_point'}}
  %0 = quantized_decomposed.quantize_per_tensor(%x) {scale = 0.5, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %0 : tensor<2x3xi8>
}

// -----

func.func @no_float(%a0: tensor<2x3xi64>) {
  // expected-error @+1 {{quantized_decomposed.quantize_per_tensor: only floats are quantised, got int64}}
  %0 = quantized_decomposed.quantize_per_tensor(%a0) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi64>) -> tensor<2x3xi8>
  func.return
}

// -----

func.func @no_element(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{quantized_decomposed.quantize_per_tensor: a quantised tensor cannot have elements of float32}}
  %0 = quantized_decomposed.quantize_per_tensor(%a0) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @range(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{quantized_decomposed.quantize_per_tensor: the range -128 to 255 does not fit int8}}
  %0 = quantized_decomposed.quantize_per_tensor(%a0) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 255, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return
}

// -----

func.func @declared(%a0: tensor<2x3xi16>) {
  // expected-error @+1 {{quantized_decomposed.dequantize_per_tensor: the tensor has elements of int16, but dtype is int8}}
  %0 = quantized_decomposed.dequantize_per_tensor(%a0) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi16>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @scalar(%a0: tensor<2x3xf32>, %a1: tensor<2xf64>, %a2: tensor<1xi64>) {
  // expected-error @+1 {{quantized_decomposed.quantize_per_tensor.tensor: scale must have one element, got shape [2]}}
  %0 = quantized_decomposed.quantize_per_tensor.tensor(%a0, %a1, %a2) {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>, tensor<2xf64>, tensor<1xi64>) -> tensor<2x3xi8>
  func.return
}

// -----

func.func @per_channel(%a0: tensor<2x3xf32>, %a1: tensor<3xf64>, %a2: tensor<2xi64>) {
  // expected-error @+1 {{quantized_decomposed.quantize_per_channel: scales and zero points must have shape [2], got [3]}}
  %0 = quantized_decomposed.quantize_per_channel(%a0, %a1, %a2) {axis = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>, tensor<3xf64>, tensor<2xi64>) -> tensor<2x3xi8>
  func.return
}

// -----

func.func @axis(%a0: tensor<2x3xf32>, %a1: tensor<3xf64>, %a2: tensor<3xi64>) {
  // expected-error @+1 {{quantized_decomposed.quantize_per_channel: dim 2 is out of range for rank 2}}
  %0 = quantized_decomposed.quantize_per_channel(%a0, %a1, %a2) {axis = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>, tensor<3xf64>, tensor<3xi64>) -> tensor<2x3xi8>
  func.return
}

// -----

func.func @per_token(%a0: tensor<2x3xf32>, %a1: tensor<3x1xf64>, %a2: tensor<2x1xi64>) {
  // expected-error @+1 {{quantized_decomposed.quantize_per_token: scales and zero points must have shape [2, 1], got [3, 1]}}
  %0 = quantized_decomposed.quantize_per_token(%a0, %a1, %a2) {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>, tensor<3x1xf64>, tensor<2x1xi64>) -> tensor<2x3xi8>
  func.return
}

// -----

func.func @per_group(%a0: tensor<2x6xf32>, %a1: tensor<2x2xf32>, %a2: tensor<2x2xi32>) {
  // expected-error @+1 {{quantized_decomposed.quantize_per_channel_group: the rows of shape [2, 6] do not divide into groups of 4, at least 2}}
  %0 = quantized_decomposed.quantize_per_channel_group(%a0, %a1, %a2) {quant_min = -8, quant_max = 7, dtype = i8, group_size = 4} : (tensor<2x6xf32>, tensor<2x2xf32>, tensor<2x2xi32>) -> tensor<2x6xi8>
  func.return
}

// -----

func.func @groups(%a0: tensor<2x6xf32>, %a1: tensor<2x2xf32>, %a2: tensor<2x2xi32>) {
  // expected-error @+1 {{quantized_decomposed.quantize_per_channel_group: scales and zero points must have 6 elements, got shape [2, 2]}}
  %0 = quantized_decomposed.quantize_per_channel_group(%a0, %a1, %a2) {quant_min = -8, quant_max = 7, dtype = i8, group_size = 2} : (tensor<2x6xf32>, tensor<2x2xf32>, tensor<2x2xi32>) -> tensor<2x6xi8>
  func.return
}

// -----

func.func @bounds(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{quantized_decomposed.choose_qparams.tensor: quant_min 127 must be smaller than quant_max -128}}
  %0, %1 = quantized_decomposed.choose_qparams.tensor(%a0) {quant_min = 127, quant_max = -128, eps = 0.001, dtype = i8} : (tensor<2x3xf32>) -> (tensor<1xf64>, tensor<1xi64>)
  func.return
}

// -----

func.func @token_type(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{quantized_decomposed.choose_qparams_per_token: it chooses for int8, not for int16}}
  %0, %1 = quantized_decomposed.choose_qparams_per_token(%a0) {dtype = i16} : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>)
  func.return
}

// -----

func.func @mixed(%a0: tensor<2x3xf32>, %a1: tensor<3x4xf32>, %a2: tensor<3xf32>) {
  // expected-error @+1 {{quantized_decomposed.mixed_mm: needs a float matrix and an int8 matrix, got tensor<2x3xf32> and tensor<3x4xf32>}}
  %0 = quantized_decomposed.mixed_mm(%a0, %a1, %a2, none) : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @mixed_scales(%a0: tensor<2x3xf32>, %a1: tensor<3x4xi8>, %a2: tensor<4xf32>) {
  // expected-error @+1 {{quantized_decomposed.mixed_mm: scales [4] must have one entry per row of the weight [3, 4]}}
  %0 = quantized_decomposed.mixed_mm(%a0, %a1, %a2, none) : (tensor<2x3xf32>, tensor<3x4xi8>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @mixed_zero(%a0: tensor<2x3xf32>, %a1: tensor<3x4xi8>, %a2: tensor<3xf32>, %a3: tensor<3xf32>) {
  // expected-error @+1 {{quantized_decomposed.mixed_mm: the weight must be quantised symmetrically: no kernel subtracts zero points}}
  %0 = quantized_decomposed.mixed_mm(%a0, %a1, %a2, %a3) : (tensor<2x3xf32>, tensor<3x4xi8>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @mixed_linear(%a0: tensor<2x3xf32>, %a1: tensor<4x5xi8>, %a2: tensor<4xf32>) {
  // expected-error @+1 {{quantized_decomposed.mixed_linear: input [2, 3] and scales [4] do not fit weight [4, 5]}}
  %0 = quantized_decomposed.mixed_linear(%a0, %a1, %a2, none) : (tensor<2x3xf32>, tensor<4x5xi8>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @attribute_type(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a value of type int, got 0.5}}
  %0, %1 = quantized_decomposed.choose_qparams.tensor(%a0) {quant_min = 0.5, quant_max = 127, eps = 0.001, dtype = i8} : (tensor<2x3xf32>) -> (tensor<1xf64>, tensor<1xi64>)
  func.return
}
