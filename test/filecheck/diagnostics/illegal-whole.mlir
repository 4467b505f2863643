// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p legalize-operators

// An operator that the target has no kernel of, and that its row decomposes for other operands only.
func.func @extents(%x: tensor<1x3x?x8x8xf32, #edge.layout<sizes = [1, 3, s0 in [0, 9], 8, 8]>>) -> tensor<1x3x2x2x2xf32> {
  // expected-error @+1 {{legalize-operators: edge._adaptive_avg_pool3d cannot be decomposed: }}
  %0 = edge._adaptive_avg_pool3d(%x) {output_size = [2, 2, 2]} : (tensor<1x3x?x8x8xf32, #edge.layout<sizes = [1, 3, s0 in [0, 9], 8, 8]>>) -> tensor<1x3x2x2x2xf32>
  func.return %0 : tensor<1x3x2x2x2xf32>
}

// -----

// One that has a decomposition, but not for these types.
func.func @types(%g: tensor<1x1x2x2xi64>, %x: tensor<1x1x4x4xi64>) -> tensor<1x1x4x4xi64> {
  // expected-error @+1 {{legalize-operators: 1 operation cannot be converted to operators for 'executorch': edge.avg_pool2d_backward: nothing runs it whole; it has no decomposition of these operands}}
  %0 = edge.avg_pool2d_backward(%g, %x) {kernel_size = [2, 2], stride = [2, 2], padding = [0, 0], ceil_mode = false, count_include_pad = true} : (tensor<1x1x2x2xi64>, tensor<1x1x4x4xi64>) -> tensor<1x1x4x4xi64>
  func.return %0 : tensor<1x1x4x4xi64>
}
