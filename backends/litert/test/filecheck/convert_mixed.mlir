// RUN: flambeau-opt %s -p 'partition{backends=litert{precision=mixed}},convert-partitions,cse' | filecheck %s

// Operators are integers where the program is quantized; floats become integers at the border, and integers floats.
// CHECK-LABEL: delegate.partition @border_litert_0 backend "LiteRtBackend" {precision = "mixed"} (%x: tensor<2x3xf32>) -> (tensor<2x3xf32>)
// CHECK-NEXT:    %0 = litert.quantize(%x) {dtype = i8, scales = [0.5], zero_points = [3]}
// CHECK-NEXT:    %1 = litert.relu(%0) {scales = [0.5], zero_points = [3]}
// CHECK-NEXT:    %2 = litert.dequantize(%1) {scales = [0.5], zero_points = [3]}
// CHECK-NEXT:    %3 = litert.tanh(%2)
// CHECK-NEXT:    delegate.return %3
func.func @border(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = quantized_decomposed.quantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %1 = quantized_decomposed.dequantize_per_tensor(%0) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %2 = edge.relu(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %4 = quantized_decomposed.dequantize_per_tensor(%3) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %5 = edge.tanh(%4) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %5 : tensor<2x3xf32>
}

// An operator that is not taken between integers stays in floats: this result is too coarse for the scale of a tangent.
// CHECK-LABEL: delegate.partition @coarse_litert_0
// CHECK-NEXT:    %0 = litert.dequantize(%x) {scales = [0.5], zero_points = [0]}
// CHECK-NEXT:    %1 = litert.tanh(%0)
// CHECK-NEXT:    %2 = litert.quantize(%1) {dtype = i8, scales = [0.0010000000474974513], zero_points = [0]}
// CHECK-NEXT:    delegate.return %2
func.func @coarse(%x: tensor<2x3xi8>) -> tensor<2x3xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.tanh(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.001, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %2 : tensor<2x3xi8>
}

// A narrower range of integers is limits behind the quantization; a function that a sum can end with is its activation.
// CHECK-LABEL: delegate.partition @narrow_litert_0
// CHECK-NEXT:    %0 = litert.add(%x, %x) {fused_activation_function = "RELU6"}
// CHECK-NEXT:    %1 = litert.quantize(%0) {dtype = i8, scales = [0.5], zero_points = [0]}
// CHECK-NEXT:    %2 = ml_program.global_load_const @maximum
// CHECK-NEXT:    %3 = litert.maximum(%1, %2)
// CHECK-NEXT:    delegate.return %3
func.func @narrow(%x: tensor<2x3xf32>) -> tensor<2x3xi8> {
  %0 = edge.add.Tensor(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.hardtanh(%0) {min_val = 0, max_val = 6} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %2 : tensor<2x3xi8>
}
