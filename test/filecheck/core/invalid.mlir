// RUN: flambeau-opt %s --split-input-file --verify-diagnostics | filecheck %s

// The set of core operators is closed: composite operators and those without a row do not exist here.
// CHECK: error: {{.*}}core.square
func.func @composite(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = core.square(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// CHECK: error: {{.*}}core.cholesky
func.func @no_row(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = core.cholesky(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}

// -----

// CHECK: error: core.mm: result types must be (tensor<2x4xf32>), got (tensor<4x2xf32>)
func.func @type(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<4x2xf32> {
  %0 = core.mm(%x, %y) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}
