// RUN: flambeau-opt %s --verify-diagnostics --split-input-file

func.func @windows(%x: tensor<1x2x2x3xi8>) {
  // expected-error @+1 {{litert.max_pool_2d: there is no window of 3 with gaps of 1 in steps of 1 in 2 elements, VALID}}
  %0 = litert.max_pool_2d(%x) {padding = "VALID", stride_w = 1, stride_h = 1, filter_width = 3, filter_height = 3, scales = [0.5], zero_points = [0]} : (tensor<1x2x2x3xi8>) -> tensor<1x1x1x3xi8>
  func.return
}

// -----

func.func @around(%x: tensor<1x2x2x3xi8>) {
  // expected-error @+1 {{litert.max_pool_2d: with its padding, an image of [1, 2, 2, 3] has 2999970000075 elements; 268435456 are the most}}
  %0 = litert.max_pool_2d(%x) {padding = "SAME", stride_w = 1, stride_h = 1, filter_width = 999994, filter_height = 999994, scales = [0.5], zero_points = [0]} : (tensor<1x2x2x3xi8>) -> tensor<1x2x2x3xi8>
  func.return
}

// -----

func.func @gaps(%x: tensor<1x4x4x3xf32>, %w: tensor<2x2x2x3xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{litert.conv_2d: with its padding, an image of [1, 4, 4, 3] has 15000000060 elements; 268435456 are the most}}
  %0 = litert.conv_2d(%x, %w, %b) {padding = "SAME", stride_w = 1, stride_h = 1, dilation_w_factor = 1000000000} : (tensor<1x4x4x3xf32>, tensor<2x2x2x3xf32>, tensor<2xf32>) -> tensor<1x4x4x2xf32>
  func.return
}

// -----

func.func @scales(%x: tensor<2x3xi8>) {
  // expected-error @+1 {{litert.add: 2 scales and 2 zero points, and activations of i8 have 3}}
  %0 = litert.add(%x, %x) {scales = [0.5, 0.5], zero_points = [0, 0]} : (tensor<2x3xi8>, tensor<2x3xi8>) -> tensor<2x3xi8>
  func.return
}

// -----

func.func @zero_points(%x: tensor<2x3xi8>) {
  // expected-error @+1 {{litert.quantize: the scales [0.5, 0.5] are not all positive, or the zero points [0, 200] not from -128 to 127}}
  %0 = litert.quantize(%x) {dtype = i8, scales = [0.5, 0.5], zero_points = [0, 200]} : (tensor<2x3xi8>) -> tensor<2x3xi8>
  func.return
}

// -----

func.func @fixed(%x: tensor<2x3xi8>) {
  // expected-error @+1 {{litert.logistic: the result has the scale 0.5 and the zero point 0, not (0.00390625, -128)}}
  %0 = litert.logistic(%x) {scales = [0.5, 0.5], zero_points = [0, 0]} : (tensor<2x3xi8>) -> tensor<2x3xi8>
  func.return
}

// -----

func.func @bias(%x: tensor<2x3xi8>, %w: tensor<4x3xi8>, %b: tensor<4xf32>) {
  // expected-error @+1 {{litert.fully_connected: activations tensor<2x3xi8>, the filter tensor<4x3xi8> and the bias tensor<4xf32> do not fit}}
  %0 = litert.fully_connected(%x, %w, %b) {scales = [0.5, 0.5], zero_points = [0, 0], filter_scales = [0.5]} : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<4xf32>) -> tensor<2x4xi8>
  func.return
}

// -----

func.func @padding(%x: tensor<2x3xf32>, %n: tensor<2xf32>) {
  // expected-error @+1 {{litert.padv2: tensor<2xf32> is not one number of the type of tensor<2x3xf32>}}
  %0 = litert.padv2(%x, %n) {padding = [0, 0, 1, 0]} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @channels(%x: tensor<1x4x4x3xf32>, %w: tensor<2x1x1x4xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{litert.conv_2d: the filter [2, 1, 1, 4] does not fit the image [1, 4, 4, 3]}}
  %0 = litert.conv_2d(%x, %w, %b) {padding = "VALID", stride_w = 1, stride_h = 1} : (tensor<1x4x4x3xf32>, tensor<2x1x1x4xf32>, tensor<2xf32>) -> tensor<1x4x4x2xf32>
  func.return
}

// -----

