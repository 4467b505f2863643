// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt | filecheck %s

// Numbers that are inputs of an operator stand beside its attributes; those that are as usual are not printed.
// CHECK-LABEL: func.func @images
// CHECK-NEXT:    %0 = onnxruntime.Conv(%x, %w, none) {dilations = [1, 1], kernel_shape = [3, 3], pads = [0, 1, 0, 1], strides = [1, 2]} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x4xf32>
// CHECK-NEXT:    %1 = onnxruntime.Clip(%0) {min = 0.0, max = 6.0} : (tensor<1x4x6x4xf32>) -> tensor<1x4x6x4xf32>
// CHECK-NEXT:    %2 = onnxruntime.ReduceMean(%1) {axes = [2, 3], keepdims = false} : (tensor<1x4x6x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT:    %3, %4 = onnxruntime.Split(%2) {split = [1, 3], axis = 1} : (tensor<1x4xf32>) -> (tensor<1x1xf32>, tensor<1x3xf32>)
// CHECK-NEXT:    %5 = onnxruntime.Concat([%4, %3]) {axis = 1} : (tensor<1x3xf32>, tensor<1x1xf32>) -> tensor<1x4xf32>
func.func @images(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4xf32> {
  %0 = onnxruntime.Conv(%x, %w, none) {auto_pad = "NOTSET", dilations = [1, 1], group = 1, kernel_shape = [3, 3], pads = [0, 1, 0, 1], strides = [1, 2]} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x4xf32>
  %1 = onnxruntime.Clip(%0) {min = 0.0, max = 6.0} : (tensor<1x4x6x4xf32>) -> tensor<1x4x6x4xf32>
  %2 = onnxruntime.ReduceMean(%1) {axes = [2, 3], keepdims = false} : (tensor<1x4x6x4xf32>) -> tensor<1x4xf32>
  %3, %4 = onnxruntime.Split(%2) {split = [1, 3], axis = 1} : (tensor<1x4xf32>) -> (tensor<1x1xf32>, tensor<1x3xf32>)
  %5 = onnxruntime.Concat([%4, %3]) {axis = 1} : (tensor<1x3xf32>, tensor<1x1xf32>) -> tensor<1x4xf32>
  func.return %5 : tensor<1x4xf32>
}
