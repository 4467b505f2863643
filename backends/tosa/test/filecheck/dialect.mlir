// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt | filecheck %s

// CHECK-LABEL: func.func @layer
// CHECK-NEXT:    %0 = tosa.conv2d(%x, %w, %b) {input_zp = -3, pad = [1, 0, 1, 0], stride = [2, 2], dilation = [1, 1]} : (tensor<1x8x8x3xi8>, tensor<4x3x3x3xi8>, tensor<4xi32>) -> tensor<1x4x4x4xi32>
// CHECK-NEXT:    %1 = tosa.rescale(%0) {multiplier = [1073741824], shift = [38], input_zp = 0, output_zp = 5, dtype = i8} : (tensor<1x4x4x4xi32>) -> tensor<1x4x4x4xi8>
// CHECK-NEXT:    %2 = tosa.clamp(%1) {min_val = 5, max_val = 100} : (tensor<1x4x4x4xi8>) -> tensor<1x4x4x4xi8>
// CHECK-NEXT:    %3 = tosa.avg_pool2d(%2) {input_zp = 5, output_zp = 5, kernel = [4, 4], stride = [1, 1], pad = [0, 0, 0, 0]} : (tensor<1x4x4x4xi8>) -> tensor<1x1x1x4xi8>
// CHECK-NEXT:    %4 = tosa.reshape(%3) {shape = [1, 4]} : (tensor<1x1x1x4xi8>) -> tensor<1x4xi8>
func.func @layer(%x: tensor<1x8x8x3xi8>, %w: tensor<4x3x3x3xi8>, %b: tensor<4xi32>) -> tensor<1x4xi8> {
  %0 = tosa.conv2d(%x, %w, %b) {input_zp = -3, weight_zp = 0, pad = [1, 0, 1, 0], stride = [2, 2], dilation = [1, 1]} : (tensor<1x8x8x3xi8>, tensor<4x3x3x3xi8>, tensor<4xi32>) -> tensor<1x4x4x4xi32>
  %1 = tosa.rescale(%0) {multiplier = [1073741824], shift = [38], input_zp = 0, output_zp = 5, dtype = i8} : (tensor<1x4x4x4xi32>) -> tensor<1x4x4x4xi8>
  %2 = tosa.clamp(%1) {min_val = 5, max_val = 100} : (tensor<1x4x4x4xi8>) -> tensor<1x4x4x4xi8>
  %3 = tosa.avg_pool2d(%2) {input_zp = 5, output_zp = 5, kernel = [4, 4], stride = [1, 1], pad = [0, 0, 0, 0]} : (tensor<1x4x4x4xi8>) -> tensor<1x1x1x4xi8>
  %4 = tosa.reshape(%3) {shape = [1, 4]} : (tensor<1x1x1x4xi8>) -> tensor<1x4xi8>
  func.return %4 : tensor<1x4xi8>
}

