// RUN: flambeau-opt %s | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt - | filecheck %s

// CHECK-LABEL: func.func @fused
// CHECK-NEXT:    fused.linear(%x, %w, none, none) {out_features = 4, activation = "relu"} : (tensor<2x3xf32>, tensor<1x3x16xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:    fused.scaled_dot_product_attention(%q, %q, %q, none) {is_causal = true, scale = 0.5, enable_gqa = false} :
// CHECK-NEXT:    fused.cached_attention(%q, %q, %q, %p) {scale = 0.5, window = 2} :
// CHECK-NEXT:    fused.rms_norm(%x, %x, none) {normalized_shape = [3], eps = 1.0e-05} :
func.func @fused(%x: tensor<2x3xf32>, %w: tensor<1x3x16xf32>, %q: tensor<1x2x3x4xf32>, %p: tensor<1xi64>) {
  %0 = fused.linear(%x, %w, none, none) {out_features = 4, activation = "relu"} : (tensor<2x3xf32>, tensor<1x3x16xf32>) -> tensor<2x4xf32>
  %1 = fused.scaled_dot_product_attention(%q, %q, %q, none) {is_causal = true, scale = 0.5, enable_gqa = false} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %3 = fused.cached_attention(%q, %q, %q, %p) {scale = 0.5, window = 2} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1xi64>) -> tensor<1x2x3x4xf32>
  %2 = fused.rms_norm(%x, %x, none) {normalized_shape = [3], eps = 1.0e-05} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
