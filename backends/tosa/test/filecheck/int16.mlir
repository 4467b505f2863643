// RUN: flambeau-opt %s -p 'legalize-operators{backends=tosa{activations=int16}},partition{backends=tosa{activations=int16}},convert-partitions,cse' | filecheck %s

// Sums of products of int16 and int8 are int48, here i64, and their multipliers have 15 bits.
// CHECK-LABEL: delegate.partition @layer_tosa_0 backend "TosaBackend" {activations = "int16"} (%x: tensor<2x3xi16>) -> (tensor<2x4xi16>)
// CHECK-NEXT:    %0 = tosa.reshape(%x) {shape = [2, 1, 1, 3]}
// CHECK-NEXT:    %1 = ml_program.global_load_const @w_1 : tensor<4x1x1x3xi8>
// CHECK-NEXT:    %2 = ml_program.global_load_const @w.bias : tensor<4xi64>
// CHECK-NEXT:    %3 = tosa.conv2d(%0, %1, %2) {pad = [0, 0, 0, 0], stride = [1, 1], dilation = [1, 1]} : (tensor<2x1x1x3xi16>, tensor<4x1x1x3xi8>, tensor<4xi64>) -> tensor<2x1x1x4xi64>
// CHECK-NEXT:    %4 = tosa.rescale(%3) {multiplier = [16384, 16384, 16384, 16384], shift = [16, 16, 16, 16], input_zp = 0, output_zp = 0, dtype = i16}
// CHECK-NEXT:    %5 = tosa.reshape(%4) {shape = [2, 4]}
// CHECK-NEXT:    %6 = tosa.clamp(%5) {min_val = 0, max_val = 32767}
// CHECK-NEXT:    delegate.return %6
func.func @layer(%x: tensor<2x3xi16>) -> tensor<2x4xi16> {
  %weight = ml_program.global_load_const @w : tensor<4x3xi8>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<2x3xi16>) -> tensor<2x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%weight) {scale = 0.25, zero_point = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4x3xi8>) -> tensor<4x3xf32>
  %bias = ml_program.global_load_const @b : tensor<4xf32>
  %2 = edge.linear(%0, %1, %bias) : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %3 = edge.relu(%2) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = quantized_decomposed.quantize_per_tensor(%3) {scale = 0.5, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<2x4xf32>) -> tensor<2x4xi16>
  func.return %4 : tensor<2x4xi16>
}

// A function is lines between 513 of its values.
// CHECK-LABEL: delegate.partition @function_tosa_0
// CHECK-NEXT:    %0 = tosa.table(%x) {table = [-31589, {{.*}}, 31589]} : (tensor<4xi16>) -> tensor<4xi32>
// CHECK-NEXT:    %1 = tosa.rescale(%0) {multiplier = [1073741824], shift = [37], input_zp = 0, output_zp = 0, dtype = i16} : (tensor<4xi32>) -> tensor<4xi16>
// CHECK-NEXT:    delegate.return %1
func.func @function(%x: tensor<4xi16>) -> tensor<4xi16> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 6.103515625e-05, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<4xi16>) -> tensor<4xf32>
  %1 = edge.tanh(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 3.0517578125e-05, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<4xf32>) -> tensor<4xi16>
  func.return %2 : tensor<4xi16>
}

// Sums are of int32.
// CHECK-LABEL: delegate.partition @sum_tosa_0
// CHECK-NEXT:    %0 = tosa.rescale(%x) {multiplier = [1073741824], shift = [16], input_zp = 0, output_zp = 0, dtype = i32}
// CHECK-NEXT:    %1 = tosa.rescale(%y) {multiplier = [1073741824], shift = [17], input_zp = 0, output_zp = 0, dtype = i32}
// CHECK-NEXT:    %2 = tosa.add(%0, %1) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT:    %3 = tosa.rescale(%2) {multiplier = [1073741824], shift = [44], input_zp = 0, output_zp = 0, dtype = i16}
// CHECK-NEXT:    delegate.return %3
func.func @sum(%x: tensor<4xi16>, %y: tensor<4xi16>) -> tensor<4xi16> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<4xi16>) -> tensor<4xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%y) {scale = 0.25, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<4xi16>) -> tensor<4xf32>
  %2 = edge.add.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.5, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<4xf32>) -> tensor<4xi16>
  func.return %3 : tensor<4xi16>
}

