// RUN: flambeau-opt %s | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt - | filecheck %s

// CHECK-LABEL: func.func @layers
// CHECK-NEXT:    cadence.quantized_linear.per_tensor(%x, %w, %b, none) {src_zero_point = 3, weight_zero_point = 0, out_multiplier = 1073741824, out_shift = -1, out_zero_point = 2} : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<4xi32>) -> tensor<2x4xi8>
// CHECK-NEXT:    cadence.quantized_relu.per_tensor(%0) {X_zero_point = 2, out_zero_point = 2, out_multiplier = 1073741824, out_shift = 1} : (tensor<2x4xi8>) -> tensor<2x4xi8>
func.func @layers(%x: tensor<2x3xi8>, %w: tensor<4x3xi8>, %b: tensor<4xi32>) {
  %0 = cadence.quantized_linear.per_tensor(%x, %w, %b, none) {src_zero_point = 3, weight_zero_point = 0, out_multiplier = 1073741824, out_shift = -1, out_zero_point = 2} : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<4xi32>) -> tensor<2x4xi8>
  %1 = cadence.quantized_relu.per_tensor(%0) {X_zero_point = 2, out_zero_point = 2, out_multiplier = 1073741824, out_shift = 1} : (tensor<2x4xi8>) -> tensor<2x4xi8>
  func.return
}
