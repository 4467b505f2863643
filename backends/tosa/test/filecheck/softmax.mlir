// RUN: flambeau-opt %s -p 'partition{backends=tosa},convert-partitions,cse' | filecheck %s

// The distances from the largest are all entries of one table of int16. Their sum is normalised by its highest bit, whose place the shift knows.
// CHECK-LABEL: delegate.partition @softmax_tosa_0 backend "TosaBackend" (%x: tensor<2x700xi8>) -> (tensor<2x700xi8>)
// CHECK:         %[[LARGEST:.*]] = tosa.reduce_max(%x) {axis = 1} : (tensor<2x700xi8>) -> tensor<2x1xi8>
// CHECK:         tosa.rescale(%[[LARGEST]]) {multiplier = [1073741824], shift = [22], input_zp = 0, output_zp = 0, dtype = i32}
// CHECK:         tosa.rescale(%{{.*}}) {multiplier = [1073741824], shift = [30], input_zp = 0, output_zp = 0, dtype = i16}
// CHECK-NEXT:    %[[POWERS:.*]] = tosa.table(%{{.*}}) {table = [{{.*}}]} : (tensor<2x700xi16>) -> tensor<2x700xi32>
// CHECK-NEXT:    tosa.rescale(%[[POWERS]]) {multiplier = [1073741824], shift = [31], input_zp = 0, output_zp = 0, dtype = i32}
// CHECK-NEXT:    %[[SUM:.*]] = tosa.reduce_sum(%{{.*}}) {axis = 1} : (tensor<2x700xi32>) -> tensor<2x1xi32>
// CHECK-NEXT:    tosa.clz(%[[SUM]])
// CHECK:         tosa.logical_left_shift(%[[SUM]], %[[EXPONENT:.*]]) : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x1xi32>
// CHECK:         %[[SHARE:.*]] = tosa.table(%{{.*}}) {table = [{{.*}}]} : (tensor<2x1xi16>) -> tensor<2x1xi32>
// CHECK-NEXT:    %[[PRODUCT:.*]] = tosa.mul(%[[POWERS]], %[[SHARE]]) {shift = 14} : (tensor<2x700xi32>, tensor<2x1xi32>) -> tensor<2x700xi32>
// CHECK:         tosa.arithmetic_right_shift(%[[PRODUCT]], %{{.*}}) {round = true} : (tensor<2x700xi32>, tensor<2x1xi32>) -> tensor<2x700xi32>
// CHECK-NEXT:    tosa.rescale(%{{.*}}) {multiplier = [{{.*}}], shift = [51], input_zp = 0, output_zp = -128, dtype = i8}
func.func @softmax(%x: tensor<2x700xi8>) -> tensor<2x700xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x700xi8>) -> tensor<2x700xf32>
  %1 = edge._softmax(%0) {dim = -1, half_to_float = false} : (tensor<2x700xf32>) -> tensor<2x700xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.00390625, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x700xf32>) -> tensor<2x700xi8>
  func.return %2 : tensor<2x700xi8>
}

// Too many exponentials for a sum in int32.
// CHECK-LABEL: func.func @long
// CHECK:         edge._softmax
func.func @long(%x: tensor<5000xi8>) -> tensor<5000xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<5000xi8>) -> tensor<5000xf32>
  %1 = edge._softmax(%0) {dim = 0, half_to_float = false} : (tensor<5000xf32>) -> tensor<5000xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.00390625, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<5000xf32>) -> tensor<5000xi8>
  func.return %2 : tensor<5000xi8>
}
