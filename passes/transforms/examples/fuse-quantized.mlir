// flambeau-opt -p 'fuse-quantized,remove-dead-code'
func.func @forward(%x: tensor<2x4xi8>) -> tensor<8xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = edge.view_copy(%0) {size = [8]} : (tensor<2x4xf32>) -> tensor<8xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<8xf32>) -> tensor<8xi8>
  func.return %2 : tensor<8xi8>
}

// -----

func.func @forward(%x: tensor<2x4xi8>) -> tensor<8xi8> {
  %0 = edge.view_copy(%x) {size = [8]} : (tensor<2x4xi8>) -> tensor<8xi8>
  func.return %0 : tensor<8xi8>
}
