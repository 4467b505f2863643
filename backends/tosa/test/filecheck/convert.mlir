// RUN: flambeau-opt %s -p 'legalize-operators{backends=tosa},partition{backends=tosa},convert-partitions,cse' | filecheck %s

// Integers cross the border; what stands between them is integers, and a clamp is one of integers.
// CHECK-LABEL: delegate.partition @sum_tosa_0 backend "TosaBackend" (%x: tensor<2x3xi8>, %y: tensor<2x3xi8>) -> (tensor<2x3xi8>)
// CHECK-NEXT:    %0 = tosa.rescale(%x) {multiplier = [1073741824], shift = [11], input_zp = 3, output_zp = 0, dtype = i32} : (tensor<2x3xi8>) -> tensor<2x3xi32>
// CHECK-NEXT:    %1 = tosa.rescale(%y) {multiplier = [1073741824], shift = [12], input_zp = 0, output_zp = 0, dtype = i32} : (tensor<2x3xi8>) -> tensor<2x3xi32>
// CHECK-NEXT:    %2 = tosa.add(%0, %1) : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
// CHECK-NEXT:    %3 = tosa.rescale(%2) {multiplier = [1073741824], shift = [49], input_zp = 0, output_zp = -128, dtype = i8} : (tensor<2x3xi32>) -> tensor<2x3xi8>
// CHECK-NEXT:    %4 = tosa.clamp(%3) {min_val = -128, max_val = -116} : (tensor<2x3xi8>) -> tensor<2x3xi8>
// CHECK-NEXT:    delegate.return %4
func.func @sum(%x: tensor<2x3xi8>, %y: tensor<2x3xi8>) -> tensor<2x3xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%y) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %2 = edge.add.Tensor(%0, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = edge.hardtanh(%2) {min_val = 0, max_val = 6} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = quantized_decomposed.quantize_per_tensor(%3) {scale = 0.5, zero_point = -128, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %4 : tensor<2x3xi8>
}

// A function of each element is a table; transposes around operators of images are left at the border.
// CHECK-LABEL: delegate.partition @images_tosa_0 backend "TosaBackend" (%x: tensor<1x2x4x4xi8>) -> (tensor<1x2x2x2xi8>)
// CHECK-NEXT:    tosa.transpose(%x) {perms = [0, 2, 3, 1]}
// CHECK-NEXT:    tosa.max_pool2d(%{{.*}}) {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0]}
// CHECK-NEXT:    tosa.table(%{{.*}}) {table = [{{.*}}]}
// CHECK-NEXT:    tosa.transpose(%{{.*}}) {perms = [0, 3, 1, 2]}
// CHECK-NEXT:    delegate.return
func.func @images(%x: tensor<1x2x4x4xi8>) -> tensor<1x2x2x2xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32>
  %1, %2 = edge.max_pool2d_with_indices(%0) {kernel_size = [2, 2]} : (tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xi64>)
  %3 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xi8>
  %4 = quantized_decomposed.dequantize_per_tensor(%3) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xf32>
  %5 = edge.tanh(%4) : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %6 = quantized_decomposed.quantize_per_tensor(%5) {scale = 0.0078125, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xi8>
  func.return %6 : tensor<1x2x2x2xi8>
}

// Floats stay.
// CHECK-LABEL: func.func @floats
// CHECK-NEXT:    edge.tanh
func.func @floats(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.tanh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// Every third element is one of each group of three; what is around integers is an integer of the type that they get.
// CHECK-LABEL: delegate.partition @parts_tosa_0
// CHECK-NEXT:    %0 = tosa.reshape(%x) {shape = [2, 3, 3, 1]}
// CHECK-NEXT:    %1 = tosa.slice(%0) {start = [0, 0, 2, 0], size = [2, 3, 1, 1]}
// CHECK-NEXT:    %2 = tosa.reshape(%1) {shape = [2, 3]}
// CHECK-NEXT:    %3 = tosa.rescale(%2) {multiplier = [1073741824], shift = [29], input_zp = 3, output_zp = 0, dtype = i8}
// CHECK-NEXT:    %4 = tosa.pad(%3) {padding = [0, 0, 1, 0], pad_const = 6}
// CHECK-NEXT:    %5 = tosa.reshape(%4) {shape = [1, 2, 4]}
// CHECK-NEXT:    delegate.return %5
func.func @parts(%x: tensor<2x9xi8>) -> tensor<1x2x4xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x9xi8>) -> tensor<2x9xf32>
  %1 = edge.slice_copy.Tensor(%0) {dim = 1, start = 2, end = 9, step = 3} : (tensor<2x9xf32>) -> tensor<2x3xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %3 = quantized_decomposed.dequantize_per_tensor(%2) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %4 = edge.constant_pad_nd(%3) {pad = [1, 0], value = 1.5} : (tensor<2x3xf32>) -> tensor<2x4xf32>
  %5 = quantized_decomposed.quantize_per_tensor(%4) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  %6 = quantized_decomposed.dequantize_per_tensor(%5) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %7 = edge.unsqueeze_copy(%6) {dim = 0} : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
  %8 = quantized_decomposed.quantize_per_tensor(%7) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4xf32>) -> tensor<1x2x4xi8>
  func.return %8 : tensor<1x2x4xi8>
}

