// RUN: flambeau-opt %s -p 'partition{backends=tosa{profile=both}},convert-partitions' | filecheck %s

// In both profiles, what is between integers is integers, and what is beside it floats.
// CHECK-LABEL: delegate.partition @mixed_tosa_0 {{.*}} (%x: tensor<2x3xi8>) -> (tensor<2x3xi8>)
// CHECK-NEXT:    tosa.table
// CHECK-NEXT:    delegate.return
// CHECK-LABEL: delegate.partition @mixed_tosa_1 {{.*}} -> (tensor<2x3xf32>)
// CHECK-NEXT:    tosa.sin
// CHECK-NEXT:    delegate.return
// CHECK-LABEL: func.func @mixed
// CHECK:         quantized_decomposed.dequantize_per_tensor
func.func @mixed(%x: tensor<2x3xi8>) -> tensor<2x3xf32> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.tanh(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.0078125, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %3 = quantized_decomposed.dequantize_per_tensor(%2) {scale = 0.0078125, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %4 = edge.sin(%3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %4 : tensor<2x3xf32>
}
