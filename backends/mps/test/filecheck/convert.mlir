// RUN: flambeau-opt %s -p 'partition{backends=mps},convert-partitions,cse' | filecheck %s
// RUN: flambeau-opt %s -p 'partition{backends=mps},convert-partitions,cse' | flambeau-opt | filecheck %s

// A number is a line of one element; limits without an end are infinite.
// CHECK-LABEL: delegate.partition @gate_mps_0 backend "MPSBackend"
// CHECK-NEXT:    %[[NUMBER:.*]] = ml_program.global_load_const @number : tensor<1xf32>
// CHECK-NEXT:    %[[SUM:.*]] = mps.Add(%x, %[[NUMBER]]) {alpha = 2.0}
// CHECK-NEXT:    %[[GATE:.*]] = mps.Sigmoid(%[[SUM]])
// CHECK-NEXT:    %[[PRODUCT:.*]] = mps.Mul(%[[SUM]], %[[GATE]])
// CHECK-NEXT:    mps.Clamp(%[[PRODUCT]]) {min_value = 0.0, max_value = "inf"}
func.func @gate(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.add.Scalar(%x) {other = 3, alpha = 2} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.silu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.clamp(%1) {min = 0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

// A line is an image of height 1.
// CHECK-LABEL: delegate.partition @lines_mps_0
// CHECK-NEXT:    %[[IMAGE:.*]] = mps.Unsqueeze(%x) {dim = 2}
// CHECK-NEXT:    %[[KERNEL:.*]] = mps.Unsqueeze(%w) {dim = 2}
// CHECK-NEXT:    %[[RESULT:.*]] = mps.DepthwiseConv2D(%[[IMAGE]], %[[KERNEL]], none) {stride_x = 2, stride_y = 1, dilation_x = 1, dilation_y = 1, groups = 4, padding_left = 1, padding_right = 1, padding_top = 0, padding_bottom = 0}
// CHECK-NEXT:    mps.View(%[[RESULT]]) {shape = [1, 4, 4]}
func.func @lines(%x: tensor<1x4x8xf32>, %w: tensor<4x1x3xf32>) -> tensor<1x4x4xf32> {
  %0 = edge.convolution(%x, %w, none) {stride = [2], padding = [1], dilation = [1], transposed = false, output_padding = [0], groups = 4} : (tensor<1x4x8xf32>, tensor<4x1x3xf32>) -> tensor<1x4x4xf32>
  func.return %0 : tensor<1x4x4xf32>
}