// Sums of four pixels have the zero point 16 times.
// CHECK-LABEL: delegate.partition @upsampled_tosa_0
// CHECK-NEXT:    tosa.transpose(%x) {perms = [0, 2, 3, 1]}
// CHECK-NEXT:    tosa.resize(%{{.*}}) {scale = [4, 2, 4, 2], offset = [-1, -1], border = [1, 1], mode = "bilinear"} : (tensor<1x4x4x2xi8>) -> tensor<1x8x8x2xi32>
// CHECK-NEXT:    ml_program.global_load_const @zero_point
// CHECK-NEXT:    tosa.sub
// CHECK-NEXT:    tosa.rescale(%{{.*}}) {multiplier = [1073741824], shift = [33], input_zp = 0, output_zp = 0, dtype = i8}
// CHECK-NEXT:    tosa.transpose(%{{.*}}) {perms = [0, 3, 1, 2]}
// CHECK-NEXT:    delegate.return
func.func @upsampled(%x: tensor<1x2x4x4xi8>) -> tensor<1x2x8x8xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32>
  %1 = edge.upsample_bilinear2d.vec(%0) {output_size = [8, 8], align_corners = false} : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xi8>
  func.return %2 : tensor<1x2x8x8xi8>
}

// The last row and column are in no window.
// CHECK-LABEL: delegate.partition @rest_tosa_0
// CHECK-NEXT:    tosa.slice(%x) {start = [0, 0, 0, 0], size = [1, 2, 3, 3]}
// CHECK-NEXT:    tosa.transpose
// CHECK-NEXT:    tosa.max_pool2d(%{{.*}}) {kernel = [1, 1], stride = [2, 2], pad = [0, 0, 0, 0]}
func.func @rest(%x: tensor<1x2x4x4xi8>) -> tensor<1x2x2x2xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32>
  %1, %2 = edge.max_pool2d_with_indices(%0) {kernel_size = [1, 1], stride = [2, 2]} : (tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xi64>)
  %3 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xi8>
  func.return %3 : tensor<1x2x2x2xi8>
}

// Parts of dequantized numbers are parts of the integers.
// CHECK-LABEL: delegate.partition @split_tosa_0 backend "TosaBackend" (%x: tensor<2x6xi8>) -> (tensor<2x2xi8>, tensor<2x4xi8>)
// CHECK-NEXT:    %0 = tosa.slice(%x) {start = [0, 0], size = [2, 2]}
// CHECK-NEXT:    %1 = tosa.slice(%x) {start = [0, 2], size = [2, 4]}
// CHECK-NEXT:    %2 = tosa.rescale(%1) {multiplier = [1073741824], shift = [29], input_zp = 3, output_zp = 3, dtype = i8}
// CHECK-NEXT:    delegate.return %0, %2
func.func @split(%x: tensor<2x6xi8>) -> (tensor<2x2xi8>, tensor<2x4xi8>) {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x6xi8>) -> tensor<2x6xf32>
  %1, %2 = edge.split_with_sizes_copy(%0) {split_sizes = [2, 4], dim = 1} : (tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x4xf32>)
  %3 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x2xf32>) -> tensor<2x2xi8>
  %4 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.25, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  func.return %3, %4 : tensor<2x2xi8>, tensor<2x4xi8>
}

// The entries that constant places name are moved as they are.
// CHECK-LABEL: delegate.partition @places_tosa_0
// CHECK:         tosa.gather(%{{.*}}, %{{.*}}) : (tensor<1x4x3xi8>, tensor<1x2xi32>) -> tensor<1x2x3xi8>
// CHECK-NEXT:    %[[X:.*]] = tosa.reshape
// CHECK-NEXT:    delegate.return %[[X]]
func.func @places(%x: tensor<4x3xi8>) -> tensor<2x3xi8> {
  %places = ml_program.global_load_const @entries : tensor<2xi64>
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x3xi8>) -> tensor<4x3xf32>
  %1 = edge.index_select(%0, %places) {dim = 0} : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %2 : tensor<2x3xi8>
}

// Transposes move past reversals.
// CHECK-LABEL: delegate.partition @reversed_tosa_0
// CHECK-NEXT:    %0 = tosa.reverse(%x) {axis = 0}
// CHECK-NEXT:    %1 = tosa.transpose(%0) {perms = [1, 0]}
// CHECK-NEXT:    delegate.return %1
func.func @reversed(%x: tensor<2x6xi8>) -> tensor<6x2xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x6xi8>) -> tensor<2x6xf32>
  %1 = edge.permute_copy(%0) {dims = [1, 0]} : (tensor<2x6xf32>) -> tensor<6x2xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<6x2xf32>) -> tensor<6x2xi8>
  %3 = quantized_decomposed.dequantize_per_tensor(%2) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<6x2xi8>) -> tensor<6x2xf32>
  %4 = edge.flip(%3) {dims = [1]} : (tensor<6x2xf32>) -> tensor<6x2xf32>
  %5 = quantized_decomposed.quantize_per_tensor(%4) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<6x2xf32>) -> tensor<6x2xi8>
  func.return %5 : tensor<6x2xi8>
}

ml_program.global private @entries(dense<[3, 1]> : tensor<2xi64>) : tensor<2xi64>
