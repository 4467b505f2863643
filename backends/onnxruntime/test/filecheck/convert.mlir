// RUN: flambeau-opt %s -p 'partition{backends=onnxruntime},convert-partitions,cse' | filecheck %s

// Nothing is moved: images stay as they are.
// CHECK-LABEL: delegate.partition @residual_onnxruntime_0 backend "OnnxRuntimeBackend" (%x: tensor<1x4x8x8xf32>) -> (tensor<1x4x8x8xf32>) attributes {operators = {{{.*}}}} {
// CHECK-NEXT:    %0 = onnxruntime.MaxPool(%x) {dilations = [1, 1], kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1]} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
// CHECK-NEXT:    %1 = onnxruntime.Clip(%0) {min = 0.0, max = 6.0} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
// CHECK-NEXT:    %2 = onnxruntime.Add(%1, %x) : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
// CHECK-NEXT:    delegate.return %2
func.func @residual(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %0, %1 = edge.max_pool2d_with_indices(%x) {kernel_size = [3, 3], stride = [1, 1], padding = [1, 1]} : (tensor<1x4x8x8xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xi64>)
  %2 = edge.hardtanh(%0) {min_val = 0, max_val = 6} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %3 = edge.add.Tensor(%2, %x) : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %3 : tensor<1x4x8x8xf32>
}

// Sizes that the run decides stay at their places, or one follows from the others.
// CHECK-LABEL: delegate.partition @heads_onnxruntime_0
// CHECK-NEXT:    onnxruntime.Reshape(%x) {shape = [0, 0, 2, 4]}
// CHECK-NEXT:    onnxruntime.Transpose({{.*}}) {perm = [0, 2, 1, 3]}
// CHECK-NEXT:    onnxruntime.Reshape({{.*}}) {shape = [0, -1]}
func.func @heads(%x: tensor<?x?x8xf32, #edge.layout<sizes = [b in [1, 4], n in [1, 16], 8]>>) -> tensor<?x?xf32, #edge.layout<sizes = [b, 8 * n]>> {
  %0 = edge.view_copy(%x) {size = [b, n, 2, 4]} : (tensor<?x?x8xf32, #edge.layout<sizes = [b, n, 8]>>) -> tensor<?x?x2x4xf32, #edge.layout<sizes = [b, n, 2, 4]>>
  %1 = edge.permute_copy(%0) {dims = [0, 2, 1, 3]} : (tensor<?x?x2x4xf32, #edge.layout<sizes = [b, n, 2, 4]>>) -> tensor<?x2x?x4xf32, #edge.layout<sizes = [b, 2, n, 4]>>
  %2 = edge.view_copy(%1) {size = [b, 8 * n]} : (tensor<?x2x?x4xf32, #edge.layout<sizes = [b, 2, n, 4]>>) -> tensor<?x?xf32, #edge.layout<sizes = [b, 8 * n]>>
  func.return %2 : tensor<?x?xf32, #edge.layout<sizes = [b, 8 * n]>>
}

// Fewer integers than their type has are a limit of the floats before.
// CHECK-LABEL: delegate.partition @integers_onnxruntime_0
// CHECK:         %[[C:.*]] = onnxruntime.Clip(%x) {min = -65.0, max = 62.0}
// CHECK:         %[[Q:.*]] = onnxruntime.QuantizeLinear(%[[C]], {{.*}}) : (tensor<1x4x8x8xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4x8x8xi8>
// CHECK:         onnxruntime.DequantizeLinear(%[[Q]], {{.*}}) : (tensor<1x4x8x8xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4x8x8xf32>
// CHECK-NEXT:    onnxruntime.Relu
func.func @integers(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %0 = quantized_decomposed.quantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xi8>
  %1 = quantized_decomposed.dequantize_per_tensor(%0) {scale = 0.5, zero_point = 3, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<1x4x8x8xi8>) -> tensor<1x4x8x8xf32>
  %2 = edge.relu(%1) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %2 : tensor<1x4x8x8xf32>
}
