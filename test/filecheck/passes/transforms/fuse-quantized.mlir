// RUN: flambeau-opt %s -p fuse-quantized,remove-dead-code | filecheck %s

ml_program.global private @w(#flambeau.blob<"w", "4545d7dc47b44a22">) : tensor<4x3xi8>
ml_program.global private @k(#flambeau.blob<"k", "c3bb26aa62439d44">) : tensor<2x3x3x3xi8>
ml_program.global private @d(#flambeau.blob<"d", "af35505fac991c8c">) : tensor<3x1x3x3xi8>
ml_program.global private @b(#flambeau.blob<"b", "c3bbf1cf8f7e84d8">) : tensor<4xf32>
ml_program.global private @s(#flambeau.blob<"s", "f339df6a1f4479f8">) : tensor<4xf32>
ml_program.global private @z(#flambeau.blob<"z", "66687aadf862bd77">) : tensor<4xi64>
ml_program.global private @t(#flambeau.blob<"t", "dd62c36d69969936">) : tensor<3xf32>
ml_program.global private @o(#flambeau.blob<"o", "7dc2ceb622e4e3aa">) : tensor<1x3xi32>
ml_program.global private @p(#flambeau.blob<"p", "4b51fd038a5e18ef">) : tensor<1x3xi32>
ml_program.global private @rows(#flambeau.blob<"rows", "86f6959e765e2015">) : tensor<4x1x3xi8>

// A layer with scales for each channel; its activation is where it saturates.
// CHECK-LABEL: func.func @linear
// CHECK-NEXT:    %[[W:.*]] = ml_program.global_load_const @w.packed : tensor<1x1x16x4xi8>
// CHECK-NEXT:    %[[R:.*]] = ml_program.global_load_const @w.requantization : tensor<3x4xi32>
// CHECK-NEXT:    %[[Y:.*]] = fused.quantized_linear(%x, %[[W]], %[[R]]) {out_features = 4, zero_point = 2, low = 2, high = 127}
// CHECK-NEXT:    func.return %[[Y]]
func.func @linear(%x: tensor<2x3xi8>) -> tensor<2x4xi8> {
  %w = ml_program.global_load_const @w : tensor<4x3xi8>
  %b = ml_program.global_load_const @b : tensor<4xf32>
  %s = ml_program.global_load_const @s : tensor<4xf32>
  %z = ml_program.global_load_const @z : tensor<4xi64>
  %wf = quantized_decomposed.dequantize_per_channel(%w, %s, %z) {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4x3xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.linear(%0, %wf, %b) : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = edge.relu(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  func.return %3 : tensor<2x4xi8>
}

// An activation between integers of one meaning clamps integers, and then is where the layer before saturates.
// CHECK-LABEL: func.func @saturates
// CHECK:         fused.quantized_linear({{.*}}zero_point = 2, low = 2, high = 14}
// CHECK-NEXT:    func.return
func.func @saturates(%x: tensor<2x3xi8>) -> tensor<2x4xi8> {
  %w = ml_program.global_load_const @w : tensor<4x3xi8>
  %b = ml_program.global_load_const @b : tensor<4xf32>
  %s = ml_program.global_load_const @s : tensor<4xf32>
  %z = ml_program.global_load_const @z : tensor<4xi64>
  %wf = quantized_decomposed.dequantize_per_channel(%w, %s, %z) {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4x3xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.linear(%0, %wf, %b) : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  %3 = quantized_decomposed.dequantize_per_tensor(%2) {scale = 0.5, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %4 = edge.hardtanh(%3) {min_val = 0.0, max_val = 6.0} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = quantized_decomposed.quantize_per_tensor(%4) {scale = 0.5, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  func.return %5 : tensor<2x4xi8>
}

// Convolutions, dense and depthwise, of channels-last images.
// CHECK-LABEL: func.func @convolutions
// CHECK:         %[[X:.*]] = edge._to_dim_order_copy(%x) {dim_order = [0, 2, 3, 1]}
// CHECK:         ml_program.global_load_const @k.packed : tensor<1x7x16x4xi8>
// CHECK:         %[[Y:.*]] = fused.quantized_conv2d(%[[X]], {{.*}}) {kernel_size = [3, 3], stride = [2, 2], padding = [1, 1], dilation = [1, 1], groups = 1, out_channels = 2, input_zero_point = 3, zero_point = -128, low = -128, high = 127}
// CHECK-NEXT:    edge._to_dim_order_copy(%[[Y]]) {dim_order = [0, 1, 2, 3]}
// CHECK:         ml_program.global_load_const @d.packed : tensor<9x3xi8>
// CHECK:         fused.quantized_conv2d({{.*}}groups = 3, out_channels = 3
func.func @convolutions(%x: tensor<1x3x8x8xi8>) -> (tensor<1x2x4x4xi8>, tensor<1x3x4x4xi8>) {
  %k = ml_program.global_load_const @k : tensor<2x3x3x3xi8>
  %d = ml_program.global_load_const @d : tensor<3x1x3x3xi8>
  %kf = quantized_decomposed.dequantize_per_tensor(%k) {scale = 0.125, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3x3x3xi8>) -> tensor<2x3x3x3xf32>
  %df = quantized_decomposed.dequantize_per_tensor(%d) {scale = 0.125, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x1x3x3xi8>) -> tensor<3x1x3x3xf32>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x3x8x8xi8>) -> tensor<1x3x8x8xf32>
  %1 = edge.convolution(%0, %kf, none) {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32>
  %2 = edge.convolution(%0, %df, none) {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 3} : (tensor<1x3x8x8xf32>, tensor<3x1x3x3xf32>) -> tensor<1x3x4x4xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.25, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xi8>
  %4 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.25, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xi8>
  func.return %3, %4 : tensor<1x2x4x4xi8>, tensor<1x3x4x4xi8>
}

// A sum, with its activation.
// CHECK-LABEL: func.func @sum
// CHECK-NEXT:    %[[S:.*]] = fused.quantized_add(%x, %y) {input_multiplier = 1048576, other_multiplier = 524288, shift = 20, input_zero_point = 3, other_zero_point = -4, zero_point = 2, low = 2, high = 127}
// CHECK-NEXT:    func.return %[[S]]
func.func @sum(%x: tensor<2x3xi8>, %y: tensor<2x3xi8>) -> tensor<2x3xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%y) {scale = 0.25, zero_point = -4, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %2 = edge.add.Tensor(%0, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = edge.relu(%2) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = quantized_decomposed.quantize_per_tensor(%3) {scale = 0.5, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %4 : tensor<2x3xi8>
}

// What only moves elements moves integers, and numbers that were quantized before are not quantized again.
// CHECK-LABEL: func.func @moves
// CHECK-NEXT:    %[[A:.*]] = edge.view_copy(%x) {size = [6]} : (tensor<2x3xi8>) -> tensor<6xi8>
// CHECK-NEXT:    func.return %[[A]], %x
func.func @moves(%x: tensor<2x3xi8>) -> (tensor<6xi8>, tensor<2x3xi8>) {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.view_copy(%0) {size = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<6xf32>) -> tensor<6xi8>
  %3 = quantized_decomposed.quantize_per_tensor(%0) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %2, %3 : tensor<6xi8>, tensor<2x3xi8>
}

// Another scale or a narrower range are tables; sums that others read stay in floats, but for the weight.
// CHECK-LABEL: func.func @stays
// CHECK:         dequantize_per_tensor(
// CHECK-COUNT-2: fused.quantized_table(
// CHECK:         fused.weight_only_linear
// CHECK:         quantize_per_tensor(
// CHECK:         func.return
func.func @stays(%x: tensor<2x3xi8>) -> (tensor<2x3xi8>, tensor<2x3xi8>, tensor<2x4xi8>, tensor<2x4xf32>) {
  %w = ml_program.global_load_const @w : tensor<4x3xi8>
  %b = ml_program.global_load_const @b : tensor<4xf32>
  %s = ml_program.global_load_const @s : tensor<4xf32>
  %z = ml_program.global_load_const @z : tensor<4xi64>
  %wf = quantized_decomposed.dequantize_per_channel(%w, %s, %z) {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4x3xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = quantized_decomposed.quantize_per_tensor(%0) {scale = 0.25, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %2 = quantized_decomposed.quantize_per_tensor(%0) {scale = 0.5, zero_point = 3, quant_min = -10, quant_max = 10, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %3 = edge.linear(%0, %wf, none) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %4 = quantized_decomposed.quantize_per_tensor(%3) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  func.return %1, %2, %4, %3 : tensor<2x3xi8>, tensor<2x3xi8>, tensor<2x4xi8>, tensor<2x4xf32>
}

// A layer of floats with a dequantized weight.
// CHECK-LABEL: func.func @weight_only
// CHECK-NEXT:    %[[B:.*]] = ml_program.global_load_const @b : tensor<4xf32>
// CHECK-NEXT:    %[[W:.*]] = ml_program.global_load_const @w.packed_1 : tensor<1x3x16xi8>
// CHECK-NEXT:    %[[S:.*]] = ml_program.global_load_const @w.scales : tensor<4xf32>
// CHECK-NEXT:    %[[Y:.*]] = fused.weight_only_linear(%x, %[[W]], %[[S]], %[[B]]) {out_features = 4}
// CHECK-NEXT:    func.return %[[Y]]
func.func @weight_only(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  %w = ml_program.global_load_const @w : tensor<4x3xi8>
  %b = ml_program.global_load_const @b : tensor<4xf32>
  %s = ml_program.global_load_const @s : tensor<4xf32>
  %z = ml_program.global_load_const @z : tensor<4xi64>
  %wf = quantized_decomposed.dequantize_per_channel(%w, %s, %z) {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4x3xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %0 = edge.linear(%x, %wf, %b) : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// Scales and a bias that follow a product with integers, the bias behind a view.
// CHECK-LABEL: func.func @scaled_afterwards
// CHECK:         %[[Y:.*]] = fused.weight_only_linear(%x, %{{.*}}, %{{.*}}, %{{.*}}) {out_features = 3} : (tensor<2x4xf32>, tensor<1x4x16xi8>, tensor<3xf32>, tensor<3xf32>)
// CHECK-NEXT:    %[[V:.*]] = edge.view_copy(%[[Y]]) {size = [1, 2, 3]}
// CHECK-NEXT:    func.return %[[V]]
func.func @scaled_afterwards(%x: tensor<2x4xf32>) -> tensor<1x2x3xf32> {
  %w = ml_program.global_load_const @w : tensor<4x3xi8>
  %t = ml_program.global_load_const @t : tensor<3xf32>
  %wf = edge._to_copy(%w) {dtype = f32} : (tensor<4x3xi8>) -> tensor<4x3xf32>
  %0 = edge.mm(%x, %wf) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = edge.mul.Tensor(%t, %0) : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.view_copy(%1) {size = [1, 2, 3]} : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  %3 = edge.add.Tensor(%2, %t) : (tensor<1x2x3xf32>, tensor<3xf32>) -> tensor<1x2x3xf32>
  func.return %3 : tensor<1x2x3xf32>
}

// A scale for each input is not one of the products; behind a view of other features, no vector is a bias.
// CHECK-LABEL: func.func @stays_dequantized
// CHECK:         quantized_decomposed.dequantize_per_channel
// CHECK:         edge.mm
// CHECK:         fused.weight_only_linear(%{{.*}}, %{{.*}}, %{{.*}}, none)
// CHECK-COUNT-2: edge.view_copy
// CHECK-NEXT:    edge.add.Tensor
func.func @stays_dequantized(%x: tensor<1x4xf32>) -> (tensor<1x3xf32>, tensor<3x1xf32>) {
  %w = ml_program.global_load_const @w : tensor<4x3xi8>
  %s = ml_program.global_load_const @s : tensor<4xf32>
  %t = ml_program.global_load_const @t : tensor<3xf32>
  %z = ml_program.global_load_const @z : tensor<4xi64>
  %wf = quantized_decomposed.dequantize_per_channel(%w, %s, %z) {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4x3xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %0 = edge.mm(%x, %wf) : (tensor<1x4xf32>, tensor<4x3xf32>) -> tensor<1x3xf32>
  %wc = edge._to_copy(%w) {dtype = f32} : (tensor<4x3xi8>) -> tensor<4x3xf32>
  %1 = edge.mm(%x, %wc) : (tensor<1x4xf32>, tensor<4x3xf32>) -> tensor<1x3xf32>
  %2 = edge.view_copy(%1) {size = [3, 1]} : (tensor<1x3xf32>) -> tensor<3x1xf32>
  %v = edge.view_copy(%t) {size = [3, 1]} : (tensor<3xf32>) -> tensor<3x1xf32>
  %3 = edge.add.Tensor(%2, %v) : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  func.return %0, %3 : tensor<1x3xf32>, tensor<3x1xf32>
}

// What the run quantizes, as a whole and row by row, is multiplied as integers.
// CHECK-LABEL: func.func @dynamic
// CHECK:         %[[Q:.*]] = quantized_decomposed.quantize_per_tensor.tensor(%x, %s, %z)
// CHECK:         fused.dynamic_quantized_linear(%[[Q]], %s, %z, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {out_features = 4} : (tensor<2x3xi8>, tensor<1xf64>, tensor<1xi64>, tensor<1x1x16x4xi8>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK:         fused.dynamic_quantized_linear(%{{.*}}, %ss, %zs, %{{.*}}, %{{.*}}, %{{.*}}, none) {out_features = 4}
// CHECK-NEXT:    func.return
func.func @dynamic(%x: tensor<2x3xf32>, %s: tensor<1xf64>, %z: tensor<1xi64>, %ss: tensor<2x1xf64>, %zs: tensor<2x1xi64>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = ml_program.global_load_const @w : tensor<4x3xi8>
  %b = ml_program.global_load_const @b : tensor<4xf32>
  %ws = ml_program.global_load_const @s : tensor<4xf32>
  %wz = ml_program.global_load_const @z : tensor<4xi64>
  %wf = quantized_decomposed.dequantize_per_channel(%w, %ws, %wz) {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4x3xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %0 = quantized_decomposed.quantize_per_tensor.tensor(%x, %s, %z) {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>, tensor<1xf64>, tensor<1xi64>) -> tensor<2x3xi8>
  %1 = quantized_decomposed.dequantize_per_tensor.tensor(%0, %s, %z) {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>, tensor<1xf64>, tensor<1xi64>) -> tensor<2x3xf32>
  %2 = edge.linear(%1, %wf, %b) : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %3 = quantized_decomposed.quantize_per_token(%x, %ss, %zs) {quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>, tensor<2x1xf64>, tensor<2x1xi64>) -> tensor<2x3xi8>
  %4 = quantized_decomposed.dequantize_per_token(%3, %ss, %zs) {quant_min = -128, quant_max = 127, dtype = i8, output_dtype = f32} : (tensor<2x3xi8>, tensor<2x1xf64>, tensor<2x1xi64>) -> tensor<2x3xf32>
  %5 = edge.linear(%4, %wf, none) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  func.return %2, %5 : tensor<2x4xf32>, tensor<2x4xf32>
}

// Rows are taken from a table of integers, and from its scales and zero points.
// CHECK-LABEL: func.func @table
// CHECK:         %[[I:.*]] = edge.embedding(%w, %i)
// CHECK:         %[[S:.*]] = edge.view_copy(%{{.*}}) {size = [2]} : (tensor<2x1xf32>) -> tensor<2xf32>
// CHECK:         %[[Z:.*]] = edge.view_copy(%{{.*}}) {size = [2]} : (tensor<2x1xi64>) -> tensor<2xi64>
// CHECK-NEXT:    %[[Y:.*]] = quantized_decomposed.dequantize_per_channel(%[[I]], %[[S]], %[[Z]]) {{.*}} -> tensor<2x3xf32>
// CHECK-NEXT:    func.return %[[Y]]
func.func @table(%i: tensor<2xi64>) -> tensor<2x3xf32> {
  %w = ml_program.global_load_const @w : tensor<4x3xi8>
  %s = ml_program.global_load_const @s : tensor<4xf32>
  %z = ml_program.global_load_const @z : tensor<4xi64>
  %wf = quantized_decomposed.dequantize_per_channel(%w, %s, %z) {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4x3xi8>, tensor<4xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %0 = edge.embedding(%wf, %i) : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// A product of integers whose scales come afterwards; what uint8 numbers have more than int8 ones is not added.
// CHECK-LABEL: func.func @integer_product
// CHECK-NOT:     edge.
// CHECK:         %[[Y:.*]] = fused.dynamic_quantized_linear(%x, %s, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {out_features = 3} : (tensor<2x4xi8>, tensor<2x1xf32>, tensor<1xi32>, tensor<1x1x16x4xi8>, tensor<3xi32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    func.return %[[Y]]
func.func @integer_product(%x: tensor<2x4xi8>, %s: tensor<2x1xf32>) -> tensor<2x3xf32> {
  %w = ml_program.global_load_const @w : tensor<4x3xi8>
  %t = ml_program.global_load_const @t : tensor<3xf32>
  %o = ml_program.global_load_const @o : tensor<1x3xi32>
  %0 = edge._to_copy(%x) {dtype = i32} : (tensor<2x4xi8>) -> tensor<2x4xi32>
  %1 = edge.add.Scalar(%0) {other = 128} : (tensor<2x4xi32>) -> tensor<2x4xi32>
  %2 = edge._to_copy(%1) {dtype = ui8} : (tensor<2x4xi32>) -> tensor<2x4xui8>
  %3 = edge._to_copy(%2) {dtype = i32} : (tensor<2x4xui8>) -> tensor<2x4xi32>
  %4 = edge._to_copy(%w) {dtype = i32} : (tensor<4x3xi8>) -> tensor<4x3xi32>
  %5 = edge.mm(%3, %4) : (tensor<2x4xi32>, tensor<4x3xi32>) -> tensor<2x3xi32>
  %6 = edge.sub.Tensor(%5, %o) : (tensor<2x3xi32>, tensor<1x3xi32>) -> tensor<2x3xi32>
  %7 = edge._to_copy(%6) {dtype = f32} : (tensor<2x3xi32>) -> tensor<2x3xf32>
  %8 = edge.mul.Tensor(%7, %s) : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %9 = edge.mul.Tensor(%8, %t) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %10 = edge.add.Tensor(%9, %t) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %10 : tensor<2x3xf32>
}

// Offsets that no zero point gives stay: a product in int32.
// CHECK-LABEL: func.func @other_offsets
// CHECK:         edge.mm
// CHECK-NEXT:    edge.sub.Tensor
func.func @other_offsets(%x: tensor<2x4xi8>, %s: tensor<2x1xf32>) -> tensor<2x3xf32> {
  %w = ml_program.global_load_const @w : tensor<4x3xi8>
  %p = ml_program.global_load_const @p : tensor<1x3xi32>
  %0 = edge._to_copy(%x) {dtype = i32} : (tensor<2x4xi8>) -> tensor<2x4xi32>
  %1 = edge._to_copy(%w) {dtype = i32} : (tensor<4x3xi8>) -> tensor<4x3xi32>
  %2 = edge.mm(%0, %1) : (tensor<2x4xi32>, tensor<4x3xi32>) -> tensor<2x3xi32>
  %3 = edge.sub.Tensor(%2, %p) : (tensor<2x3xi32>, tensor<1x3xi32>) -> tensor<2x3xi32>
  %4 = edge._to_copy(%3) {dtype = f32} : (tensor<2x3xi32>) -> tensor<2x3xf32>
  %5 = edge.mul.Tensor(%4, %s) : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  func.return %5 : tensor<2x3xf32>
}

// A function of one tensor is a table, however many operators it has; one that stands for other numbers also is.
// CHECK-LABEL: func.func @functions
// CHECK:         %[[T:.*]] = ml_program.global_load_const @quantized_table{{.*}} : tensor<256xi8>
// CHECK-NEXT:    fused.quantized_table(%x, %[[T]]) : (tensor<2x3xi8>, tensor<256xi8>) -> tensor<2x3xi8>
// CHECK:         fused.quantized_table(%x, {{.*}}) : (tensor<2x3xi8>, tensor<256xui8>) -> tensor<2x3xui8>
// CHECK-NOT:     edge.
func.func @functions(%x: tensor<2x3xi8>) -> (tensor<2x3xi8>, tensor<2x3xui8>) {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.sigmoid(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.mul.Tensor(%0, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %4 = quantized_decomposed.quantize_per_tensor(%0) {scale = 0.5, zero_point = 131, quant_min = 0, quant_max = 255, dtype = ui8} : (tensor<2x3xf32>) -> tensor<2x3xui8>
  func.return %3, %4 : tensor<2x3xi8>, tensor<2x3xui8>
}

// Not a function of each element: it stays in floats.
// CHECK-LABEL: func.func @softmax
// CHECK:         edge._softmax
func.func @softmax(%x: tensor<2x3xi8>) -> tensor<2x3xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge._softmax(%0) {dim = 1, half_to_float = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %2 : tensor<2x3xi8>
}

// Products: of equal shapes, and with a number for each channel, on either side; not with another broadcast.
// CHECK-LABEL: func.func @products
// CHECK:         fused.quantized_mul(%x, %x) {multiplier = 8192, shift = 13, input_zero_point = 3, other_zero_point = 3, zero_point = 2, low = 2, high = 127}
// CHECK:         fused.quantized_mul(%x, %c) {multiplier = 8192, shift = 14, input_zero_point = 3, other_zero_point = -128, zero_point = 2, low = -128, high = 127}
// CHECK:         edge.mul.Tensor
func.func @products(%x: tensor<1x2x3x3xi8>, %c: tensor<1x2x1x1xi8>, %l: tensor<1x1x1x3xi8>) -> (tensor<1x2x3x3xi8>, tensor<1x2x3x3xi8>, tensor<1x2x3x3xi8>) {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x3x3xi8>) -> tensor<1x2x3x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%c) {scale = 0.25, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x1x1xi8>) -> tensor<1x2x1x1xf32>
  %2 = quantized_decomposed.dequantize_per_tensor(%l) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x1x1x3xi8>) -> tensor<1x1x1x3xf32>
  %3 = edge.mul.Tensor(%0, %0) : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %4 = edge.relu(%3) : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %5 = quantized_decomposed.quantize_per_tensor(%4) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xi8>
  %6 = edge.mul.Tensor(%1, %0) : (tensor<1x2x1x1xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %7 = quantized_decomposed.quantize_per_tensor(%6) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xi8>
  %8 = edge.mul.Tensor(%0, %2) : (tensor<1x2x3x3xf32>, tensor<1x1x1x3xf32>) -> tensor<1x2x3x3xf32>
  %9 = quantized_decomposed.quantize_per_tensor(%8) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xi8>
  func.return %5, %7, %9 : tensor<1x2x3x3xi8>, tensor<1x2x3x3xi8>, tensor<1x2x3x3xi8>
}

// Averages: of windows of one size, and of whole images.
// CHECK-LABEL: func.func @averages
// CHECK:         fused.quantized_avg_pool2d({{.*}}) {kernel_size = [2, 2], stride = [2, 2], padding = [0, 0], multiplier = 1073741824, shift = 31, input_zero_point = 3, zero_point = 2, low = -128, high = 127}
// CHECK:         %[[M:.*]] = fused.quantized_avg_pool2d({{.*}}) {kernel_size = [4, 4], stride = [1, 1], padding = [0, 0], multiplier = 1073741824, shift = 33
// CHECK:         %[[C:.*]] = edge._to_dim_order_copy(%[[M]])
// CHECK:         edge.view_copy(%[[C]]) {size = [1, 2]}
// CHECK:         edge.avg_pool2d
func.func @averages(%x: tensor<1x2x4x4xi8>) -> (tensor<1x2x2x2xi8>, tensor<1x2xi8>, tensor<1x2x3x3xi8>) {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32>
  %1 = edge.avg_pool2d(%0) {kernel_size = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xi8>
  %3 = edge.mean.dim(%0) {dim = [2, -1]} : (tensor<1x2x4x4xf32>) -> tensor<1x2xf32>
  %4 = quantized_decomposed.quantize_per_tensor(%3) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2xf32>) -> tensor<1x2xi8>
  %5 = edge.avg_pool2d(%0) {kernel_size = [2, 2], padding = [1, 1], stride = [2, 2], count_include_pad = false} : (tensor<1x2x4x4xf32>) -> tensor<1x2x3x3xf32>
  %6 = quantized_decomposed.quantize_per_tensor(%5) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xi8>
  func.return %2, %4, %6 : tensor<1x2x2x2xi8>, tensor<1x2xi8>, tensor<1x2x3x3xi8>
}

// Integers that stand for other numbers become such before they are joined.
// CHECK-LABEL: func.func @joined
// CHECK:         %[[Y:.*]] = fused.quantized_table(%y, {{.*}}) : (tensor<2x3xi8>, tensor<256xi8>) -> tensor<2x3xi8>
// CHECK-NEXT:    edge.cat([%x, %[[Y]]]) {dim = 1} : (tensor<2x3xi8>, tensor<2x3xi8>) -> tensor<2x6xi8>
func.func @joined(%x: tensor<2x3xi8>, %y: tensor<2x3xi8>) -> tensor<2x6xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%y) {scale = 0.25, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %2 = edge.cat([%0, %1]) {dim = 1} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x6xf32>) -> tensor<2x6xi8>
  func.return %3 : tensor<2x6xi8>
}

// Floats that something moves are quantized before, where an operator may compute integers.
// CHECK-LABEL: func.func @quantized_before
// CHECK:         fused.quantized_avg_pool2d
// CHECK-NEXT:    %[[P:.*]] = edge._to_dim_order_copy
// CHECK-NEXT:    %[[V:.*]] = edge.view_copy(%[[P]]) {size = [1, 8]} : (tensor<1x2x2x2xi8>) -> tensor<1x8xi8>
// CHECK-NEXT:    func.return %[[V]]
func.func @quantized_before(%x: tensor<1x2x4x4xi8>) -> tensor<1x8xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32>
  %1 = edge.avg_pool2d(%0) {kernel_size = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %2 = edge.view_copy(%1) {size = [1, 8]} : (tensor<1x2x2x2xf32>) -> tensor<1x8xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x8xf32>) -> tensor<1x8xi8>
  func.return %3 : tensor<1x8xi8>
}

// A number that becomes a float and is scaled is no product.
// CHECK-LABEL: func.func @number
// CHECK: edge.mul.Tensor
func.func @number(%x: tensor<i32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = edge._to_copy(%x) {dtype = f32} : (tensor<i32>) -> tensor<f32>
  %1 = edge.mul.Tensor(%0, %y) : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}

// A cast is no move, also behind one: its operand is no float, and quantize takes floats.
// CHECK-LABEL: func.func @casts
// CHECK:         edge._to_copy(%x) {dtype = f32}
// CHECK-NEXT:    quantize_per_tensor
// CHECK-NEXT:    edge._to_copy(%x) {dtype = f32}
// CHECK-NEXT:    quantize_per_tensor
// CHECK-NEXT:    edge.permute_copy{{.*}}xi8>
// CHECK-NEXT:    edge.permute_copy(%y){{.*}}xbf16>
// CHECK-NEXT:    edge._to_copy({{.*}}) {dtype = f32}
// CHECK-NEXT:    quantize_per_tensor
// CHECK:         edge._to_copy
// CHECK-NEXT:    edge._to_copy({{.*}}) {dtype = f32}
// CHECK-NEXT:    quantize_per_tensor
func.func @casts(%x: tensor<2x3xui8>, %y: tensor<2x3xbf16>, %z: tensor<2x3xi8>) -> (tensor<2x3xi8>, tensor<3x2xi8>, tensor<3x2xi8>, tensor<2x3xi8>) {
  %0 = edge._to_copy(%x) {dtype = f32} : (tensor<2x3xui8>) -> tensor<2x3xf32>
  %1 = quantized_decomposed.quantize_per_tensor(%0) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %2 = edge._to_copy(%x) {dtype = f32} : (tensor<2x3xui8>) -> tensor<2x3xf32>
  %3 = edge.permute_copy(%2) {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %4 = quantized_decomposed.quantize_per_tensor(%3) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x2xf32>) -> tensor<3x2xi8>
  %5 = edge.permute_copy(%y) {dims = [1, 0]} : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
  %6 = edge._to_copy(%5) {dtype = f32} : (tensor<3x2xbf16>) -> tensor<3x2xf32>
  %7 = quantized_decomposed.quantize_per_tensor(%6) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x2xf32>) -> tensor<3x2xi8>
  %8 = quantized_decomposed.dequantize_per_tensor(%z) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %9 = edge._to_copy(%8) {dtype = f16} : (tensor<2x3xf32>) -> tensor<2x3xf16>
  %10 = edge._to_copy(%9) {dtype = f32} : (tensor<2x3xf16>) -> tensor<2x3xf32>
  %11 = quantized_decomposed.quantize_per_tensor(%10) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %1, %4, %7, %11 : tensor<2x3xi8>, tensor<3x2xi8>, tensor<3x2xi8>, tensor<2x3xi8>
}

// A copy that names the type it has already is a move, and of the integers it names none.
// CHECK-LABEL: func.func @copy_of_one_type
// CHECK:         edge._to_dim_order_copy(%x) {dim_order = [0, 2, 3, 1]} : (tensor<1x2x4x4xi8>)
func.func @copy_of_one_type(%x: tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xi8, #edge.layout<[0, 2, 3, 1]>> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32>
  %1 = edge._to_dim_order_copy(%0) {dtype = f32, dim_order = [0, 2, 3, 1]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32, #edge.layout<[0, 2, 3, 1]>>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x2x4x4xi8, #edge.layout<[0, 2, 3, 1]>>
  func.return %2 : tensor<1x2x4x4xi8, #edge.layout<[0, 2, 3, 1]>>
}

// A convolution of one dimension is one of images of one row.
// CHECK-LABEL: func.func @of_one_dimension
// CHECK:         %[[V:.*]] = edge.view_copy(%x) {size = [1, 4, 1, 10]}
// CHECK:         %[[L:.*]] = edge._to_dim_order_copy(%[[V]]) {dim_order = [0, 2, 3, 1]}
// CHECK:         fused.quantized_conv2d(%[[L]], {{.*}}) {kernel_size = [1, 3], stride = [1, 2], padding = [0, 1], dilation = [1, 2], groups = 4, out_channels = 4
// CHECK-SAME:    -> tensor<1x4x1x4xi8
// CHECK:         edge.view_copy({{.*}}) {size = [1, 4, 4]}
// CHECK-NOT:     edge.convolution
func.func @of_one_dimension(%x: tensor<1x4x10xi8>) -> tensor<1x4x4xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x4x10xi8>) -> tensor<1x4x10xf32>
  %w = ml_program.global_load_const @rows : tensor<4x1x3xi8>
  %1 = quantized_decomposed.dequantize_per_tensor(%w) {scale = 0.25, zero_point = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<4x1x3xi8>) -> tensor<4x1x3xf32>
  %2 = edge.convolution(%0, %1, none) {stride = [2], padding = [1], dilation = [2], transposed = false, output_padding = [0], groups = 4} : (tensor<1x4x10xf32>, tensor<4x1x3xf32>) -> tensor<1x4x4xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.25, zero_point = 2, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x4x4xf32>) -> tensor<1x4x4xi8>
  func.return %3 : tensor<1x4x4xi8>
}
