// RUN: flambeau-opt %s -p 'partition{backends=vulkan},convert-partitions,cse' | filecheck %s

// A number is a constant of the partition.
// CHECK-LABEL: delegate.partition @gate_vulkan_0 backend "FlambeauVulkan"
// CHECK-NEXT:    %[[NUMBER:.*]] = ml_program.global_load_const @number
// CHECK-NEXT:    vulkan.chain([%x, %[[NUMBER]]]) {steps = "sigmoid 0; add 2 1; clamp 3 0.0 6.0; gelu_tanh 4"}
func.func @gate(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.sigmoid(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.add.Scalar(%0) {other = 3} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.hardtanh(%1) {min_val = 0, max_val = 6} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = edge.gelu(%2) {approximate = "tanh"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %3 : tensor<2x3xf32>
}

// A product has the function that alone reads its result, in whatever shape; a window of one element is a product of matrices.
// CHECK-LABEL: delegate.partition @layers_vulkan_0
// CHECK-NEXT:    %[[KERNELS:.*]] = vulkan.reshape(%w) {shape = [6, 4]}
// CHECK-NEXT:    %[[PLANES:.*]] = vulkan.reshape(%x) {shape = [1, 4, 64]}
// CHECK-NEXT:    %[[PRODUCT:.*]] = vulkan.gemm(%[[KERNELS]], %[[PLANES]], none, none) {function = "clamp", second = 6.0}
// CHECK-NEXT:    %[[IMAGE:.*]] = vulkan.reshape(%[[PRODUCT]]) {shape = [1, 6, 8, 8]}
// CHECK-NEXT:    %[[DEPTHWISE:.*]] = vulkan.conv2d(%[[IMAGE]], %d, none, none) {stride = [2, 2], padding = [1, 1], dilation = [1, 1], groups = 6}
// CHECK-NEXT:    vulkan.chain([%[[DEPTHWISE]]]) {steps = "relu 0; add 1 0"}
func.func @layers(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x1x1xf32>, %d: tensor<6x1x3x3xf32>) -> tensor<1x6x4x4xf32> {
  %0 = edge.convolution(%x, %w, none) {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x4x8x8xf32>, tensor<6x4x1x1xf32>) -> tensor<1x6x8x8xf32>
  %1 = edge.hardtanh(%0) {min_val = 0, max_val = 6} : (tensor<1x6x8x8xf32>) -> tensor<1x6x8x8xf32>
  %2 = edge.convolution(%1, %d, none) {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 6} : (tensor<1x6x8x8xf32>, tensor<6x1x3x3xf32>) -> tensor<1x6x4x4xf32>
  %3 = edge.relu(%2) : (tensor<1x6x4x4xf32>) -> tensor<1x6x4x4xf32>
  %4 = edge.add.Tensor(%3, %2) : (tensor<1x6x4x4xf32>, tensor<1x6x4x4xf32>) -> tensor<1x6x4x4xf32>
  func.return %4 : tensor<1x6x4x4xf32>
}

// Dimensions that are reduced and no neighbours come last.
// CHECK-LABEL: delegate.partition @rows_vulkan_0
// CHECK-NEXT:    %[[MOVED:.*]] = vulkan.strided(%x) {sizes = [3, 2, 4], strides = [4, 12, 1]}
// CHECK-NEXT:    vulkan.reduce_sum(%[[MOVED]]) {axes = [1, 2]}
func.func @rows(%x: tensor<2x3x4xf32>) -> tensor<3xf32> {
  %0 = edge.sum.dim_IntList(%x) {dim = [0, 2]} : (tensor<2x3x4xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// Functions of elements of one shape that alone read each other's results are one chain. What is read elsewhere too begins another.
// CHECK-LABEL: delegate.partition @chain_vulkan_0
// CHECK-NEXT:    %[[FIRST:.*]] = vulkan.exp(%x)
// CHECK-NEXT:    %[[SUM:.*]] = vulkan.reduce_sum(%[[FIRST]])
// CHECK-NEXT:    %[[CHAIN:.*]] = vulkan.chain([%[[FIRST]], %y]) {steps = "add 0 1; clamp 2 0.0 6.0; mul 2 3"}
// CHECK-NEXT:    delegate.return %[[SUM]], %[[CHAIN]]
func.func @chain(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) {
  %0 = edge.exp(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.sum.dim_IntList(%0) {dim = [1], keepdim = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  %2 = edge.add.Tensor(%0, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %3 = edge.hardtanh(%2) {min_val = 0, max_val = 6} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = edge.mul.Tensor(%2, %3) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %4, %1 : tensor<2x3xf32>, tensor<2xf32>
}
