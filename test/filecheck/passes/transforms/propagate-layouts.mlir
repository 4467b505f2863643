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

// So does a pool that is a fused operator.
// CHECK-LABEL: func.func @fused_pool
// CHECK-NEXT:    %[[P:.*]] = fused.max_pool2d(%x){{.*}} -> tensor<1x3x2x2xf32, #edge.layout<[0, 2, 3, 1]>>
// CHECK-NEXT:    func.return %[[P]]
func.func @fused_pool(%x: tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x2x2xf32, #edge.layout<[0, 2, 3, 1]>> {
  %0 = edge._to_dim_order_copy(%x) {dim_order = [0, 1, 2, 3]} : (tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x4x4xf32>
  %1 = fused.max_pool2d(%0) {kernel_size = [2, 2], stride = [2, 2]} : (tensor<1x3x4x4xf32>) -> tensor<1x3x2x2xf32>
  %2 = edge._to_dim_order_copy(%1) {dim_order = [0, 2, 3, 1]} : (tensor<1x3x2x2xf32>) -> tensor<1x3x2x2xf32, #edge.layout<[0, 2, 3, 1]>>
  func.return %2 : tensor<1x3x2x2xf32, #edge.layout<[0, 2, 3, 1]>>
}

// So does padding.
// CHECK-LABEL: func.func @padded
// CHECK-NEXT:    %[[P:.*]] = edge.constant_pad_nd(%x){{.*}} -> tensor<1x3x5x5xf32, #edge.layout<[0, 2, 3, 1]>>
// CHECK-NEXT:    func.return %[[P]]
func.func @padded(%x: tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x5x5xf32, #edge.layout<[0, 2, 3, 1]>> {
  %0 = edge._to_dim_order_copy(%x) {dim_order = [0, 1, 2, 3]} : (tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x3x4x4xf32>
  %1 = edge.constant_pad_nd(%0) {pad = [0, 1, 0, 1], value = 0.0} : (tensor<1x3x4x4xf32>) -> tensor<1x3x5x5xf32>
  %2 = edge._to_dim_order_copy(%1) {dim_order = [0, 2, 3, 1]} : (tensor<1x3x5x5xf32>) -> tensor<1x3x5x5xf32, #edge.layout<[0, 2, 3, 1]>>
  func.return %2 : tensor<1x3x5x5xf32, #edge.layout<[0, 2, 3, 1]>>
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

// Images are joined in the layout that all of them have, and multiplied in theirs by a number for each channel.
// CHECK-LABEL: func.func @joins
// CHECK:         %[[G:.*]] = edge._to_dim_order_copy(%g) {dim_order = [0, 1, 2, 3]}
// CHECK:         %[[M:.*]] = edge.mul.Tensor(%x, %[[G]]) : (tensor<1x2x3x3xf32, #edge.layout<[0, 2, 3, 1]>>, tensor<1x2x1x1xf32>) -> tensor<1x2x3x3xf32, #edge.layout<[0, 2, 3, 1]>>
// CHECK-NEXT:    %[[C:.*]] = edge.cat([%[[M]], %x]) {dim = 1} : {{.*}} -> tensor<1x4x3x3xf32, #edge.layout<[0, 2, 3, 1]>>
// CHECK-NEXT:    func.return %[[C]]
func.func @joins(%x: tensor<1x2x3x3xf32, #edge.layout<[0, 2, 3, 1]>>, %g: tensor<1x2x1x1xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x4x3x3xf32, #edge.layout<[0, 2, 3, 1]>> {
  %0 = edge._to_dim_order_copy(%x) {dim_order = [0, 1, 2, 3]} : (tensor<1x2x3x3xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x2x3x3xf32>
  %1 = edge._to_dim_order_copy(%g) {dim_order = [0, 1, 2, 3]} : (tensor<1x2x1x1xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x2x1x1xf32>
  %2 = edge.mul.Tensor(%0, %1) : (tensor<1x2x3x3xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x3x3xf32>
  %3 = edge.cat([%2, %0]) {dim = 1} : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x4x3x3xf32>
  %4 = edge._to_dim_order_copy(%3) {dim_order = [0, 2, 3, 1]} : (tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32, #edge.layout<[0, 2, 3, 1]>>
  func.return %4 : tensor<1x4x3x3xf32, #edge.layout<[0, 2, 3, 1]>>
}

// Not where one of them lies otherwise.
// CHECK-LABEL: func.func @joins_others
// CHECK:         edge.cat({{.*}}) -> tensor<1x4x3x3xf32>
func.func @joins_others(%x: tensor<1x2x3x3xf32, #edge.layout<[0, 2, 3, 1]>>, %y: tensor<1x2x3x3xf32>) -> tensor<1x4x3x3xf32> {
  %0 = edge._to_dim_order_copy(%x) {dim_order = [0, 1, 2, 3]} : (tensor<1x2x3x3xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x2x3x3xf32>
  %1 = edge.cat([%0, %y]) {dim = 1} : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x4x3x3xf32>
  func.return %1 : tensor<1x4x3x3xf32>
}
