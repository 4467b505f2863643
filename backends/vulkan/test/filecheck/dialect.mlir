// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt | filecheck %s

// CHECK-LABEL: func.func @elements
// CHECK-NEXT:    %0 = vulkan.mul(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %1 = vulkan.clamp(%0) {low = 0.0, high = 6.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %2 = vulkan.sigmoid(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @elements(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = vulkan.mul(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = vulkan.clamp(%0) {low = 0.0, high = 6.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = vulkan.sigmoid(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}
