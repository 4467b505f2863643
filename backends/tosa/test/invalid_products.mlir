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
