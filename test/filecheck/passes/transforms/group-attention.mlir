// RUN: flambeau-opt %s -p group-attention,remove-dead-code | filecheck %s

// Heads that a model repeats, in either of two ways.
// CHECK-LABEL: func.func @repeat_kv
// CHECK-NEXT:    aten.scaled_dot_product_attention(%q, %k, %k, none) {is_causal = true, enable_gqa = true} :
// CHECK-NEXT:    func.return
func.func @repeat_kv(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x3x8xf32>) -> tensor<1x4x3x8xf32> {
  %0 = aten.unsqueeze(%k) {dim = 2} : (tensor<1x2x3x8xf32>) -> tensor<1x2x1x3x8xf32>
  %1 = aten.expand(%0) {size = [1, 2, 2, 3, 8]} : (tensor<1x2x1x3x8xf32>) -> tensor<1x2x2x3x8xf32>
  %2 = aten.reshape(%1) {shape = [1, 4, 3, 8]} : (tensor<1x2x2x3x8xf32>) -> tensor<1x4x3x8xf32>
  %3 = aten.repeat_interleave.self_int(%k) {repeats = 2, dim = 1} : (tensor<1x2x3x8xf32>) -> tensor<1x4x3x8xf32>
  %4 = aten.scaled_dot_product_attention(%q, %2, %3, none) {is_causal = true} : (tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>) -> tensor<1x4x3x8xf32>
  func.return %4 : tensor<1x4x3x8xf32>
}

// Heads in another order than those of groups, and values that are not repeated.
// CHECK-LABEL: func.func @other_order
// CHECK-NOT:     enable_gqa
func.func @other_order(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x3x8xf32>, %v: tensor<1x4x3x8xf32>) -> (tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>) {
  %0 = aten.unsqueeze(%k) {dim = 1} : (tensor<1x2x3x8xf32>) -> tensor<1x1x2x3x8xf32>
  %1 = aten.expand(%0) {size = [1, 2, 2, 3, 8]} : (tensor<1x1x2x3x8xf32>) -> tensor<1x2x2x3x8xf32>
  %2 = aten.reshape(%1) {shape = [1, 4, 3, 8]} : (tensor<1x2x2x3x8xf32>) -> tensor<1x4x3x8xf32>
  %3 = aten.scaled_dot_product_attention(%q, %2, %2, none) : (tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>) -> tensor<1x4x3x8xf32>
  %4 = aten.repeat_interleave.self_int(%k) {repeats = 2, dim = 1} : (tensor<1x2x3x8xf32>) -> tensor<1x4x3x8xf32>
  %5 = aten.scaled_dot_product_attention(%q, %4, %v, none) : (tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>) -> tensor<1x4x3x8xf32>
  func.return %3, %5 : tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>
}
