// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt | filecheck %s

// CHECK-LABEL: func.func @elements
// CHECK-NEXT:    %0 = vulkan.mul(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %1 = vulkan.clamp(%0) {low = 0.0, high = 6.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %2 = vulkan.strided(%1) {sizes = [3, 2], strides = [1, 3]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:    %3 = vulkan.concat([%2, %2]) {axis = 1} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
func.func @elements(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<3x4xf32> {
  %0 = vulkan.mul(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = vulkan.clamp(%0) {low = 0.0, high = 6.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = vulkan.strided(%1) {sizes = [3, 2], strides = [1, 3], offset = 0} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = vulkan.concat([%2, %2]) {axis = 1} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  func.return %3 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @image
// CHECK-NEXT:    %0 = vulkan.conv2d(%x, %w, none, none) {stride = [1, 2], padding = [1, 0], dilation = [1, 1], groups = 4, function = "clamp", second = 6.0} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x3xf32>
// CHECK-NEXT:    %1 = vulkan.reduce_mean(%0) {axes = [2, 3]} : (tensor<1x4x8x3xf32>) -> tensor<1x4xf32>
// CHECK-NEXT:    %2 = vulkan.gemm(%1, %1, none, none) {transpose_b = true} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x1xf32>
func.func @image(%x: tensor<1x4x8x8xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<1x1xf32> {
  %0 = vulkan.conv2d(%x, %w, none, none) {stride = [1, 2], padding = [1, 0], dilation = [1, 1], groups = 4, function = "clamp", first = 0.0, second = 6.0} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x3xf32>
  %1 = vulkan.reduce_mean(%0) {axes = [2, 3]} : (tensor<1x4x8x3xf32>) -> tensor<1x4xf32>
  %2 = vulkan.gemm(%1, %1, none, none) {transpose_b = true} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x1xf32>
  func.return %2 : tensor<1x1xf32>
}
