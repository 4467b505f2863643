// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt | filecheck %s

// CHECK-LABEL: func.func @elements
// CHECK-NEXT:    %0 = coreml.cast(%x) {dtype = "fp16"} : (tensor<2x3xf32>) -> tensor<2x3xf16>
// CHECK-NEXT:    %1 = coreml.clip(%0) {alpha = 0.0, beta = 6.0} : (tensor<2x3xf16>) -> tensor<2x3xf16>
// CHECK-NEXT:    %2 = coreml.concat([%1, %1]) {axis = 1} : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x6xf16>
// CHECK-NEXT:    %3, %4 = coreml.split(%2) {split_sizes = [2, 4], axis = 1} : (tensor<2x6xf16>) -> (tensor<2x2xf16>, tensor<2x4xf16>)
func.func @elements(%x: tensor<2x3xf32>) -> tensor<2x4xf16> {
  %0 = coreml.cast(%x) {dtype = "fp16"} : (tensor<2x3xf32>) -> tensor<2x3xf16>
  %1 = coreml.clip(%0) {alpha = 0.0, beta = 6.0} : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %2 = coreml.concat([%1, %1]) {axis = 1, interleave = false} : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x6xf16>
  %3, %4 = coreml.split(%2) {split_sizes = [2, 4], axis = 1} : (tensor<2x6xf16>) -> (tensor<2x2xf16>, tensor<2x4xf16>)
  func.return %4 : tensor<2x4xf16>
}

// CHECK-LABEL: func.func @image
// CHECK-NEXT:    %0 = coreml.conv(%x, %w, none) {strides = [2, 1], pad = [1, 0, 0, 1], dilations = [1, 1], groups = 4} : (tensor<1x4x8x8xf32>, tensor<4x1x3x2xf32>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:    %1 = coreml.reduce_mean(%0) {axes = [2, 3]} : (tensor<1x4x4x8xf32>) -> tensor<1x4xf32>
func.func @image(%x: tensor<1x4x8x8xf32>, %w: tensor<4x1x3x2xf32>) -> tensor<1x4xf32> {
  %0 = coreml.conv(%x, %w, none) {strides = [2, 1], pad = [1, 0, 0, 1], dilations = [1, 1], groups = 4} : (tensor<1x4x8x8xf32>, tensor<4x1x3x2xf32>) -> tensor<1x4x4x8xf32>
  %1 = coreml.reduce_mean(%0) {axes = [2, 3], keep_dims = false} : (tensor<1x4x4x8xf32>) -> tensor<1x4xf32>
  func.return %1 : tensor<1x4xf32>
}
