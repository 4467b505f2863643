// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<1x8x8x3xf32>, %w: tensor<4x3x3x2xf32>) -> tensor<1x6x6x4xf32> {
  // expected-error @+1 {{xnnpack.conv2d: filter must have the shape [4, 3, 3, 3], got [4, 3, 3, 2]}}
  %0 = xnnpack.conv2d(%x, %w, none) {kernel_height = 3, kernel_width = 3, group_input_channels = 3, group_output_channels = 4} : (tensor<1x8x8x3xf32>, tensor<4x3x3x2xf32>) -> tensor<1x6x6x4xf32>
  func.return %0 : tensor<1x6x6x4xf32>
}

// -----

func.func @f(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @+1 {{xnnpack.abs is not defined for float64 tensors; it is for float16, float32}}
  %0 = xnnpack.abs(%x) : (tensor<4xf64>) -> tensor<4xf64>
  func.return %0 : tensor<4xf64>
}

// -----

func.func @f(%x: tensor<4xf16>, %y: tensor<4xf32>) -> tensor<4xf16> {
  // expected-error @+1 {{xnnpack.add: operands are of f16 and f32; a node computes with one type}}
  %0 = xnnpack.add(%x, %y) : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf16>
  func.return %0 : tensor<4xf16>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xi32> {
  // expected-error @+1 {{xnnpack.convert: there is no conversion to i32}}
  %0 = xnnpack.convert(%x) {dtype = i32} : (tensor<4xf32>) -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{xnnpack.clamp: the result is limited to [2.0, 1.0], which holds nothing}}
  %0 = xnnpack.clamp(%x) {output_min = 2.0, output_max = 1.0} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<1x4x4x3xf32>) -> tensor<1x2x2x3xf32> {
  // expected-error @+1 {{xnnpack.max_pooling2d: flags 0x4 have no meaning here; those known are 0x40}}
  %0 = xnnpack.max_pooling2d(%x) {pooling_height = 2, pooling_width = 2, stride_height = 2, stride_width = 2, flags = 4} : (tensor<1x4x4x3xf32>) -> tensor<1x2x2x3xf32>
  func.return %0 : tensor<1x2x2x3xf32>
}

// -----

func.func @f(%x: tensor<1x2x3xf32>) -> tensor<6xf32> {
  // expected-error @+1 {{xnnpack.static_reshape: [1, 2, 3] cannot have the shape [4, 0]}}
  %0 = xnnpack.static_reshape(%x) {new_shape = [4, 0]} : (tensor<1x2x3xf32>) -> tensor<6xf32>
  func.return %0 : tensor<6xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xi8> {
  // expected-error @+1 {{xnnpack.quantize: zero point 128 is no integer of 8 bits}}
  %0 = xnnpack.quantize(%x) {scale = 0.5, zero_point = 128} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xi8>) -> tensor<4xf32> {
  // expected-error @+1 {{xnnpack.dequantize: scales must be normal positive numbers of float32}}
  %0 = xnnpack.dequantize(%x) {scale = 0.0, zero_point = 1} : (tensor<4xi8>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{xnnpack.round_rows: a row of [2, 4] has 1 to 2 dimensions, not 3}}
  %0 = xnnpack.round_rows(%x) {num_nonbatch_dims = 3} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// -----

func.func @f(%x: tensor<2x4xf16>) -> tensor<2x4xf16> {
  // expected-error @+1 {{xnnpack.round_rows is not defined for float16 tensors; it is for float32}}
  %0 = xnnpack.round_rows(%x) {num_nonbatch_dims = 1} : (tensor<2x4xf16>) -> tensor<2x4xf16>
  func.return %0 : tensor<2x4xf16>
}
