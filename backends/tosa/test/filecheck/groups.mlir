// RUN: flambeau-opt %s -p 'partition{backends=tosa},convert-partitions,cse' | filecheck %s

ml_program.global private @w(dense<[[[1], [2]], [[3], [4]], [[5], [6]], [[7], [8]]]> : tensor<4x2x1xi8>) : tensor<4x2x1xi8>

// Each group is a convolution of some of the channels. The weight may stand in the text.
// CHECK-LABEL: delegate.partition @groups_tosa_0
// CHECK:         %[[IMAGE:.*]] = tosa.reshape(%{{.*}}) {shape = [1, 1, 5, 4]}
// CHECK-NEXT:    %[[FIRST:.*]] = tosa.slice(%[[IMAGE]]) {start = [0, 0, 0, 0], size = [1, 1, 5, 2]}
// CHECK:         tosa.conv2d(%[[FIRST]], {{.*}} (tensor<1x1x5x2xi8>, tensor<2x1x1x2xi8>, tensor<2xi32>)
// CHECK:         %[[SECOND:.*]] = tosa.slice(%[[IMAGE]]) {start = [0, 0, 0, 2], size = [1, 1, 5, 2]}
// CHECK:         tosa.conv2d(%[[SECOND]], {{.*}} (tensor<1x1x5x2xi8>, tensor<2x1x1x2xi8>, tensor<2xi32>)
// CHECK:         tosa.concat({{.*}}) {axis = 3}
func.func @groups(%x: tensor<1x4x5xi8>) -> tensor<1x4x5xi8> {
  %w = ml_program.global_load_const @w : tensor<4x2x1xi8>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x4x5xi8>) -> tensor<1x4x5xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%w) {scale = 0.25, zero_point = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4x2x1xi8>) -> tensor<4x2x1xf32>
  %2 = edge.convolution(%0, %1, none) {stride = [1], padding = [0], dilation = [1], transposed = false, output_padding = [0], groups = 2} : (tensor<1x4x5xf32>, tensor<4x2x1xf32>) -> tensor<1x4x5xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.5, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x4x5xf32>) -> tensor<1x4x5xi8>
  func.return %3 : tensor<1x4x5xi8>
}