// CHECK-LABEL: func.func @moves
// CHECK-NEXT:    %0 = tosa.concat([%x, %x]) {axis = 1} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
// CHECK-NEXT:    %1 = tosa.transpose(%0) {perms = [1, 0]} : (tensor<2x6xf32>) -> tensor<6x2xf32>
// CHECK-NEXT:    %2 = tosa.negate(%1) : (tensor<6x2xf32>) -> tensor<6x2xf32>
// CHECK-NEXT:    %3 = tosa.mul(%1, %2) : (tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<6x2xf32>
func.func @moves(%x: tensor<2x3xf32>) -> tensor<6x2xf32> {
  %0 = tosa.concat([%x, %x]) {axis = 1} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %1 = tosa.transpose(%0) {perms = [1, 0]} : (tensor<2x6xf32>) -> tensor<6x2xf32>
  %2 = tosa.negate(%1) : (tensor<6x2xf32>) -> tensor<6x2xf32>
  %3 = tosa.mul(%1, %2) : (tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<6x2xf32>
  func.return %3 : tensor<6x2xf32>
}

// CHECK-LABEL: func.func @parts
// CHECK-NEXT:    %0 = tosa.slice(%x) {start = [0, 1], size = [2, 2]} : (tensor<2x3xi8>) -> tensor<2x2xi8>
// CHECK-NEXT:    %1 = tosa.pad(%0) {padding = [0, 0, 1, 0], pad_const = -7} : (tensor<2x2xi8>) -> tensor<2x3xi8>
// CHECK-NEXT:    %2 = tosa.tile(%1) {multiples = [2, 1]} : (tensor<2x3xi8>) -> tensor<4x3xi8>
// CHECK-NEXT:    %3 = tosa.reverse(%2) {axis = 0} : (tensor<4x3xi8>) -> tensor<4x3xi8>
// CHECK-NEXT:    %4 = tosa.reshape(%3) {shape = [1, 4, 3]} : (tensor<4x3xi8>) -> tensor<1x4x3xi8>
// CHECK-NEXT:    %5 = tosa.gather(%4, %i) : (tensor<1x4x3xi8>, tensor<1x4xi32>) -> tensor<1x4x3xi8>
func.func @parts(%x: tensor<2x3xi8>, %i: tensor<1x4xi32>) -> tensor<1x4x3xi8> {
  %0 = tosa.slice(%x) {start = [0, 1], size = [2, 2]} : (tensor<2x3xi8>) -> tensor<2x2xi8>
  %1 = tosa.pad(%0) {padding = [0, 0, 1, 0], pad_const = -7} : (tensor<2x2xi8>) -> tensor<2x3xi8>
  %2 = tosa.tile(%1) {multiples = [2, 1]} : (tensor<2x3xi8>) -> tensor<4x3xi8>
  %3 = tosa.reverse(%2) {axis = 0} : (tensor<4x3xi8>) -> tensor<4x3xi8>
  %4 = tosa.reshape(%3) {shape = [1, 4, 3]} : (tensor<4x3xi8>) -> tensor<1x4x3xi8>
  %5 = tosa.gather(%4, %i) : (tensor<1x4x3xi8>, tensor<1x4xi32>) -> tensor<1x4x3xi8>
  func.return %5 : tensor<1x4x3xi8>
}

// CHECK-LABEL: func.func @images
// CHECK-NEXT:    %0 = tosa.transpose_conv2d(%x, %w, %b) {input_zp = 3, out_pad = [-1, 0, -1, 0], stride = [2, 2]} : (tensor<1x4x4x3xi8>, tensor<2x3x3x3xi8>, tensor<2xi32>) -> tensor<1x8x8x2xi32>
// CHECK-NEXT:    %1 = tosa.rescale(%0) {multiplier = [1073741824], shift = [38], input_zp = 0, output_zp = 5, dtype = i8} : (tensor<1x8x8x2xi32>) -> tensor<1x8x8x2xi8>
// CHECK-NEXT:    %2 = tosa.resize(%1) {scale = [4, 2, 4, 2], offset = [-1, -1], border = [1, 1], mode = "bilinear"} : (tensor<1x8x8x2xi8>) -> tensor<1x16x16x2xi32>
func.func @images(%x: tensor<1x4x4x3xi8>, %w: tensor<2x3x3x3xi8>, %b: tensor<2xi32>) -> tensor<1x16x16x2xi32> {
  %0 = tosa.transpose_conv2d(%x, %w, %b) {input_zp = 3, out_pad = [-1, 0, -1, 0], stride = [2, 2]} : (tensor<1x4x4x3xi8>, tensor<2x3x3x3xi8>, tensor<2xi32>) -> tensor<1x8x8x2xi32>
  %1 = tosa.rescale(%0) {multiplier = [1073741824], shift = [38], input_zp = 0, output_zp = 5, dtype = i8} : (tensor<1x8x8x2xi32>) -> tensor<1x8x8x2xi8>
  %2 = tosa.resize(%1) {scale = [4, 2, 4, 2], offset = [-1, -1], border = [1, 1], mode = "bilinear"} : (tensor<1x8x8x2xi8>) -> tensor<1x16x16x2xi32>
  func.return %2 : tensor<1x16x16x2xi32>
}

// CHECK-LABEL: func.func @conditions
// CHECK-NEXT:    %0 = tosa.greater(%x, %y) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT:    %1 = tosa.greater_equal(%x, %y) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT:    %2 = tosa.equal(%x, %y) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT:    %3 = tosa.logical_and(%0, %1) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT:    %4 = tosa.logical_not(%2) : (tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT:    %5 = tosa.logical_xor(%3, %4) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT:    %6 = tosa.pow(%x, %y) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %7 = tosa.select(%5, %6, %y) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %8 = tosa.cast(%7) {dtype = i32} : (tensor<2x3xf32>) -> tensor<2x3xi32>
func.func @conditions(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) -> tensor<2x3xi32> {
  %0 = tosa.greater(%x, %y) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xi1>
  %1 = tosa.greater_equal(%x, %y) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xi1>
  %2 = tosa.equal(%x, %y) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xi1>
  %3 = tosa.logical_and(%0, %1) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  %4 = tosa.logical_not(%2) : (tensor<2x3xi1>) -> tensor<2x3xi1>
  %5 = tosa.logical_xor(%3, %4) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  %6 = tosa.pow(%x, %y) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  %7 = tosa.select(%5, %6, %y) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  %8 = tosa.cast(%7) {dtype = i32} : (tensor<2x3xf32>) -> tensor<2x3xi32>
  func.return %8 : tensor<2x3xi32>
}
