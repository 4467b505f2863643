// RUN: flambeau-opt %s | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt - | filecheck %s

// CHECK-LABEL: func.func @quant
// CHECK-NEXT:    %[[Q:.*]] = quantized_decomposed.quantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
// CHECK-NEXT:    quantized_decomposed.dequantize_per_tensor(%[[Q]]) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
func.func @quant(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = quantized_decomposed.quantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %1 = quantized_decomposed.dequantize_per_tensor(%0) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
