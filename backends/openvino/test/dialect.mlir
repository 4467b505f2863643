// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt | filecheck %s

// Numbers that are inputs of a layer stand beside its attributes; those that are as usual are not printed.
// CHECK-LABEL: func.func @images
// CHECK-NEXT:    %0 = openvino.Convolution(%x, %w) {strides = [1, 2], pads_begin = [0, 1], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x4xf32>
// CHECK-NEXT:    %1 = openvino.Clamp(%0) {min = 0.0, max = 6.0} : (tensor<1x4x6x4xf32>) -> tensor<1x4x6x4xf32>
// CHECK-NEXT:    %2 = openvino.ReduceMean(%1) {axes = [2, 3]} : (tensor<1x4x6x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT:    %3, %4 = openvino.VariadicSplit(%2) {axis = 1, split_lengths = [1, 3]} : (tensor<1x4xf32>) -> (tensor<1x1xf32>, tensor<1x3xf32>)
// CHECK-NEXT:    %5 = openvino.Concat([%4, %3]) {axis = 1} : (tensor<1x3xf32>, tensor<1x1xf32>) -> tensor<1x4xf32>
func.func @images(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4xf32> {
  %0 = openvino.Convolution(%x, %w) {strides = [1, 2], pads_begin = [0, 1], pads_end = [0, 0], dilations = [1, 1], auto_pad = "explicit"} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x4xf32>
  %1 = openvino.Clamp(%0) {min = 0.0, max = 6.0} : (tensor<1x4x6x4xf32>) -> tensor<1x4x6x4xf32>
  %2 = openvino.ReduceMean(%1) {axes = [2, 3]} : (tensor<1x4x6x4xf32>) -> tensor<1x4xf32>
  %3, %4 = openvino.VariadicSplit(%2) {axis = 1, split_lengths = [1, 3]} : (tensor<1x4xf32>) -> (tensor<1x1xf32>, tensor<1x3xf32>)
  %5 = openvino.Concat([%4, %3]) {axis = 1} : (tensor<1x3xf32>, tensor<1x1xf32>) -> tensor<1x4xf32>
  func.return %5 : tensor<1x4xf32>
}
