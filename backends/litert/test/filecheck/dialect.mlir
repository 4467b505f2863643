// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt | filecheck %s

// CHECK-LABEL: func.func @layer
// CHECK-NEXT:    %0 = litert.conv_2d(%x, %w, %b) {padding = "SAME", stride_w = 2, stride_h = 2, fused_activation_function = "RELU", scales = [0.5, 0.25], zero_points = [-3, 5], filter_scales = [0.125]}
// CHECK-NEXT:    %1 = litert.average_pool_2d(%0) {padding = "VALID", stride_w = 1, stride_h = 1, filter_width = 4, filter_height = 4, scales = [0.25], zero_points = [5]}
// CHECK-NEXT:    %2 = litert.reshape(%1) {shape = [1, 4]}
func.func @layer(%x: tensor<1x8x8x3xi8>, %w: tensor<4x3x3x3xi8>, %b: tensor<4xi32>) -> tensor<1x4xi8> {
  %0 = litert.conv_2d(%x, %w, %b) {padding = "SAME", stride_w = 2, stride_h = 2, fused_activation_function = "RELU", scales = [0.5, 0.25], zero_points = [-3, 5], filter_scales = [0.125]} : (tensor<1x8x8x3xi8>, tensor<4x3x3x3xi8>, tensor<4xi32>) -> tensor<1x4x4x4xi8>
  %1 = litert.average_pool_2d(%0) {padding = "VALID", stride_w = 1, stride_h = 1, filter_width = 4, filter_height = 4, scales = [0.25], zero_points = [5]} : (tensor<1x4x4x4xi8>) -> tensor<1x1x1x4xi8>
  %2 = litert.reshape(%1) {shape = [1, 4]} : (tensor<1x1x1x4xi8>) -> tensor<1x4xi8>
  func.return %2 : tensor<1x4xi8>
}

// CHECK-LABEL: func.func @borders
// CHECK-NEXT:    %0 = litert.quantize(%x) {dtype = i8, scales = [0.5], zero_points = [-3]} : (tensor<2x3xf32>) -> tensor<2x3xi8>
// CHECK-NEXT:    %1 = litert.quantize(%0) {dtype = i8, scales = [0.5, 0.25], zero_points = [-3, 0]} : (tensor<2x3xi8>) -> tensor<2x3xi8>
// CHECK-NEXT:    %2 = litert.dequantize(%1) {scales = [0.25], zero_points = [0]} : (tensor<2x3xi8>) -> tensor<2x3xf32>
func.func @borders(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = litert.quantize(%x) {dtype = i8, scales = [0.5], zero_points = [-3]} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %1 = litert.quantize(%0) {dtype = i8, scales = [0.5, 0.25], zero_points = [-3, 0]} : (tensor<2x3xi8>) -> tensor<2x3xi8>
  %2 = litert.dequantize(%1) {scales = [0.25], zero_points = [0]} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @floats
// CHECK-NEXT:    %0 = litert.fully_connected(%x, %w, none) {fused_activation_function = "RELU6"} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:    %1 = litert.concatenation([%0, %0]) {axis = 1} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:    %2 = litert.slice(%1) {begin = [0, 1], size = [2, 4]} : (tensor<2x8xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:    %3 = litert.mul(%2, %0) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
func.func @floats(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> tensor<2x4xf32> {
  %0 = litert.fully_connected(%x, %w, none) {fused_activation_function = "RELU6"} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = litert.concatenation([%0, %0]) {axis = 1} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %2 = litert.slice(%1) {begin = [0, 1], size = [2, 4]} : (tensor<2x8xf32>) -> tensor<2x4xf32>
  %3 = litert.mul(%2, %0) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %3 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @images
// CHECK-NEXT:    %0 = litert.transpose_conv(%w, %x, %b) {output_shape = [1, 8, 8, 4], padding = "VALID", stride_w = 2, stride_h = 2, scales = [0.5, 0.25], zero_points = [-3, 5], filter_scales = [0.125]}
// CHECK-NEXT:    %1 = litert.resize_bilinear(%0) {size = [4, 4], half_pixel_centers = true} : (tensor<1x8x8x4xi8>) -> tensor<1x4x4x4xi8>
// CHECK-NEXT:    %2 = litert.mean(%1) {axis = [1, 2], keep_dims = true, scales = [0.25, 0.125], zero_points = [5, 0]} : (tensor<1x4x4x4xi8>) -> tensor<1x1x1x4xi8>
// CHECK-NEXT:    %3 = litert.batch_matmul(%2, %2) {adj_y = true, scales = [0.125, 0.125, 0.5], zero_points = [0, 0, 1]} : (tensor<1x1x1x4xi8>, tensor<1x1x1x4xi8>) -> tensor<1x1x1x1xi8>
func.func @images(%x: tensor<1x4x4x3xi8>, %w: tensor<4x2x2x3xi8>, %b: tensor<4xi32>) -> tensor<1x1x1x1xi8> {
  %0 = litert.transpose_conv(%w, %x, %b) {output_shape = [1, 8, 8, 4], padding = "VALID", stride_w = 2, stride_h = 2, scales = [0.5, 0.25], zero_points = [-3, 5], filter_scales = [0.125]} : (tensor<4x2x2x3xi8>, tensor<1x4x4x3xi8>, tensor<4xi32>) -> tensor<1x8x8x4xi8>
  %1 = litert.resize_bilinear(%0) {size = [4, 4], half_pixel_centers = true} : (tensor<1x8x8x4xi8>) -> tensor<1x4x4x4xi8>
  %2 = litert.mean(%1) {axis = [1, 2], keep_dims = true, scales = [0.25, 0.125], zero_points = [5, 0]} : (tensor<1x4x4x4xi8>) -> tensor<1x1x1x4xi8>
  %3 = litert.batch_matmul(%2, %2) {adj_y = true, scales = [0.125, 0.125, 0.5], zero_points = [0, 0, 1]} : (tensor<1x1x1x4xi8>, tensor<1x1x1x4xi8>) -> tensor<1x1x1x1xi8>
  func.return %3 : tensor<1x1x1x1xi8>
}

// CHECK-LABEL: func.func @choices
// CHECK-NEXT:    %0 = litert.greater(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT:    %1 = litert.select_v2(%0, %x, %y) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %2 = litert.gather(%1, %i) {axis = 1} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<2x4xf32>
// CHECK-NEXT:    %3 = litert.arg_max(%2) {dim = [1]} : (tensor<2x4xf32>) -> tensor<2xi64>
func.func @choices(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %i: tensor<4xi64>) -> tensor<2xi64> {
  %0 = litert.greater(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %1 = litert.select_v2(%0, %x, %y) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = litert.gather(%1, %i) {axis = 1} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<2x4xf32>
  %3 = litert.arg_max(%2) {dim = [1]} : (tensor<2x4xf32>) -> tensor<2xi64>
  func.return %3 : tensor<2xi64>
}
