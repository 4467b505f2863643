// flambeau-opt -p 'convert-edge-to-cadence'
func.func @forward(%x: tensor<2x3xi8>, %y: tensor<2x3xi8>) -> tensor<2x3xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%y) {scale = 0.25, zero_point = -4, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %2 = edge.add.Tensor(%0, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.5, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %3 : tensor<2x3xi8>
}

// -----

func.func @forward(%x: tensor<2x3xi8>, %y: tensor<2x3xi8>) -> tensor<2x3xi8> {
  %0 = cadence.quantized_add_asym8sxasym8s_asym8s.per_tensor(%x, %y) {X_scale = 0.5, X_zero_point = 3, Y_scale = 0.25, Y_zero_point = -4, out_scale = 0.5, out_zero_point = 2} : (tensor<2x3xi8>, tensor<2x3xi8>) -> tensor<2x3xi8>
  func.return %0 : tensor<2x3xi8>
}
