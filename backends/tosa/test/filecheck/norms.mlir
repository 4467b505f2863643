// RUN: flambeau-opt %s -p 'partition{backends=tosa},convert-partitions,cse' | filecheck %s
// RUN: flambeau-opt %s -p 'partition{backends=tosa{profile=fp}},convert-partitions,cse' | filecheck %s --check-prefix=FLOAT

// The distances from the mean have 7 bits behind the point, and the root of the sum of their squares an exponent that is half of the sum's.
// CHECK-LABEL: delegate.partition @norm_tosa_0 backend "TosaBackend" (%x: tensor<2x4xi8>) -> (tensor<2x4xi8>)
// CHECK:         %[[X:.*]] = tosa.rescale(%x) {multiplier = [1073741824], shift = [23], input_zp = 3, output_zp = 0, dtype = i32}
// CHECK-NEXT:    %[[SUM:.*]] = tosa.reduce_sum(%[[X]]) {axis = 1}
// CHECK-NEXT:    %[[MEAN:.*]] = tosa.rescale(%[[SUM]]) {multiplier = [1073741824], shift = [32], input_zp = 0, output_zp = 0, dtype = i32}
// CHECK-NEXT:    %[[DISTANCE:.*]] = tosa.sub(%[[X]], %[[MEAN]])
// CHECK-NEXT:    tosa.mul(%[[DISTANCE]], %[[DISTANCE]])
// CHECK:         %[[HALF:.*]] = tosa.arithmetic_right_shift(%{{.*}}, %{{.*}}) {round = false}
// CHECK:         tosa.table(%{{.*}}) {table = [{{.*}}]} : (tensor<2x1xi16>) -> tensor<2x1xi32>
// CHECK:         tosa.mul(%[[DISTANCE]], %{{.*}}) {shift = 8} : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi32>
// CHECK:         tosa.arithmetic_right_shift(%{{.*}}, %{{.*}}) {round = true} : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x4xi32>
// CHECK:         tosa.rescale(%{{.*}}) {{.*}} output_zp = -5, dtype = i8}
func.func @norm(%x: tensor<2x4xi8>) -> tensor<2x4xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = edge.layer_norm(%0, none, none) {normalized_shape = [4]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.03125, zero_point = -5, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  func.return %2 : tensor<2x4xi8>
}

// A weight that is not a constant is not scaled; in floats it is an operand like others.
// CHECK-LABEL: func.func @weight
// CHECK:         edge.rms_norm
// FLOAT-LABEL: delegate.partition @weight_tosa_0 backend "TosaBackend" {profile = "fp"} (%{{.*}}: tensor<2x4xf32>, %w: tensor<4xf32>) -> (tensor<2x4xf32>)
// FLOAT:         tosa.rsqrt
// FLOAT-NEXT:    %[[NORMAL:.*]] = tosa.mul
// FLOAT-NEXT:    %[[W:.*]] = tosa.reshape(%w) {shape = [1, 4]}
// FLOAT-NEXT:    tosa.mul(%[[NORMAL]], %[[W]])
func.func @weight(%x: tensor<2x4xi8>, %w: tensor<4xf32>) -> tensor<2x4xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = edge.rms_norm(%0, %w) {normalized_shape = [4]} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.03125, zero_point = -5, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  func.return %2 : tensor<2x4xi8>
}
