// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// The set of core operators is closed: composite operators and those without a row do not exist here.
func.func @composite(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{there is no operation core.square: aten.square is not an operator of this level}}
  %0 = core.square(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @no_row(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // expected-error @+1 {{there is no operation core.cholesky: aten.cholesky is not an operator of this level}}
  %0 = core.cholesky(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}

// -----

func.func @type(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<4x2xf32> {
  // expected-error @+1 {{core.mm: result types must be (tensor<2x4xf32>), got (tensor<4x2xf32>)}}
  %0 = core.mm(%x, %y) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}

// -----

func.func @alias(%a0: tensor<2xf32>, %a1: tensor<2xf32>) {
  // expected-error @+1 {{there is no operation core.add, only its overloads core.add.Scalar, core.add.Tensor}}
  %0 = core.add(%a0, %a1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @shape(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{core.permute: dim 2 is out of range for rank 2}}
  %0 = core.permute(%a0) {dims = [1, 2]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return
}
