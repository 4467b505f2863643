// RUN: flambeau-opt %s --verify-diagnostics --split-input-file

func.func @windows(%x: tensor<1x8x8x3xi8>) {
  // expected-error @+1 {{tosa.max_pool2d: windows of 3 in steps of 2 do not end where 8 elements and 0 of padding do}}
  %0 = tosa.max_pool2d(%x) {kernel = [3, 3], stride = [2, 2], pad = [0, 0, 0, 0]} : (tensor<1x8x8x3xi8>) -> tensor<1x3x3x3xi8>
  func.return
}

// -----

func.func @bias(%x: tensor<1x8x8x3xi8>, %w: tensor<4x1x1x3xi8>, %b: tensor<3xi32>) {
  // expected-error @+1 {{tosa.conv2d: [1, 8, 8, 3], the weight [4, 1, 1, 3] and the bias [3] do not fit}}
  %0 = tosa.conv2d(%x, %w, %b) {pad = [0, 0, 0, 0], stride = [1, 1], dilation = [1, 1]} : (tensor<1x8x8x3xi8>, tensor<4x1x1x3xi8>, tensor<3xi32>) -> tensor<1x8x8x4xi32>
  func.return
}

// -----

func.func @ranks(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{tosa.add: operands tensor<2x3xf32> and tensor<3xf32> are not of one type and rank}}
  %0 = tosa.add(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @order(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{tosa.transpose: [0, 0] is no order of the dimensions of tensor<2x3xf32>}}
  %0 = tosa.transpose(%x) {perms = [0, 0]} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @table(%x: tensor<2xi8>) {
  // expected-error @+1 {{tosa.table: a table of i8 has 256 numbers of that type, got 2}}
  %0 = tosa.table(%x) {table = [1, 2]} : (tensor<2xi8>) -> tensor<2xi8>
  func.return
}
