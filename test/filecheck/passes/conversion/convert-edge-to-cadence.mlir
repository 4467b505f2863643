// RUN: flambeau-opt %s -p convert-edge-to-cadence,remove-dead-code | filecheck %s
// RUN: flambeau-opt %s -p convert-edge-to-cadence --remarks -o /dev/null 2>&1 | filecheck %s --check-prefix=WHY
// RUN: flambeau-opt %s -p 'convert-edge-to-cadence{target=executorch}' | filecheck %s --check-prefix=OTHER

ml_program.global private @w(#flambeau.blob<"w", "4545d7dc47b44a22">) : tensor<4x3xi8>
ml_program.global private @k(#flambeau.blob<"k", "c3bb26aa62439d44">) : tensor<2x3x3x3xi8>
ml_program.global private @b(#flambeau.blob<"b", "c3bbf1cf8f7e84d8">) : tensor<4xf32>
ml_program.global private @s(#flambeau.blob<"s", "f339df6a1f4479f8">) : tensor<4xf32>
ml_program.global private @z(#flambeau.blob<"z", "66687aadf862bd77">) : tensor<4xi64>

// A layer; its relu, which the limits of int8 do not imply, follows: the layer saturates at zero, and the relu gives the result's type.
// CHECK-LABEL: func.func @linear
// CHECK-NEXT:    %[[W:.*]] = ml_program.global_load_const @w
// CHECK-NEXT:    %[[B:.*]] = ml_program.global_load_const @w.bias : tensor<4xi32>
// CHECK-NEXT:    %[[Y:.*]] = cadence.quantized_linear.per_tensor(%x, %[[W]], %[[B]], none) {src_zero_point = 3, weight_zero_point = 0, out_multiplier = 1095216660, out_shift = 0, out_zero_point = -128}
// CHECK-NEXT:    %[[R:.*]] = cadence.quantized_relu.per_tensor(%[[Y]]) {X_zero_point = -128, out_zero_point = 2, out_multiplier = 2105376125, out_shift = -1}
// CHECK-NEXT:    func.return %[[R]]
// OTHER-NOT: cadence
func.func @linear(%x: tensor<2x3xi8>) -> tensor<2x4xi8> {
  %w = ml_program.global_load_const @w : tensor<4x3xi8>
  %b = ml_program.global_load_const @b : tensor<4xf32>
  %wf = quantized_decomposed.dequantize_per_tensor(%w) {scale = 0.125, zero_point = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4x3xi8>) -> tensor<4x3xf32>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.linear(%0, %wf, %b) : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = edge.relu(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  func.return %3 : tensor<2x4xi8>
}

// Of one row, the vendor has another function.
// CHECK-LABEL: func.func @row
// CHECK:         cadence.quantized_fully_connected.per_tensor(%x, %{{.*}}, %{{.*}}, none) {src_zero_point = 3, weight_zero_point = 0, out_multiplier = 1073741824, out_shift = -1, out_zero_point = 2}
func.func @row(%x: tensor<1x3xi8>) -> tensor<1x4xi8> {
  %w = ml_program.global_load_const @w : tensor<4x3xi8>
  %wf = quantized_decomposed.dequantize_per_tensor(%w) {scale = 0.125, zero_point = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4x3xi8>) -> tensor<4x3xf32>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x3xi8>) -> tensor<1x3xf32>
  %1 = edge.linear(%0, %wf, none) : (tensor<1x3xf32>, tensor<4x3xf32>) -> tensor<1x4xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x4xf32>) -> tensor<1x4xi8>
  func.return %2 : tensor<1x4xi8>
}

// A convolution; the relu is where int8 ends. Floats come in, and go out.
// CHECK-LABEL: func.func @convolution
// CHECK:         %[[Q:.*]] = cadence.quantize_per_tensor(%x) {scale = 0.5, zero_point = 3,
// CHECK:         %[[Y:.*]] = cadence.quantized_conv2d_nchw.per_tensor(%[[Q]], {{.*}}) {stride = [2, 2], padding = [1, 1], dilation = [1, 1], groups = 1, input_zero_point = 3, weight_zero_point = 0, bias_scale = 0.0625, out_scale = 0.25, out_zero_point = -128, out_multiplier = 1073741824, out_shift = -1}
// CHECK-NEXT:    %[[F:.*]] = cadence.dequantize_per_tensor(%[[Y]]) {scale = 0.25, zero_point = -128,
// CHECK-NEXT:    func.return %[[F]]
func.func @convolution(%x: tensor<1x3x8x8xf32>) -> tensor<1x2x4x4xf32> {
  %k = ml_program.global_load_const @k : tensor<2x3x3x3xi8>
  %kf = quantized_decomposed.dequantize_per_tensor(%k) {scale = 0.125, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3x3x3xi8>) -> tensor<2x3x3x3xf32>
  %q = quantized_decomposed.quantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xi8>
  %0 = quantized_decomposed.dequantize_per_tensor(%q) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x3x8x8xi8>) -> tensor<1x3x8x8xf32>
  %1 = edge.convolution(%0, %kf, none) {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32>
  %2 = edge.relu(%1) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.25, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xi8>
  %4 = quantized_decomposed.dequantize_per_tensor(%3) {scale = 0.25, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32>
  func.return %4 : tensor<1x2x4x4xf32>
}

// Images whose channels come last, as a permutation tells: so does the convolution compute, and its weight is packed. The permutation goes on.
// CHECK-LABEL: func.func @last
// CHECK:         %[[K:.*]] = ml_program.global_load_const @k.repacked : tensor<2x3x3x3xi8>
// CHECK:         %[[Y:.*]] = cadence.quantized_conv2d_nhwc.per_tensor(%x, %[[K]], %{{.*}}, none) {stride = [2, 2], padding = [1, 1], dilation = [1, 1], groups = 1,
// CHECK-SAME:      : (tensor<1x8x8x3xi8>, tensor<2x3x3x3xi8>, tensor<2xi32>) -> tensor<1x4x4x2xi8>
// CHECK-NEXT:    %[[P:.*]] = edge.permute_copy(%[[Y]]) {dims = [0, 3, 1, 2]} : (tensor<1x4x4x2xi8>) -> tensor<1x2x4x4xi8>
// CHECK-NEXT:    func.return %[[P]]
func.func @last(%x: tensor<1x8x8x3xi8>) -> tensor<1x2x4x4xi8> {
  %k = ml_program.global_load_const @k : tensor<2x3x3x3xi8>
  %kf = quantized_decomposed.dequantize_per_tensor(%k) {scale = 0.125, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3x3x3xi8>) -> tensor<2x3x3x3xf32>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x8x8x3xi8>) -> tensor<1x8x8x3xf32>
  %1 = edge.permute_copy(%0) {dims = [0, 3, 1, 2]} : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32>
  %2 = edge.convolution(%1, %kf, none) {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.25, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xi8>
  func.return %3 : tensor<1x2x4x4xi8>
}

// Another permutation is none of channels: the convolution has them first.
// CHECK-LABEL: func.func @turned
// CHECK:         cadence.quantized_conv2d_nchw.per_tensor
func.func @turned(%x: tensor<1x3x8x8xi8>) -> tensor<1x2x4x4xi8> {
  %k = ml_program.global_load_const @k : tensor<2x3x3x3xi8>
  %kf = quantized_decomposed.dequantize_per_tensor(%k) {scale = 0.125, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3x3x3xi8>) -> tensor<2x3x3x3xf32>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x3x8x8xi8>) -> tensor<1x3x8x8xf32>
  %1 = edge.permute_copy(%0) {dims = [0, 1, 3, 2]} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %2 = edge.convolution(%1, %kf, none) {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.25, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xi8>
  func.return %3 : tensor<1x2x4x4xi8>
}

// A sum, and a move of its integers.
// CHECK-LABEL: func.func @sum
// CHECK-NEXT:    %[[S:.*]] = cadence.quantized_add_asym8sxasym8s_asym8s.per_tensor(%x, %y) {X_scale = 0.5, X_zero_point = 3, Y_scale = 0.25, Y_zero_point = -4, out_scale = 0.5, out_zero_point = 2}
// CHECK-NEXT:    %[[V:.*]] = edge.view_copy(%[[S]]) {size = [6]} : (tensor<2x3xi8>) -> tensor<6xi8>
// CHECK-NEXT:    func.return %[[V]]
func.func @sum(%x: tensor<2x3xi8>, %y: tensor<2x3xi8>) -> tensor<6xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%y) {scale = 0.25, zero_point = -4, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %2 = edge.add.Tensor(%0, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.5, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %4 = quantized_decomposed.dequantize_per_tensor(%3) {scale = 0.5, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %5 = edge.view_copy(%4) {size = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  %6 = quantized_decomposed.quantize_per_tensor(%5) {scale = 0.5, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<6xf32>) -> tensor<6xi8>
  func.return %6 : tensor<6xi8>
}

// Products of matrices behind views of what is dequantized, a norm, and a relu of its own.
// CHECK-LABEL: func.func @products
// CHECK:         %[[V:.*]] = edge.permute_copy(%y) {dims = [0, 2, 1]} : (tensor<2x4x3xi8>) -> tensor<2x3x4xi8>
// CHECK-NEXT:    %[[P:.*]] = cadence.quantized_matmul(%x, %[[V]], none) {X_zero_point = 3, Y_zero_point = -4, out_multiplier = 1073741824, out_shift = -1, out_zero_point = 2}
// CHECK-NEXT:    %[[N:.*]] = cadence.quantized_layer_norm.per_tensor(%[[P]], {{.*}}) {X_scale = 0.5, X_zero_point = 2, normalized_shape = [4], eps = 1.0e-05, output_scale = 0.25, output_zero_point = 0}
// CHECK-NEXT:    %[[R:.*]] = cadence.quantized_relu.per_tensor(%[[N]]) {X_zero_point = 0, out_zero_point = -128, out_multiplier = 1073741824, out_shift = 2}
// CHECK-NEXT:    func.return %[[R]]
func.func @products(%x: tensor<2x2x3xi8>, %y: tensor<2x4x3xi8>) -> tensor<2x2x4xi8> {
  %b = ml_program.global_load_const @b : tensor<4xf32>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x2x3xi8>) -> tensor<2x2x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%y) {scale = 0.25, zero_point = -4, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4x3xi8>) -> tensor<2x4x3xf32>
  %2 = edge.permute_copy(%1) {dims = [0, 2, 1]} : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
  %3 = edge.bmm(%0, %2) : (tensor<2x2x3xf32>, tensor<2x3x4xf32>) -> tensor<2x2x4xf32>
  %4 = quantized_decomposed.quantize_per_tensor(%3) {scale = 0.5, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x2x4xf32>) -> tensor<2x2x4xi8>
  %5 = quantized_decomposed.dequantize_per_tensor(%4) {scale = 0.5, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x2x4xi8>) -> tensor<2x2x4xf32>
  %6 = edge.layer_norm(%5, %b, %b) {normalized_shape = [4]} : (tensor<2x2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x2x4xf32>
  %7 = quantized_decomposed.quantize_per_tensor(%6) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x2x4xf32>) -> tensor<2x2x4xi8>
  %8 = quantized_decomposed.dequantize_per_tensor(%7) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x2x4xi8>) -> tensor<2x2x4xf32>
  %9 = edge.relu(%8) : (tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
  %10 = quantized_decomposed.quantize_per_tensor(%9) {scale = 0.125, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x2x4xf32>) -> tensor<2x2x4xi8>
  func.return %10 : tensor<2x2x4xi8>
}

// CHECK-LABEL: func.func @stays
// CHECK-NOT:     cadence.quantized_
// WHY: stays in floats: its weight has a scale for each output, and the kernels take one for all
// WHY: stays in floats: of limits, only that of a relu has a kernel, not -128 to 26
// WHY: stays in floats: of convolutions, only those with a ratio of scales below 1 have a kernel, not 2.0
func.func @stays(%x: tensor<2x3xi8>, %i: tensor<1x3x8x8xi8>) -> (tensor<2x4xi8>, tensor<2x3xi8>, tensor<1x2x4x4xi8>) {
  %w = ml_program.global_load_const @w : tensor<4x3xi8>
  %s = ml_program.global_load_const @s : tensor<4xf32>
  %z = ml_program.global_load_const @z : tensor<4xi64>
  %wf = quantized_decomposed.dequantize_per_channel(%w, %s, %z) {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4x3xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.linear(%0, %wf, none) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  %3 = edge.add.Tensor(%0, %0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = edge.hardtanh(%3) {min_val = 0.0, max_val = 6.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = quantized_decomposed.quantize_per_tensor(%4) {scale = 0.0390625, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %k = ml_program.global_load_const @k : tensor<2x3x3x3xi8>
  %kf = quantized_decomposed.dequantize_per_tensor(%k) {scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3x3x3xi8>) -> tensor<2x3x3x3xf32>
  %6 = quantized_decomposed.dequantize_per_tensor(%i) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x3x8x8xi8>) -> tensor<1x3x8x8xf32>
  %7 = edge.convolution(%6, %kf, none) {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32>
  %8 = quantized_decomposed.quantize_per_tensor(%7) {scale = 0.125, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xi8>
  func.return %2, %5, %8 : tensor<2x4xi8>, tensor<2x3xi8>, tensor<1x2x4x4xi8>
}
