// RUN: flambeau-opt %s -p convert-edge-to-fused | filecheck %s
// RUN: flambeau-opt %s -p 'convert-edge-to-fused{tuning="%S/convert-edge-to-fused.json" isa=x86-64-v4}' | filecheck %s --check-prefix TUNED
// RUN: flambeau-opt %s -p 'convert-edge-to-fused{tuning="%S/convert-edge-to-fused.json" isa=aarch64}' | filecheck %s
// RUN: flambeau-opt %s -p 'convert-edge-to-fused{tuning="%S/convert-edge-to-fused.json" isa=x86-64-v4 threads=2}' | filecheck %s
// RUN: not flambeau-opt %s -p 'convert-edge-to-fused{tuning="%s"}' 2>&1 | filecheck %s --check-prefix DAMAGED

// DAMAGED: convert-edge-to-fused.mlir: not a table of choices: {{.*}}; flambeau tune writes one

ml_program.global private @w(#flambeau.blob<"w", "29e1889124dc651e">) : tensor<4x3xf32>
ml_program.global private @k(#flambeau.blob<"k", "624ca9ed8543b4ed">) : tensor<2x3x3x3xf32>
ml_program.global private @d(#flambeau.blob<"d", "835aa0f465494efb">) : tensor<3x1x3x3xf32>
ml_program.global private @i(#flambeau.blob<"i", "6803a3b635fabf44">) : tensor<2x3x3x3xi8>
ml_program.global private @s(#flambeau.blob<"s", "bfa5538a8f3284f3">) : tensor<2xf32>
ml_program.global private @r(#flambeau.blob<"r", "806e458ed0389357">) : tensor<8x2xf32>
ml_program.global private @z(#flambeau.blob<"z", "374708fff7719dd5">) : tensor<2xi64>

// Constant weights are packed in panels of 16 columns.
// CHECK-LABEL: func.func @linear
// CHECK:         %[[P:.*]] = ml_program.global_load_const @w.packed : tensor<1x3x16xf32>
// CHECK-NEXT:    fused.linear(%x, %[[P]], none, none) {out_features = 4} : (tensor<2x3xf32>, tensor<1x3x16xf32>) -> tensor<2x4xf32>
func.func @linear(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  %w = ml_program.global_load_const @w : tensor<4x3xf32>
  %0 = edge.linear(%x, %w, none) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// A step of LSTM is one operator, whose weight has its gates side by side; its states are those of the operators that it replaces.
// CHECK-LABEL: func.func @lstm_step
// CHECK:         %[[R:.*]] = ml_program.global_load_const @r.gates : tensor<1x2x64xf32>
// CHECK-NEXT:    %[[H:.*]], %[[C:.*]] = fused.lstm_step(%h, %c, %x, %[[R]], none)
// CHECK:         func.return %[[H]], %[[C]]
func.func @lstm_step(%h: tensor<3x2xf32>, %c: tensor<3x2xf32>, %x: tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %r = ml_program.global_load_const @r : tensor<8x2xf32>
  %0 = edge.linear(%h, %r, none) : (tensor<3x2xf32>, tensor<8x2xf32>) -> tensor<3x8xf32>
  %1 = edge.add.Tensor(%0, %x) : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %i, %f, %g, %o = edge.split_with_sizes_copy(%1) {split_sizes = [2, 2, 2, 2], dim = 1} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
  %2 = edge.sigmoid(%o) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %3 = edge.sigmoid(%f) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = edge.mul.Tensor(%3, %c) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %5 = edge.sigmoid(%i) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %6 = edge.tanh(%g) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %7 = edge.mul.Tensor(%5, %6) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %8 = edge.add.Tensor(%4, %7) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %9 = edge.tanh(%8) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %10 = edge.mul.Tensor(%2, %9) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %10, %8 : tensor<3x2xf32>, tensor<3x2xf32>
}

// Convolutions, dense and depthwise, work on channels-last images.
// CHECK-LABEL: func.func @convolutions
// CHECK:         %[[X:.*]] = edge._to_dim_order_copy(%x) {dim_order = [0, 2, 3, 1]}
// CHECK-NEXT:    %[[K:.*]] = ml_program.global_load_const @k.packed : tensor<1x27x16xf32>
// CHECK-NEXT:    %[[Y:.*]] = fused.conv2d(%[[X]], %[[K]], none, none) {kernel_size = [3, 3], stride = [2, 2], padding = [1, 1], dilation = [1, 1], groups = 1, out_channels = 2} :
// CHECK-SAME:    -> tensor<1x2x4x4xf32, #edge.layout<[0, 2, 3, 1]>>
// CHECK-NEXT:    edge._to_dim_order_copy(%[[Y]]) {dim_order = [0, 1, 2, 3]}
// CHECK:         ml_program.global_load_const @d.packed : tensor<9x16xf32>
// CHECK:         fused.conv2d({{.*}}groups = 3, out_channels = 3} :
// A table of choices gives them tiles, or leaves them row-major.
// TUNED-LABEL: func.func @convolutions
// TUNED:         fused.conv2d({{.*}}groups = 1, out_channels = 2, tile = 4} :
// TUNED:         edge.convolution
func.func @convolutions(%x: tensor<1x3x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x3x6x6xf32>) {
  %k = ml_program.global_load_const @k : tensor<2x3x3x3xf32>
  %d = ml_program.global_load_const @d : tensor<3x1x3x3xf32>
  %0 = edge.convolution(%x, %k, none) {stride = [2, 2], padding = [1, 1], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32>
  %1 = edge.convolution(%x, %d, none) {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 3} : (tensor<1x3x8x8xf32>, tensor<3x1x3x3xf32>) -> tensor<1x3x6x6xf32>
  func.return %0, %1 : tensor<1x2x4x4xf32>, tensor<1x3x6x6xf32>
}

// Weights of int8 are packed as integers, each column with its scale; other weights of integers become floats as they are.
// CHECK-LABEL: func.func @integers
// CHECK:         %[[P:.*]] = ml_program.global_load_const @i.packed : tensor<1x27x16xi8>
// CHECK:         %[[S:.*]] = ml_program.global_load_const @i.scales : tensor<16xf32>
// CHECK:         %[[W:.*]] = fused.dequantize_packed(%[[P]], %[[S]]) : (tensor<1x27x16xi8>, tensor<16xf32>) -> tensor<1x27x16xf32>
// CHECK:         fused.conv2d(%{{.*}}, %[[W]], none, none)
// CHECK:         edge.convolution
// TUNED-LABEL: func.func @integers
// TUNED:         fused.conv2d({{.*}}tile = 0} :
func.func @integers(%x: tensor<1x3x8x8xf32>) -> (tensor<1x2x6x6xf32>, tensor<1x2x6x6xf32>) {
  %k = ml_program.global_load_const @i : tensor<2x3x3x3xi8>
  %s = ml_program.global_load_const @s : tensor<2xf32>
  %z = ml_program.global_load_const @z : tensor<2xi64>
  %w = quantized_decomposed.dequantize_per_channel(%k, %s, %z) {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x3x3x3xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x3x3x3xf32>
  %v = quantized_decomposed.dequantize_per_tensor(%k) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3x3x3xi8>) -> tensor<2x3x3x3xf32>
  %0 = edge.convolution(%x, %w, none) {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x6x6xf32>
  %1 = edge.convolution(%x, %v, none) {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x6x6xf32>
  func.return %0, %1 : tensor<1x2x6x6xf32>, tensor<1x2x6x6xf32>
}

// Attention and norms have their fused form as they are.
// CHECK-LABEL: func.func @others
// CHECK:         fused.scaled_dot_product_attention(%q, %q, %q, none) {is_causal = true, scale = 0.5, enable_gqa = false}
// CHECK:         fused.layer_norm(%y, none, none, none) {normalized_shape = [4], eps = 1.0e-05}
func.func @others(%q: tensor<1x2x3x4xf32>, %y: tensor<2x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<2x4xf32>) {
  %0 = edge.scaled_dot_product_attention(%q, %q, %q, none) {is_causal = true} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  %1 = edge.layer_norm(%y, none, none) {normalized_shape = [4]} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %0, %1 : tensor<1x2x3x4xf32>, tensor<2x4xf32>
}

// Products with a constant are linear layers; a weight that something else reads too is not stored twice.
// CHECK-LABEL: func.func @products
// CHECK:         fused.linear(%y, %{{.*}}, %b, none) {out_features = 3}
// CHECK:         fused.linear(%y, %{{.*}}, none, none) {out_features = 3}
// CHECK-LABEL: func.func @shared
// CHECK:         edge.linear(%x, %w, none)
func.func @products(%y: tensor<2x4xf32>, %b: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %w = ml_program.global_load_const @w : tensor<4x3xf32>
  %0 = edge.addmm(%b, %y, %w) : (tensor<3xf32>, tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = edge.mm(%y, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  func.return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
func.func @shared(%i: tensor<2xi64>) -> tensor<2x4xf32> {
  %w = ml_program.global_load_const @w : tensor<4x3xf32>
  %x = edge.embedding(%w, %i) : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %0 = edge.linear(%x, %w, none) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// Weights that are no constants, and other dtypes, stay.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT:    edge.linear(%x, %w, none)
// CHECK-NEXT:    edge.layer_norm(%h, none, none)
func.func @stays(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %h: tensor<2x4xf16>) -> (tensor<2x4xf32>, tensor<2x4xf16>) {
  %0 = edge.linear(%x, %w, none) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = edge.layer_norm(%h, none, none) {normalized_shape = [4]} : (tensor<2x4xf16>) -> tensor<2x4xf16>
  func.return %0, %1 : tensor<2x4xf32>, tensor<2x4xf16>
}

// Queries without features have no root to divide by.
// CHECK-LABEL: func.func @attention_of_nothing
// CHECK:         fused.scaled_dot_product_attention(%q, %q, %v, none) {is_causal = false, scale = 1.0, enable_gqa = false}
func.func @attention_of_nothing(%q: tensor<1x2x3x0xf32>, %v: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %0 = edge.scaled_dot_product_attention(%q, %q, %v, none) : (tensor<1x2x3x0xf32>, tensor<1x2x3x0xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  func.return %0 : tensor<1x2x3x4xf32>
}

// A mask that shows the places up to a query's own, or the newest of them, is attention over what is written of a cache.
// CHECK-LABEL: func.func @cache
// CHECK:         fused.cached_attention(%q, %k, %k, %p) {scale = 0.5} :
// CHECK-NEXT:    fused.cached_attention(%q, %k, %k, %p) {scale = 0.5, window = 3} :
func.func @cache(%q: tensor<1x4x2x4xf32>, %k: tensor<1x2x6x4xf32>, %p: tensor<1xi64>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>) {
  %0 = edge.arange.start_step() {start = 0, end = 2} : () -> tensor<2xi64>
  %1 = edge.add.Tensor(%0, %p) : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
  %own = edge.view_copy(%1) {size = [1, 1, 2, 1]} : (tensor<2xi64>) -> tensor<1x1x2x1xi64>
  %places = edge.arange.start_step() {start = 0, end = 6} : () -> tensor<6xi64>
  %causal = edge.le.Tensor(%places, %own) : (tensor<6xi64>, tensor<1x1x2x1xi64>) -> tensor<1x1x2x6xi1>
  %2 = edge.sub.Scalar(%own) {other = 3} : (tensor<1x1x2x1xi64>) -> tensor<1x1x2x1xi64>
  %3 = edge.lt.Tensor(%2, %places) : (tensor<1x1x2x1xi64>, tensor<6xi64>) -> tensor<1x1x2x6xi1>
  %newest = edge.bitwise_and.Tensor(%3, %causal) : (tensor<1x1x2x6xi1>, tensor<1x1x2x6xi1>) -> tensor<1x1x2x6xi1>
  %4 = edge.scaled_dot_product_attention(%q, %k, %k, %causal) {enable_gqa = true} : (tensor<1x4x2x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x1x2x6xi1>) -> tensor<1x4x2x4xf32>
  %5 = edge.scaled_dot_product_attention(%q, %k, %k, %newest) {enable_gqa = true} : (tensor<1x4x2x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x1x2x6xi1>) -> tensor<1x4x2x4xf32>
  func.return %4, %5 : tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>
}

// Masks that show something else: the next place too, every query the same places, places from the given one on, other queries in turn.
// CHECK-LABEL: func.func @other_masks
// CHECK-NOT:     fused.cached_attention
func.func @other_masks(%q: tensor<1x2x2x4xf32>, %k: tensor<1x2x6x4xf32>, %p: tensor<1xi64>) -> (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) {
  %0 = edge.arange.start_step() {start = 0, end = 2} : () -> tensor<2xi64>
  %1 = edge.add.Tensor(%0, %p) : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
  %own = edge.view_copy(%1) {size = [2, 1]} : (tensor<2xi64>) -> tensor<2x1xi64>
  %places = edge.arange.start_step() {start = 0, end = 6} : () -> tensor<6xi64>
  %next = edge.add.Scalar(%own) {other = 1} : (tensor<2x1xi64>) -> tensor<2x1xi64>
  %2 = edge.le.Tensor(%places, %next) : (tensor<6xi64>, tensor<2x1xi64>) -> tensor<2x6xi1>
  %3 = edge.le.Tensor(%places, %p) : (tensor<6xi64>, tensor<1xi64>) -> tensor<6xi1>
  %same = edge.view_copy(%3) {size = [1, 6]} : (tensor<6xi1>) -> tensor<1x6xi1>
  %4 = edge.ge.Tensor(%places, %own) : (tensor<6xi64>, tensor<2x1xi64>) -> tensor<2x6xi1>
  %twice = edge.add.Tensor(%own, %own) : (tensor<2x1xi64>, tensor<2x1xi64>) -> tensor<2x1xi64>
  %5 = edge.le.Tensor(%places, %twice) : (tensor<6xi64>, tensor<2x1xi64>) -> tensor<2x6xi1>
  %6 = edge.scaled_dot_product_attention(%q, %k, %k, %2) : (tensor<1x2x2x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>, tensor<2x6xi1>) -> tensor<1x2x2x4xf32>
  %7 = edge.scaled_dot_product_attention(%q, %k, %k, %same) : (tensor<1x2x2x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x6xi1>) -> tensor<1x2x2x4xf32>
  %8 = edge.scaled_dot_product_attention(%q, %k, %k, %4) : (tensor<1x2x2x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>, tensor<2x6xi1>) -> tensor<1x2x2x4xf32>
  %9 = edge.scaled_dot_product_attention(%q, %k, %k, %5) : (tensor<1x2x2x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>, tensor<2x6xi1>) -> tensor<1x2x2x4xf32>
  func.return %6, %7, %8, %9 : tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>
}

// A max pool whose places nothing reads is one without places, of any numbers; the other stays.
// CHECK-LABEL: func.func @pools
// CHECK:         fused.max_pool2d(%x) {kernel_size = [2, 2]} : (tensor<1x1x4x4xi8>) -> tensor<1x1x2x2xi8>
// CHECK-NEXT:    edge.max_pool2d_with_indices(%x)
func.func @pools(%x: tensor<1x1x4x4xi8>) -> (tensor<1x1x2x2xi8>, tensor<1x1x2x2xi8>, tensor<1x1x2x2xi64>) {
  %0, %1 = edge.max_pool2d_with_indices(%x) {kernel_size = [2, 2]} : (tensor<1x1x4x4xi8>) -> (tensor<1x1x2x2xi8>, tensor<1x1x2x2xi64>)
  %2, %3 = edge.max_pool2d_with_indices(%x) {kernel_size = [2, 2]} : (tensor<1x1x4x4xi8>) -> (tensor<1x1x2x2xi8>, tensor<1x1x2x2xi64>)
  func.return %0, %2, %3 : tensor<1x1x2x2xi8>, tensor<1x1x2x2xi8>, tensor<1x1x2x2xi64>
}
