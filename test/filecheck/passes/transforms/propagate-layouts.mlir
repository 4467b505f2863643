// RUN: flambeau-opt %s -p propagate-layouts | filecheck %s

// Copies move behind elementwise operators and pools, and meet.
// CHECK-LABEL: func.func @images
// CHECK-NEXT:    %[[R:.*]] = edge.relu(%x) : (tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>
// CHECK-NEXT:    %[[S:.*]] = edge.add.Tensor(%[[R]], %x)
// CHECK-NEXT:    %[[P:.*]] = edge.avg_pool2d(%[[S]]){{.*}} -> tensor<1x3x2x2xf32, #edge.layout<[0, 2, 3, 1]>>
// CHECK-NEXT:    func.return %[[P]]
func.func @images(%x: tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x2x2xf32, #edge.layout<[0, 2, 3, 1]>> {
  %0 = edge._to_dim_order_copy(%x) {dim_order = [0, 1, 2, 3]} : (tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x4x4xf32>
  %1 = edge.relu(%0) : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  %2 = edge.add.Tensor(%1, %0) : (tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  %3 = edge.avg_pool2d(%2) {kernel_size = [2, 2], stride = [2, 2]} : (tensor<1x3x4x4xf32>) -> tensor<1x3x2x2xf32>
  %4 = edge._to_dim_order_copy(%3) {dim_order = [0, 2, 3, 1]} : (tensor<1x3x2x2xf32>) -> tensor<1x3x2x2xf32, #edge.layout<[0, 2, 3, 1]>>
  func.return %4 : tensor<1x3x2x2xf32, #edge.layout<[0, 2, 3, 1]>>
}

// A reduction reads the image as it is.
// CHECK-LABEL: func.func @reduction
// CHECK-NEXT:    edge.mean.dim(%x) {dim = [2, 3]} : (tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3xf32>
func.func @reduction(%x: tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3xf32> {
  %0 = edge._to_dim_order_copy(%x) {dim_order = [0, 1, 2, 3]} : (tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x4x4xf32>
  %1 = edge.mean.dim(%0) {dim = [2, 3]} : (tensor<1x3x4x4xf32>) -> tensor<1x3xf32>
  func.return %1 : tensor<1x3xf32>
}

// Heads are swapped with positions by the types around attention, not by moving them.
// CHECK-LABEL: func.func @attention
// CHECK-NEXT:    %[[Q:.*]] = edge.permute_copy(%x) {dims = [0, 2, 1, 3]} : (tensor<1x5x2x4xf32>) -> tensor<1x2x5x4xf32, #edge.layout<[0, 2, 1, 3]>>
// CHECK-NEXT:    %[[A:.*]] = fused.scaled_dot_product_attention({{.*}}) -> tensor<1x2x5x4xf32, #edge.layout<[0, 2, 1, 3]>>
// CHECK-NEXT:    edge.permute_copy(%[[A]]) {dims = [0, 2, 1, 3]} : (tensor<1x2x5x4xf32, #edge.layout<[0, 2, 1, 3]>>) -> tensor<1x5x2x4xf32>
func.func @attention(%x: tensor<1x5x2x4xf32>) -> tensor<1x5x2x4xf32> {
  %0 = edge.permute_copy(%x) {dims = [0, 2, 1, 3]} : (tensor<1x5x2x4xf32>) -> tensor<1x2x5x4xf32>
  %1 = fused.scaled_dot_product_attention(%0, %0, %0, none) {is_causal = false, scale = 0.5, enable_gqa = false} : (tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32>
  %2 = edge.permute_copy(%1) {dims = [0, 2, 1, 3]} : (tensor<1x2x5x4xf32>) -> tensor<1x5x2x4xf32>
  func.return %2 : tensor<1x5x2x4xf32>
}

// Operands in different layouts meet in neither.
// CHECK-LABEL: func.func @mixed
// CHECK:         edge.add.Tensor({{.*}}) : (tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
func.func @mixed(%x: tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>, %y: tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32> {
  %0 = edge._to_dim_order_copy(%x) {dim_order = [0, 1, 2, 3]} : (tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x4x4xf32>
  %1 = edge.add.Tensor(%0, %y) : (tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  func.return %1 : tensor<1x3x4x4xf32>
}