// A bias is added to products of int16 in int32, not in int48, which is not reshaped either.
// CHECK-LABEL: delegate.partition @product_tosa_0
// CHECK:         tosa.matmul(%{{.*}}, %{{.*}}) : (tensor<1x2x3xi16>, tensor<1x3x4xi16>) -> tensor<1x2x4xi64>
// CHECK-NEXT:    tosa.rescale(%{{.*}}) {multiplier = [16384], shift = [18], input_zp = 0, output_zp = 0, dtype = i32} : (tensor<1x2x4xi64>) -> tensor<1x2x4xi32>
// CHECK:         tosa.add(%{{.*}}, %{{.*}}) : (tensor<2x4xi32>, tensor<1x4xi32>) -> tensor<2x4xi32>
// CHECK-NEXT:    tosa.rescale(%{{.*}}) {multiplier = [1073741824], shift = [40], input_zp = 0, output_zp = 0, dtype = i16}
func.func @product(%x: tensor<2x3xi16>, %y: tensor<3x4xi16>) -> tensor<2x4xi16> {
  %bias = ml_program.global_load_const @b : tensor<4xf32>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.0078125, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<2x3xi16>) -> tensor<2x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%y) {scale = 0.0078125, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<3x4xi16>) -> tensor<3x4xf32>
  %2 = edge.addmm(%bias, %0, %1) : (tensor<4xf32>, tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 1.0, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<2x4xf32>) -> tensor<2x4xi16>
  func.return %3 : tensor<2x4xi16>
}

// A function stays that no lines are near, or whose values lie too far apart.
// CHECK-LABEL: func.func @steep
// CHECK:         edge.reciprocal{{.*}}neighbours in its table of int16 would differ by more than 32767
func.func @steep(%x: tensor<4xi16>) -> tensor<4xi16> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.01, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<4xi16>) -> tensor<4xf32>
  %1 = edge.reciprocal(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.01, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<4xf32>) -> tensor<4xi16>
  func.return %2 : tensor<4xi16>
}

// CHECK-LABEL: func.func @kinks
// CHECK:         edge.floor{{.*}}lines between 513 of its values are up to 16256 steps away, and 128 are taken
func.func @kinks(%x: tensor<4xi16>) -> tensor<4xi16> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 6.103515625e-05, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<4xi16>) -> tensor<4xf32>
  %1 = edge.floor(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 6.103515625e-05, zero_point = 0, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<4xf32>) -> tensor<4xi16>
  func.return %2 : tensor<4xi16>
}

// Zero points and int8 stay.
// CHECK-LABEL: func.func @zero_point
// CHECK:         edge.relu
func.func @zero_point(%x: tensor<4xi16>) -> tensor<4xi16> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.01, zero_point = 3, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<4xi16>) -> tensor<4xf32>
  %1 = edge.relu(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.01, zero_point = 3, quant_min = -32768, quant_max = 32767, dtype = i16} : (tensor<4xf32>) -> tensor<4xi16>
  func.return %2 : tensor<4xi16>
}

// CHECK-LABEL: func.func @bytes
// CHECK:         edge.relu
func.func @bytes(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.01, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xi8>) -> tensor<4xf32>
  %1 = edge.relu(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.01, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %2 : tensor<4xi8>
}

ml_program.global private @w(dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9], [-1, -2, -3]]> : tensor<4x3xi8>) : tensor<4x3xi8>
ml_program.global private @b(dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>) : tensor<4xf32>
