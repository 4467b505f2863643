// RUN: flambeau-opt %s -p 'partition{backends=ethos_u{activations=int16}},convert-partitions,cse' | filecheck %s
// RUN: flambeau-opt %s -p 'partition{backends=ethos_u{activations=int16 accelerator=ethos-u85-256}},convert-partitions,cse' | filecheck %s --check-prefix=LARGER

// Products with weights are taken by all.
// CHECK-LABEL: delegate.partition @layer_ethos_u_0 backend "EthosUBackend" {activations = "int16"} (%x: tensor<2x3xi16>) -> (tensor<2x4xi16>)
// CHECK:         tosa.conv2d({{.*}} -> tensor<2x1x1x4xi64>
// LARGER-LABEL: delegate.partition @layer_ethos_u_0
func.func @layer(%x: tensor<2x3xi16>) -> tensor<2x4xi16> {
  %weight = ml_program.global_load_const @w : tensor<4x3xi8>
  %bias = ml_program.global_load_const @b : tensor<4xf32>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<2x3xi16>) -> tensor<2x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%weight) {scale = 0.25, zero_point = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4x3xi8>) -> tensor<4x3xf32>
  %2 = edge.linear(%0, %1, %bias) : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.5, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<2x4xf32>) -> tensor<2x4xi16>
  func.return %3 : tensor<2x4xi16>
}

// Tables, and products of two tensors, by the larger one only.
// CHECK-LABEL: func.func @function
// CHECK:         edge.tanh
// CHECK-NEXT:    quantized_decomposed.quantize_per_tensor{{.*}}ethos-u55: DataTypes: int8 only, and it is of i16
// LARGER-LABEL: delegate.partition @function_ethos_u_0
func.func @function(%x: tensor<4xi16>) -> tensor<4xi16> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 6.103515625e-05, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<4xi16>) -> tensor<4xf32>
  %1 = edge.tanh(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 3.0517578125e-05, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<4xf32>) -> tensor<4xi16>
  func.return %2 : tensor<4xi16>
}

// CHECK-LABEL: func.func @product
// CHECK:         edge.mm
// CHECK-NEXT:    quantized_decomposed.quantize_per_tensor{{.*}}ethos-u55: DataTypes (IFM, IFM2, OFM): (i8_t, i8_t, i32_t), and it is of i16
// LARGER-LABEL: delegate.partition @product_ethos_u_0
func.func @product(%x: tensor<2x3xi16>, %y: tensor<3x4xi16>) -> tensor<2x4xi16> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.0078125, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<2x3xi16>) -> tensor<2x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%y) {scale = 0.0078125, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<3x4xi16>) -> tensor<3x4xf32>
  %2 = edge.mm(%0, %1) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 1.0, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<2x4xf32>) -> tensor<2x4xi16>
  func.return %3 : tensor<2x4xi16>
}

ml_program.global private @w(dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9], [-1, -2, -3]]> : tensor<4x3xi8>) : tensor<4x3xi8>
ml_program.global private @b(dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>) : tensor<4xf32>
