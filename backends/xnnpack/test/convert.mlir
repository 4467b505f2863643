// RUN: flambeau-opt %s -p 'partition{backends=xnnpack},convert-partitions,cse' | filecheck %s

// One transpose at each border; activations and limits are in the node before them.
// CHECK-LABEL: delegate.partition @residual_xnnpack_0 backend "XnnpackBackend" (%x: tensor<1x4x8x8xf32>) -> (tensor<1x4x8x8xf32>) attributes {operators = {{{.*}}}} {
// CHECK-NEXT:    %0 = xnnpack.static_transpose(%x) {perm = [0, 2, 3, 1]} : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32>
// CHECK-NEXT:    %1 = xnnpack.max_pooling2d(%0) {padding_top = 1, padding_right = 1, padding_bottom = 1, padding_left = 1, pooling_height = 3, pooling_width = 3} : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
// CHECK-NEXT:    %2 = xnnpack.avg_pooling2d(%1) {pooling_height = 1, pooling_width = 1, output_min = 0.0, output_max = 6.0} : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
// CHECK-NEXT:    %3 = xnnpack.sigmoid(%1) : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
// CHECK-NEXT:    %4 = xnnpack.add(%2, %3) {output_min = 0.0} : (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
// CHECK-NEXT:    %5 = xnnpack.static_transpose(%4) {perm = [0, 3, 1, 2]} : (tensor<1x8x8x4xf32>) -> tensor<1x4x8x8xf32>
// CHECK-NEXT:    delegate.return %5
func.func @residual(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %0, %1 = edge.max_pool2d_with_indices(%x) {kernel_size = [3, 3], stride = [1, 1], padding = [1, 1]} : (tensor<1x4x8x8xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xi64>)
  %2 = edge.avg_pool2d(%0) {kernel_size = [1, 1]} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %3 = edge.hardtanh(%2) {min_val = 0, max_val = 6} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %4 = edge.sigmoid(%0) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %5 = edge.add.Tensor(%3, %4) : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %6 = edge.relu(%5) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %6 : tensor<1x4x8x8xf32>
}

