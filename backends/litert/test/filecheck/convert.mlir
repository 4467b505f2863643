// RUN: flambeau-opt %s -p 'partition{backends=litert},convert-partitions,cse' | filecheck %s

// A clamp is the activation of the operator before it, where TFLite has one with these limits.
// CHECK-LABEL: delegate.partition @sum_litert_0 backend "LiteRtBackend" (%x: tensor<2x3xi8>, %y: tensor<2x3xi8>) -> (tensor<2x3xi8>)
// CHECK-NEXT:    %0 = litert.add(%x, %y) {fused_activation_function = "RELU6", scales = [0.5, 0.25, 0.5], zero_points = [3, 0, -128]}
// CHECK-NEXT:    delegate.return %0
func.func @sum(%x: tensor<2x3xi8>, %y: tensor<2x3xi8>) -> tensor<2x3xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%y) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %2 = edge.add.Tensor(%0, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = edge.hardtanh(%2) {min_val = 0, max_val = 6} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = quantized_decomposed.quantize_per_tensor(%3) {scale = 0.5, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %4 : tensor<2x3xi8>
}

// Other limits are operators of their own; a function with a scale of its own is rescaled.
// CHECK-LABEL: delegate.partition @limits_litert_0
// CHECK-NEXT:    %0 = litert.logistic(%x) {scales = [0.5, 0.00390625], zero_points = [3, -128]}
// CHECK-NEXT:    %1 = litert.quantize(%0) {dtype = i8, scales = [0.00390625, 0.0078125], zero_points = [-128, 0]}
// CHECK-NEXT:    %2 = ml_program.global_load_const @maximum : tensor<1xi8>
// CHECK-NEXT:    %3 = litert.maximum(%1, %2)
// CHECK-NEXT:    %4 = ml_program.global_load_const @minimum : tensor<1xi8>
// CHECK-NEXT:    %5 = litert.minimum(%3, %4)
// CHECK-NEXT:    delegate.return %5
func.func @limits(%x: tensor<2x3xi8>) -> tensor<2x3xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.sigmoid(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.hardtanh(%1) {min_val = 0.25, max_val = 0.75} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.0078125, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %3 : tensor<2x3xi8>
}

// Padding that is neither SAME nor VALID is an operator before the windows, and its number the least integer.
// CHECK-LABEL: delegate.partition @windows_litert_0
// CHECK-NEXT:    %0 = ml_program.global_load_const @padding : tensor<i8>
// CHECK-NEXT:    %1 = litert.padv2(%x, %0) {padding = [0, 0, 0, 0, 1, 1, 1, 1]}
// CHECK-NEXT:    %2 = litert.transpose(%1) {perm = [0, 2, 3, 1]}
// CHECK-NEXT:    %3 = litert.max_pool_2d(%2) {padding = "VALID", stride_w = 2, stride_h = 2, filter_width = 2, filter_height = 2, scales = [0.5], zero_points = [3]}
// CHECK-NEXT:    %4 = litert.transpose(%3) {perm = [0, 3, 1, 2]}
// CHECK-NEXT:    delegate.return %4
func.func @windows(%x: tensor<1x2x4x4xi8>) -> tensor<1x2x3x3xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32>
  %1, %2 = edge.max_pool2d_with_indices(%0) {kernel_size = [2, 2], stride = [2, 2], padding = [1, 1]} : (tensor<1x2x4x4xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xi64>)
  %3 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xi8>
  func.return %3 : tensor<1x2x3x3xi8>
}

// A transposed convolution is made whole, and its margin is cut off, where its padding has no word.
// CHECK-LABEL: delegate.partition @undone_litert_0
// CHECK:         litert.transpose_conv(%{{.*}}, %{{.*}}, %{{.*}}) {output_shape = [1, 4, 4, 2], padding = "VALID", stride_w = 2, stride_h = 2, scales = [0.5, 0.25], zero_points = [3, 0], filter_scales = [0.125]}
// CHECK-NEXT:    litert.slice(%{{.*}}) {begin = [0, 1, 1, 0], size = [1, 2, 2, 2]}
ml_program.global private @w(dense<3> : tensor<1x2x2x2xi8>) : tensor<1x2x2x2xi8>
func.func @undone(%x: tensor<1x1x2x2xi8>) -> tensor<1x2x2x2xi8> {
  %w = ml_program.global_load_const @w : tensor<1x2x2x2xi8>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x1x2x2xi8>) -> tensor<1x1x2x2xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%w) {scale = 0.125, zero_point = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xf32>
  %2 = edge.convolution(%0, %1, none) {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = true, output_padding = [0, 0], groups = 1} : (tensor<1x1x2x2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xi8>
  func.return %3 : tensor<1x2x2x2xi8>
}

// A number is an integer with a scale of its own.
// CHECK-LABEL: delegate.partition @number_litert_0
// CHECK-NEXT:    %0 = ml_program.global_load_const @number_1 : tensor<1xi8>
// CHECK-NEXT:    %1 = litert.mul(%x, %0) {scales = [0.5, {{0.0157.*}}, 0.5], zero_points = [3, 0, 0]}
// CHECK-NEXT:    delegate.return %1
func.func @number(%x: tensor<2x3xi8>) -> tensor<2x3xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.mul.Scalar(%0) {other = -2.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %2 : tensor<2x3xi8>
}

// Floats stay, unless the precision is theirs.
// CHECK-LABEL: func.func @floats
// CHECK-NEXT:    edge.tanh
func.func @floats(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.tanh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// A place without dimensions is one entry; a constant is given the type of the result when it is compiled.
// CHECK-LABEL: delegate.partition @place_litert_0
// CHECK-NEXT:    %0 = litert.gather(%x, %i) {axis = 0} : (tensor<2x3xi8>, tensor<i32>) -> tensor<3xi8>
// CHECK-NEXT:    %1 = litert.reshape(%0) {shape = [1, 3]}
// CHECK-NEXT:    %2 = ml_program.global_load_const @c_1 : tensor<1x3xi8>
// CHECK-NEXT:    %3 = litert.concatenation([%1, %2]) {axis = 0}
// CHECK-NEXT:    delegate.return %3
ml_program.global private @c(dense<[[2, 4, 6]]> : tensor<1x3xi8>) : tensor<1x3xi8>
func.func @place(%x: tensor<2x3xi8>, %i: tensor<i32>) -> tensor<2x3xi8> {
  %c = ml_program.global_load_const @c : tensor<1x3xi8>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.index_select(%0, %i) {dim = 0} : (tensor<2x3xf32>, tensor<i32>) -> tensor<1x3xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x3xf32>) -> tensor<1x3xi8>
  %3 = quantized_decomposed.dequantize_per_tensor(%2) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x3xi8>) -> tensor<1x3xf32>
  %4 = quantized_decomposed.dequantize_per_tensor(%c) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x3xi8>) -> tensor<1x3xf32>
  %5 = edge.cat([%3, %4]) {dim = 0} : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  %6 = quantized_decomposed.quantize_per_tensor(%5) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %6 : tensor<2x3xi8>
}

// A product with a gate stays where the steps of the gate are more than two of the result.
// CHECK-LABEL: func.func @gated
// CHECK:         edge.silu
func.func @gated(%x: tensor<2x3xi8>) -> tensor<2x3xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.silu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.125, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %2 : tensor<2x3xi8>
}
