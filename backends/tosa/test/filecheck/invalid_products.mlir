// RUN: flambeau-opt %s --verify-diagnostics --split-input-file

func.func @matrices(%x: tensor<1x2x3xi8>, %y: tensor<1x2x3xi8>) {
  // expected-error @+1 {{tosa.matmul: tensor<1x2x3xi8> and tensor<1x2x3xi8> are no matrices of one type whose batches and inner dimensions are equal}}
  %0 = tosa.matmul(%x, %y) : (tensor<1x2x3xi8>, tensor<1x2x3xi8>) -> tensor<1x2x3xi32>
  func.return
}

// -----

func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{tosa.reduce_sum: tensor<2x3xf32> has no dimension 2}}
  %0 = tosa.reduce_sum(%x) {axis = 2} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  func.return
}

// -----

func.func @bytes(%x: tensor<2x3xi8>) {
  // expected-error @+1 {{tosa.reduce_sum}}
  %0 = tosa.reduce_sum(%x) {axis = 1} : (tensor<2x3xi8>) -> tensor<2x1xi8>
  func.return
}

// -----

func.func @shifts(%x: tensor<2x3xi32>, %y: tensor<3xi32>) {
  // expected-error @+1 {{tosa.logical_left_shift: operands tensor<2x3xi32> and tensor<3xi32> are not of one type and rank}}
  %0 = tosa.logical_left_shift(%x, %y) : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  func.return
}

// -----

func.func @table_of_words(%x: tensor<2xi16>) {
  // expected-error @+1 {{tosa.table: a table of i16 has 513 numbers of that type, got 2}}
  %0 = tosa.table(%x) {table = [1, 2]} : (tensor<2xi16>) -> tensor<2xi32>
  func.return
}

// -----

func.func @weights_of_words(%x: tensor<1x4x4x3xi16>, %w: tensor<2x1x1x3xi16>, %b: tensor<2xi64>) {
  // expected-error @+1 {{tosa.conv2d: i16, i16 and a bias of i64 do not fit}}
  %0 = tosa.conv2d(%x, %w, %b) {pad = [0, 0, 0, 0], stride = [1, 1], dilation = [1, 1]} : (tensor<1x4x4x3xi16>, tensor<2x1x1x3xi16>, tensor<2xi64>) -> tensor<1x4x4x2xi64>
  func.return
}

// -----

func.func @multipliers_of_sums(%x: tensor<2xi64>) {
  // expected-error @+1 {{tosa.rescale: i64 does not become i16, or a multiplier of [1073741824] is not from 0 to 32767}}
  %0 = tosa.rescale(%x) {multiplier = [1073741824], shift = [30], input_zp = 0, output_zp = 0, dtype = i16} : (tensor<2xi64>) -> tensor<2xi16>
  func.return
}

// -----

func.func @zero_point_of_words(%x: tensor<2xi16>) {
  // expected-error @+1 {{tosa.rescale: only int8 has zero points, and 0 is that of i16, 3 that of i16}}
  %0 = tosa.rescale(%x) {multiplier = [1073741824], shift = [30], input_zp = 0, output_zp = 3, dtype = i16} : (tensor<2xi16>) -> tensor<2xi16>
  func.return
}

// -----

func.func @moved_sums(%x: tensor<2xi64>) {
  // expected-error @+1 {{tosa.reshape is not defined for int64 tensors}}
  %0 = tosa.reshape(%x) {shape = [1, 2]} : (tensor<2xi64>) -> tensor<1x2xi64>
  func.return
}
