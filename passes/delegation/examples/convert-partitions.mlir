// flambeau-opt -p 'convert-partitions'
delegate.partition @p backend "XnnpackBackend" (%x: tensor<1x3x4x4xf32>) -> (tensor<1x3x2x2xf32>) {
  %0 = edge.avg_pool2d(%x) {kernel_size = [2, 2]} : (tensor<1x3x4x4xf32>) -> tensor<1x3x2x2xf32>
  %1 = edge.relu(%0) : (tensor<1x3x2x2xf32>) -> tensor<1x3x2x2xf32>
  delegate.return %1 : tensor<1x3x2x2xf32>
}
func.func @forward(%x: tensor<1x3x4x4xf32>) -> tensor<1x3x2x2xf32> {
  %0 = delegate.call @p(%x) : (tensor<1x3x4x4xf32>) -> tensor<1x3x2x2xf32>
  func.return %0 : tensor<1x3x2x2xf32>
}

// -----

delegate.partition @p backend "XnnpackBackend" (%x: tensor<1x3x4x4xf32>) -> (tensor<1x3x2x2xf32>) attributes {operators = {edge.avg_pool2d = 1 : i64, edge.relu = 1 : i64}} {
  %0 = xnnpack.static_transpose(%x) {perm = [0, 2, 3, 1]} : (tensor<1x3x4x4xf32>) -> tensor<1x4x4x3xf32>
  %1 = xnnpack.avg_pooling2d(%0) {pooling_height = 2, pooling_width = 2, stride_height = 2, stride_width = 2, output_min = 0.0} : (tensor<1x4x4x3xf32>) -> tensor<1x2x2x3xf32>
  %2 = xnnpack.static_transpose(%1) {perm = [0, 3, 1, 2]} : (tensor<1x2x2x3xf32>) -> tensor<1x3x2x2xf32>
  delegate.return %2 : tensor<1x3x2x2xf32>
}
func.func @forward(%x: tensor<1x3x4x4xf32>) -> tensor<1x3x2x2xf32> {
  %0 = delegate.call @p(%x) : (tensor<1x3x4x4xf32>) -> tensor<1x3x2x2xf32>
  func.return %0 : tensor<1x3x2x2xf32>
}
