// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

func.func @view(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  // expected-error @+1 {{there is no operation edge.view: at this level a view is a copy; use edge.view_copy}}
  %0 = edge.view(%x) {size = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %0 : tensor<6xf32>
}

// -----

// expected-error @+1 {{a dim order must be a permutation of 0..1, got [0, 0]}}
func.func @order(%x: tensor<2x3xf32, #edge.layout<[0, 0]>>) {
  func.return
}

// -----

// expected-error @+1 {{sizes must have 2 entries, got 1}}
func.func @bounds(%x: tensor<?x3xf32, #edge.layout<[0, 1], sizes = [8]>>) {
  func.return
}

// -----

func.func @layouts(%x: tensor<2x3x4xf32, #edge.layout<[0, 2, 1]>>) -> tensor<2x3x4xf32> {
  // expected-error @+1 {{edge.relu: its operands and results are laid out differently}}
  %0 = edge.relu(%x) : (tensor<2x3x4xf32, #edge.layout<[0, 2, 1]>>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}

// -----

func.func @types(%x: tensor<2xf32>, %y: tensor<2xi64>) -> tensor<2xf32> {
  // expected-error @+1 {{edge.add.Tensor: operands of f32 and i64 must be of the type it computes in, f32: cast them}}
  %0 = edge.add.Tensor(%x, %y) : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @unbounded(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{edge.relu: dimension 0 of tensor<?xf32> has no maximum}}
  %0 = edge.relu(%x) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

// -----

func.func @number_type(%a0: tensor<2xi64>) {
  // expected-error @+1 {{edge.sigmoid: operands of i64 must be of the type it computes in, f32: cast them}}
  %0 = edge.sigmoid(%a0) : (tensor<2xi64>) -> tensor<2xf32>
  func.return
}

// -----

// expected-error @+1 {{a layout has no 'size'; did you mean 'sizes'?}}
func.func @mistyped_key(%x: tensor<?xf32, #edge.layout<size = [n in [1, 8]]>>) {
  func.return
}

// -----

// expected-error @+1 {{a layout has no 'strides'}}
func.func @unknown_key(%x: tensor<?xf32, #edge.layout<[0], strides = [1]>>) {
  func.return
}

// -----

// expected-error @+1 {{expected a dim order such as [0, 1], or sizes = [...], got '+'}}
func.func @no_key(%x: tensor<?xf32, #edge.layout<+>>) {
  func.return
}

// -----

// expected-error @+1 {{expected a number, a symbol or an expression, got '+'}}
func.func @no_symbol(%x: tensor<?xf32, #edge.layout<sizes = [+]>>) {
  func.return
}

// -----

// expected-error @+1 {{expected a number, or ? for no bound, got 'x'}}
func.func @no_bound(%x: tensor<?xf32, #edge.layout<sizes = [n in [1, x]]>>) {
  func.return
}

// -----

// expected-error @+1 {{bach has no range; did you mean 'batch'?}}
func.func @mistyped_symbol(%x: tensor<?xf32, #edge.layout<sizes = [batch in [1, 8] + bach]>>) {
  func.return
}
