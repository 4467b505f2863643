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
