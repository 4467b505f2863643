// RUN: flambeau-opt %s -p 'partition{backends=vulkan},convert-partitions,cse' | filecheck %s

// A number is a constant of the partition.
// CHECK-LABEL: delegate.partition @gate_vulkan_0 backend "FlambeauVulkan"
// CHECK-NEXT:    %0 = vulkan.sigmoid(%x)
// CHECK-NEXT:    %[[NUMBER:.*]] = ml_program.global_load_const @number
// CHECK-NEXT:    vulkan.add(%0, %[[NUMBER]])
// CHECK-NEXT:    vulkan.clamp({{.*}}) {low = 0.0, high = 6.0}
// CHECK-NEXT:    vulkan.gelu_tanh
func.func @gate(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.sigmoid(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.add.Scalar(%0) {other = 3} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.hardtanh(%1) {min_val = 0, max_val = 6} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = edge.gelu(%2) {approximate = "tanh"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %3 : tensor<2x3xf32>
}
