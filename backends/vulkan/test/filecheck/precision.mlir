// RUN: flambeau-opt %s -p 'partition{backends=vulkan{precision=f16}},convert-partitions,cse' | filecheck %s

// Tensors are of float16 between the inputs and the results; scales of integers are not.
// CHECK-LABEL: delegate.partition @layers_vulkan_0
// CHECK-NEXT:    %[[SCALES:.*]] = ml_program.global_load_const @scales.vulkan
// CHECK-NEXT:    %[[WEIGHT:.*]] = ml_program.global_load_const @weight.vulkan
// CHECK-NEXT:    %[[X:.*]] = vulkan.to_half(%x) : (tensor<4x6xf32>) -> tensor<4x6xf16>
// CHECK-NEXT:    %[[PRODUCT:.*]] = vulkan.gemm(%[[X]], %[[WEIGHT]], none, %[[SCALES]]) {function = "sigmoid"} : (tensor<4x6xf16>, tensor<6x2xi8>, tensor<2xf32>) -> tensor<4x2xf16>
// CHECK-NEXT:    %[[NUMBER:.*]] = ml_program.global_load_const @number.f16
// CHECK-NEXT:    %[[SUM:.*]] = vulkan.add(%[[PRODUCT]], %[[NUMBER]]) : (tensor<4x2xf16>, tensor<f16>) -> tensor<4x2xf16>
// CHECK-NEXT:    %[[RESULT:.*]] = vulkan.to_float(%[[SUM]]) : (tensor<4x2xf16>) -> tensor<4x2xf32>
// CHECK-NEXT:    delegate.return %[[RESULT]]
ml_program.global private @weight(dense<[[1, 2, 3, 4, 5, 6], [-1, -2, -3, -4, -5, -6]]> : tensor<2x6xi8>) : tensor<2x6xi8>
ml_program.global private @scales(dense<[0.5, 0.25]> : tensor<2xf32>) : tensor<2xf32>
ml_program.global private @zero_points(dense<0> : tensor<2xi64>) : tensor<2xi64>
func.func @layers(%x: tensor<4x6xf32>) -> tensor<4x2xf32> {
  %w = ml_program.global_load_const @weight : tensor<2x6xi8>
  %s = ml_program.global_load_const @scales : tensor<2xf32>
  %z = ml_program.global_load_const @zero_points : tensor<2xi64>
  %0 = quantized_decomposed.dequantize_per_channel(%w, %s, %z) {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x6xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x6xf32>
  %1 = edge.linear(%x, %0, none) : (tensor<4x6xf32>, tensor<2x6xf32>) -> tensor<4x2xf32>
  %2 = edge.sigmoid(%1) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = edge.add.Scalar(%2) {other = 3} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  func.return %3 : tensor<4x2xf32>
}

// A model of float16 has no conversions.
// CHECK-LABEL: delegate.partition @halves_vulkan_0
// CHECK-NOT:     vulkan.to_
// CHECK:         vulkan.relu(%x) : (tensor<4xf16>) -> tensor<4xf16>
// CHECK-NOT:     vulkan.to_
func.func @halves(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = edge.relu(%x) : (tensor<4xf16>) -> tensor<4xf16>
  func.return %0 : tensor<4xf16>
}
