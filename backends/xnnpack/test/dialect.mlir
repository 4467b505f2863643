// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt | filecheck %s

// Numbers of the format that are as in a plain node are not printed.
// CHECK-LABEL: func.func @images
// CHECK-NEXT:    %0 = xnnpack.static_transpose(%x) {perm = [0, 2, 3, 1]} : (tensor<1x3x8x8xf32>) -> tensor<1x8x8x3xf32>
// CHECK-NEXT:    %1 = xnnpack.conv2d(%0, %w, none) {kernel_height = 3, kernel_width = 3, subsampling_height = 2, group_input_channels = 3, group_output_channels = 4, output_min = 0.0, output_max = 6.0} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x3x6x4xf32>
// CHECK-NEXT:    %2 = xnnpack.global_avg_pooling2d(%1) {flags = 64} : (tensor<1x3x6x4xf32>) -> tensor<1x1x1x4xf32>
// CHECK-NEXT:    %3 = xnnpack.static_reshape(%2) {new_shape = [1, 4]} : (tensor<1x1x1x4xf32>) -> tensor<1x4xf32>
func.func @images(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4xf32> {
  %0 = xnnpack.static_transpose(%x) {perm = [0, 2, 3, 1]} : (tensor<1x3x8x8xf32>) -> tensor<1x8x8x3xf32>
  %1 = xnnpack.conv2d(%0, %w, none) {padding_top = 0, kernel_height = 3, kernel_width = 3, subsampling_height = 2, group_input_channels = 3, group_output_channels = 4, output_min = 0.0, output_max = 6.0} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x3x6x4xf32>
  %2 = xnnpack.global_avg_pooling2d(%1) {flags = 64} : (tensor<1x3x6x4xf32>) -> tensor<1x1x1x4xf32>
  %3 = xnnpack.static_reshape(%2) {new_shape = [1, 4]} : (tensor<1x1x1x4xf32>) -> tensor<1x4xf32>
  func.return %3 : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @rows
// CHECK-NEXT:    %0 = xnnpack.round_rows(%x) {num_nonbatch_dims = 1} : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @rows(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = xnnpack.round_rows(%x) {num_nonbatch_dims = 1} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @vectors
// CHECK-NEXT:    %0 = xnnpack.fully_connected(%x, %w, %b) : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:    %1 = xnnpack.concatenate3(%0, %0, %0) {axis = 1} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x12xf32>
func.func @vectors(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<2x12xf32> {
  %0 = xnnpack.fully_connected(%x, %w, %b) : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %1 = xnnpack.concatenate3(%0, %0, %0) {axis = 1} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x12xf32>
  func.return %1 : tensor<2x12xf32>
}
