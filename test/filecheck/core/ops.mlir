// RUN: flambeau-opt %s | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt - | filecheck %s

// CHECK-LABEL: func.func @core
// CHECK-NEXT:    core.permute(%x) {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:    core.linear(%x, %w, none) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:    core.full() {size = [2], fill_value = 1.0, dtype = f32} : () -> tensor<2xf32>
func.func @core(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) {
  %0 = core.permute(%x) {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = core.linear(%x, %w, none) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %2 = core.full() {size = [2], fill_value = 1.0, dtype = f32} : () -> tensor<2xf32>
  func.return
}
