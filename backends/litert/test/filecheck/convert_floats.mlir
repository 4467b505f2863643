// RUN: flambeau-opt %s -p 'partition{backends=litert{precision=float32}},convert-partitions,cse' | filecheck %s

// Limits that TFLite has an activation for are one operator, others two.
// CHECK-LABEL: delegate.partition @limits_litert_0
// CHECK-NEXT:    %0 = litert.relu6(%x)
// CHECK-NEXT:    %1 = ml_program.global_load_const @minimum : tensor<1xf32>
// CHECK-NEXT:    %2 = litert.minimum(%0, %1)
// CHECK-NEXT:    %3 = litert.softmax(%2)
// CHECK-NEXT:    delegate.return %3
func.func @limits(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.hardtanh(%x) {min_val = 0, max_val = 6} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.clamp(%0) {max = 5} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge._softmax(%1) {dim = 1, half_to_float = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

// The mean of an image is a pool, and a softmax along another dimension than the last has transposes around it.
// CHECK-LABEL: delegate.partition @image_litert_0
// CHECK-NEXT:    %0 = litert.transpose(%x) {perm = [0, 2, 3, 1]}
// CHECK-NEXT:    %1 = litert.average_pool_2d(%0) {padding = "VALID", stride_w = 1, stride_h = 1, filter_width = 5, filter_height = 4}
// CHECK-NEXT:    %2 = litert.reshape(%1) {shape = [3, 1]}
// CHECK-NEXT:    %3 = litert.softmax(%2)
// CHECK-NEXT:    %4 = litert.reshape(%3) {shape = [1, 3]}
func.func @image(%x: tensor<1x3x4x5xf32>) -> tensor<1x3xf32> {
  %0 = edge.mean.dim(%x) {dim = [2, 3]} : (tensor<1x3x4x5xf32>) -> tensor<1x3xf32>
  %1 = edge._softmax(%0) {dim = 0, half_to_float = false} : (tensor<1x3xf32>) -> tensor<1x3xf32>
  func.return %1 : tensor<1x3xf32>
}