// Dimensions are renamed where a transpose passes: dimension 1 of [N, C, H, W] is dimension 3 of [N, H, W, C].
// CHECK-LABEL: delegate.partition @renamed_xnnpack_0
// CHECK:         xnnpack.concatenate2({{.*}}) {axis = 3}
// CHECK-NEXT:    xnnpack.static_constant_pad({{.*}}) {pre_paddings = [0, 3, 1, 0], post_paddings = [0, 4, 2, 0], padding_value = 0.5}
// CHECK-NEXT:    xnnpack.static_slice({{.*}}) {offsets = [0, 0, 0, 1], sizes = [1, 15, 11, 5]}
// CHECK-NEXT:    xnnpack.static_transpose({{.*}}) {perm = [0, 3, 1, 2]}
// CHECK-NEXT:    delegate.return
func.func @renamed(%x: tensor<1x3x8x8xf32>) -> tensor<1x5x15x11xf32> {
  %0 = edge.avg_pool2d(%x) {kernel_size = [1, 1]} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %1 = edge.cat([%0, %0]) {dim = 1} : (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x6x8x8xf32>
  %2 = edge.constant_pad_nd(%1) {pad = [1, 2, 3, 4], value = 0.5} : (tensor<1x6x8x8xf32>) -> tensor<1x6x15x11xf32>
  %3 = edge.slice_copy.Tensor(%2) {dim = 1, start = 1} : (tensor<1x6x15x11xf32>) -> tensor<1x5x15x11xf32>
  func.return %3 : tensor<1x5x15x11xf32>
}

// A transpose that moves dimensions of one entry is a reshape, and joins the one behind it.
// CHECK-LABEL: delegate.partition @pooled_xnnpack_0
// CHECK:         xnnpack.global_avg_pooling2d(%{{.*}}) {flags = 64} : (tensor<2x8x8x3xf32>) -> tensor<2x1x1x3xf32>
// CHECK-NEXT:    xnnpack.static_reshape(%{{.*}}) {new_shape = [2, 3]} : (tensor<2x1x1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    delegate.return
func.func @pooled(%x: tensor<2x3x8x8xf32>) -> tensor<2x3xf32> {
  %0 = edge.mean.dim(%x) {dim = [-1, -2], keepdim = true} : (tensor<2x3x8x8xf32>) -> tensor<2x3x1x1xf32>
  %1 = edge.view_copy(%0) {size = [2, 3]} : (tensor<2x3x1x1xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// A number is a constant tensor; what moves nothing is left out.
// CHECK-LABEL: delegate.partition @copies_xnnpack_0 backend "XnnpackBackend" (%x: tensor<1x1x4x1xf32>) -> (tensor<1x1x4x1xf32>, tensor<1x1x4x1xf32>) attributes {operators = {{{.*}}}} {
// CHECK-NEXT:    %0 = ml_program.global_load_const @number : tensor<1xf32>
// CHECK-NEXT:    %1 = xnnpack.multiply(%x, %0) : (tensor<1x1x4x1xf32>, tensor<1xf32>) -> tensor<1x1x4x1xf32>
// CHECK-NEXT:    delegate.return %x, %1
func.func @copies(%x: tensor<1x1x4x1xf32>) -> (tensor<1x1x4x1xf32>, tensor<1x1x4x1xf32>) {
  %0 = edge.permute_copy(%x) {dims = [0, 1, 2, 3]} : (tensor<1x1x4x1xf32>) -> tensor<1x1x4x1xf32>
  %1 = edge.mul.Scalar(%0) {other = 2.0} : (tensor<1x1x4x1xf32>) -> tensor<1x1x4x1xf32>
  func.return %0, %1 : tensor<1x1x4x1xf32>, tensor<1x1x4x1xf32>
}

// A change of type that changes nothing is no node.
// CHECK-LABEL: delegate.partition @nothing_changes_xnnpack_0
// CHECK-NEXT:    %0 = xnnpack.add(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:    delegate.return %0
func.func @nothing_changes(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = edge._to_copy(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = edge.add.Tensor(%0, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// What XNNPACK does not take stays.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT:    edge.acos
// CHECK-NEXT:    edge.add.Tensor(%0, %0) {alpha = 2}
// CHECK-NEXT:    edge._softmax
// CHECK-NEXT:    edge.avg_pool2d
// CHECK-NEXT:    edge.max_pool2d_with_indices
func.func @stays(%x: tensor<1x1x4x4xf32>) -> (tensor<1x1x3x3xf32>, tensor<1x1x2x2xi64>) {
  %0 = edge.acos(%x) : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %1 = edge.add.Tensor(%0, %0) {alpha = 2} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %2 = edge._softmax(%1) {dim = 1, half_to_float = false} : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %3 = edge.avg_pool2d(%2) {kernel_size = [2, 2], padding = [1, 1]} : (tensor<1x1x4x4xf32>) -> tensor<1x1x3x3xf32>
  %4, %5 = edge.max_pool2d_with_indices(%2) {kernel_size = [2, 2]} : (tensor<1x1x4x4xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>)
  func.return %3, %5 : tensor<1x1x3x3xf32>, tensor<1x1x2x2xi64>
}

// A reshape moves behind functions of each element.
// CHECK-LABEL: delegate.partition @swish_xnnpack_0
// CHECK-NEXT:    %0 = xnnpack.hardswish(%x) : (tensor<4x1xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:    %1 = xnnpack.static_reshape(%0) {new_shape = [2, 2]} : (tensor<4x1xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:    delegate.return %1
func.func @swish(%x: tensor<4x1xf32>) -> tensor<2x2xf32> {
  %0 = edge.view_copy(%x) {size = [2, 2]} : (tensor<4x1xf32>) -> tensor<2x2xf32>
  %1 = edge.hardswish(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}

// A node of integers is one of floats between them; what moves elements stands so too, and a limit is in the node before it.
// CHECK-LABEL: delegate.partition @sum_xnnpack_0
// CHECK-NEXT:    %0 = xnnpack.quantize(%x) {scale = 0.5, zero_point = 3} : (tensor<2x3xf32>) -> tensor<2x3xi8>
// CHECK-NEXT:    %1 = xnnpack.dequantize(%0) {scale = 0.5, zero_point = 3} : (tensor<2x3xi8>) -> tensor<2x3xf32>
// CHECK-NEXT:    %2 = xnnpack.quantize(%y) {scale = 0.25, zero_point = 0} : (tensor<2x3xf32>) -> tensor<2x3xi8>
// CHECK-NEXT:    %3 = xnnpack.dequantize(%2) {scale = 0.25, zero_point = 0} : (tensor<2x3xi8>) -> tensor<2x3xf32>
// CHECK-NEXT:    %4 = xnnpack.add(%1, %3) {output_min = 0.0} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %5 = xnnpack.quantize(%4) {scale = 0.75, zero_point = -128} : (tensor<2x3xf32>) -> tensor<2x3xi8>
// CHECK-NEXT:    %6 = xnnpack.dequantize(%5) {scale = 0.75, zero_point = -128} : (tensor<2x3xi8>) -> tensor<2x3xf32>
// CHECK-NEXT:    %7 = xnnpack.static_transpose(%6) {perm = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:    %8 = xnnpack.quantize(%7) {scale = 0.75, zero_point = -128} : (tensor<3x2xf32>) -> tensor<3x2xi8>
// CHECK-NEXT:    %9 = xnnpack.dequantize(%8) {scale = 0.75, zero_point = -128} : (tensor<3x2xi8>) -> tensor<3x2xf32>
// CHECK-NEXT:    delegate.return %9
func.func @sum(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = quantized_decomposed.quantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %1 = quantized_decomposed.dequantize_per_tensor(%0) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%y) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %3 = quantized_decomposed.dequantize_per_tensor(%2) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %4 = edge.add.Tensor(%1, %3) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = edge.relu(%4) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = quantized_decomposed.quantize_per_tensor(%5) {scale = 0.75, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %7 = quantized_decomposed.dequantize_per_tensor(%6) {scale = 0.75, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %8 = edge.permute_copy(%7) {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %8 : tensor<3x2xf32>
}
