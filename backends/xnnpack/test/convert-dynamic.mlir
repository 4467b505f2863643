// RUN: flambeau-opt %s -p 'partition{backends=xnnpack},convert-partitions,cse' | filecheck %s

ml_program.global private @weight(#flambeau.blob<"weight", "a8bacbf798c4ce3f">) : tensor<2x3xi8>
ml_program.global private @scales(#flambeau.blob<"scales", "bfa5538a8f3284f3">) : tensor<2xf32>
ml_program.global private @zeros(#flambeau.blob<"zeros", "374708fff7719dd5">) : tensor<2xi64>

// What quantizes the input of layers rounds rows: once for two layers. A weight with one scale gets one for each output.
// CHECK-LABEL: delegate.partition @dynamic_xnnpack_0
// CHECK-NEXT:    %w = ml_program.global_load_const @weight : tensor<2x3xi8>
// CHECK-NEXT:    %0 = ml_program.global_load_const @weight.scales : tensor<2xf32>
// CHECK-NEXT:    %1 = xnnpack.dequantize_channels(%w, %0) {channel_dim = 0} : (tensor<2x3xi8>, tensor<2xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %2 = xnnpack.round_rows(%x) {num_nonbatch_dims = 1} : (tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:    %3 = xnnpack.fully_connected(%2, %1, none) {output_min = 0.0} : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
// CHECK-NEXT:    %4 = ml_program.global_load_const @weight.scales_1 : tensor<2xf32>
// CHECK-NEXT:    %5 = xnnpack.dequantize_channels(%w, %4) {channel_dim = 0} : (tensor<2x3xi8>, tensor<2xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %6 = xnnpack.fully_connected(%2, %5, none) : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
// CHECK-NEXT:    delegate.return %3, %6
func.func @dynamic(%x: tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %w = ml_program.global_load_const @weight : tensor<2x3xi8>
  %s = ml_program.global_load_const @scales : tensor<2xf32>
  %z = ml_program.global_load_const @zeros : tensor<2xi64>
  %0 = quantized_decomposed.dequantize_per_channel(%w, %s, %z) {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x3xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%w) {scale = 0.5, zero_point = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %2, %3 = quantized_decomposed.choose_qparams.tensor(%x) {quant_min = -128, quant_max = 127, eps = 1.0e-5, dtype = i8} : (tensor<4x3xf32>) -> (tensor<1xf64>, tensor<1xi64>)
  %4 = quantized_decomposed.quantize_per_tensor.tensor(%x, %2, %3) {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x3xf32>, tensor<1xf64>, tensor<1xi64>) -> tensor<4x3xi8>
  %5 = quantized_decomposed.dequantize_per_tensor.tensor(%4, %2, %3) {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x3xi8>, tensor<1xf64>, tensor<1xi64>) -> tensor<4x3xf32>
  %6 = edge.linear(%5, %0, none) : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %7 = edge.relu(%6) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %8 = edge.linear(%5, %1, none) : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  func.return %7, %8 : tensor<4x2xf32>, tensor<4x2xf32>
}

// Row by row, as torchao writes it.
// CHECK-LABEL: delegate.partition @tokens_xnnpack_0
// CHECK:         %[[X:.*]] = xnnpack.round_rows(%x) {num_nonbatch_dims = 1}
// CHECK-NEXT:    %[[Y:.*]] = xnnpack.fully_connected(%[[X]], %{{.*}}, none)
// CHECK-NEXT:    delegate.return %[[Y]]
func.func @tokens(%x: tensor<4x3xf32>) -> tensor<4x2xf32> {
  %w = ml_program.global_load_const @weight : tensor<2x3xi8>
  %s = ml_program.global_load_const @scales : tensor<2xf32>
  %0 = quantized_decomposed.dequantize_per_channel(%w, %s, none) {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x3xi8>, tensor<2xf32>) -> tensor<2x3xf32>
  %1, %2 = quantized_decomposed.choose_qparams_per_token_asymmetric(%x) {dtype = i8} : (tensor<4x3xf32>) -> (tensor<4x1xf64>, tensor<4x1xi64>)
  %3 = quantized_decomposed.quantize_per_token(%x, %1, %2) {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x3xf32>, tensor<4x1xf64>, tensor<4x1xi64>) -> tensor<4x3xi8>
  %4 = quantized_decomposed.dequantize_per_token(%3, %1, %2) {quant_min = -128, quant_max = 127, dtype = i8, output_dtype = f32} : (tensor<4x3xi8>, tensor<4x1xf64>, tensor<4x1xi64>) -> tensor<4x3xf32>
  %5 = edge.linear(%4, %0, none) : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  func.return %5 : tensor<4x2xf32>
}

// Where something else than a layer reads the rounded numbers, all that quantizes stays, and the layer multiplies floats.
// CHECK-LABEL: delegate.partition @read_elsewhere_xnnpack_0
// CHECK:         xnnpack.fully_connected(%0, %1, none)
// CHECK-LABEL: func.func @read_elsewhere
// CHECK:         quantized_decomposed.choose_qparams.tensor
// CHECK-NEXT:    quantized_decomposed.quantize_per_tensor.tensor
// CHECK-NEXT:    %[[X:.*]] = quantized_decomposed.dequantize_per_tensor.tensor
// CHECK-NEXT:    delegate.call @read_elsewhere_xnnpack_0(%[[X]])
func.func @read_elsewhere(%x: tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<4x3xf32>) {
  %w = ml_program.global_load_const @weight : tensor<2x3xi8>
  %1 = quantized_decomposed.dequantize_per_tensor(%w) {scale = 0.5, zero_point = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %2, %3 = quantized_decomposed.choose_qparams.tensor(%x) {quant_min = -128, quant_max = 127, eps = 1.0e-5, dtype = i8} : (tensor<4x3xf32>) -> (tensor<1xf64>, tensor<1xi64>)
  %4 = quantized_decomposed.quantize_per_tensor.tensor(%x, %2, %3) {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x3xf32>, tensor<1xf64>, tensor<1xi64>) -> tensor<4x3xi8>
  %5 = quantized_decomposed.dequantize_per_tensor.tensor(%4, %2, %3) {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x3xi8>, tensor<1xf64>, tensor<1xi64>) -> tensor<4x3xf32>
  %6 = edge.linear(%5, %1, none) : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %7 = edge.exp(%5) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %6, %7 : tensor<4x2xf32>, tensor<4x3xf32>
}