func.func @words(%x: tensor<1x4x4x3xf32>) {
  // expected-error @+1 {{litert.max_pool_2d: padding 'FULL' and activation 'NONE' are not of SAME, VALID, NONE, RELU, RELU_N1_TO_1, RELU6}}
  %0 = litert.max_pool_2d(%x) {padding = "FULL", stride_w = 1, stride_h = 1, filter_width = 1, filter_height = 1} : (tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @two_types_of_floats(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{litert.quantize: 2 scales and 2 zero points, and activations of i8 have 1}}
  %0 = litert.quantize(%x) {dtype = i8, scales = [0.5, 0.25], zero_points = [0, 0]} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return
}

// -----

func.func @reduced(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{litert.mean: the dimensions [1, 1] are not all of the 2 of the operand, or come twice}}
  %0 = litert.mean(%x) {axis = [1, 1]} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @no_integers(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{litert.dequantize is not defined for float32 tensors; it is for int8}}
  %0 = litert.dequantize(%x) {scales = [0.5], zero_points = [0]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @resized(%x: tensor<1x2x2x3xf32>) {
  // expected-error @+1 {{litert.resize_bilinear: an image [1, 2, 2, 3] cannot be resized to [4, 4], or corners are aligned and centers at halves}}
  %0 = litert.resize_bilinear(%x) {size = [4, 4], align_corners = true, half_pixel_centers = true} : (tensor<1x2x2x3xf32>) -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @undone(%x: tensor<1x2x2x3xf32>, %w: tensor<4x2x2x3xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{litert.transpose_conv: images [1, 9, 9, 4] have [4, 4] windows, and the operand [1, 2, 2, 3]}}
  %0 = litert.transpose_conv(%w, %x, %b) {output_shape = [1, 9, 9, 4], padding = "VALID", stride_w = 2, stride_h = 2} : (tensor<4x2x2x3xf32>, tensor<1x2x2x3xf32>, tensor<4xf32>) -> tensor<1x9x9x4xf32>
  func.return
}

// -----

func.func @product(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{litert.batch_matmul: matrices of [2, 3] and [2, 4] have no product}}
  %0 = litert.batch_matmul(%x, %y) : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @gate(%x: tensor<2xi8>) {
  // expected-error @+1 {{litert.hard_swish: the scale 200.0 of the operand is not less than 128 times that of the result, 1.0}}
  %0 = litert.hard_swish(%x) {scales = [200.0, 1.0], zero_points = [0, 0]} : (tensor<2xi8>) -> tensor<2xi8>
  func.return
}

// -----

func.func @steps(%x: tensor<4xf32>) {
  // expected-error @+1 {{litert.strided_slice: there is nothing from [2] to [6] of [4]}}
  %0 = litert.strided_slice(%x) {begin = [2], end = [6], strides = [2]} : (tensor<4xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @conversion(%x: tensor<4xf32>) {
  // expected-error @+1 {{litert.cast: tensor<4xf32> is not of INT32, or there is no conversion to BOOL}}
  %0 = litert.cast(%x) {in_data_type = "INT32", out_data_type = "BOOL"} : (tensor<4xf32>) -> tensor<4xi1>
  func.return
}

// -----

func.func @steps(%x: tensor<1x4x4x3xf32>) {
  // expected-error @+1 {{litert.max_pool_2d: there is no window of 2 with gaps of 1 in steps of 0 in 4 elements, SAME}}
  %0 = litert.max_pool_2d(%x) {padding = "SAME", stride_w = 0, stride_h = 0, filter_width = 2, filter_height = 2} : (tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  func.return
}

// -----

func.func @int16(%x: tensor<2x3xi16>) {
  // expected-error @+1 {{litert.add: it is between int16 by the kernel of scales that are powers of two (pot_scale_int16)}}
  %0 = litert.add(%x, %x) {scales = [0.5, 0.5, 0.5], zero_points = [0, 0, 0]} : (tensor<2x3xi16>, tensor<2x3xi16>) -> tensor<2x3xi16>
  func.return
}

// -----

func.func @zero_point(%x: tensor<2x3xi16>) {
  // expected-error @+1 {{litert.relu: the scales [0.5] are not all positive, or the zero points [1] not from 0 to 0}}
  %0 = litert.relu(%x) {scales = [0.5], zero_points = [1]} : (tensor<2x3xi16>) -> tensor<2x3xi16>
  func.return
}
