// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// Names that stand for nothing, and those that stand for two things.
func.func @misspelt(%x: tensor<2xf32>) {
  // expected-error @+1 {{there is no operation aten.reluu; did you mean 'aten.relu'?}}
  %0 = aten.reluu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @misspelt_dialect(%x: tensor<2xf32>) {
  // expected-error @+1 {{there is no dialect 'aen', which operation aen.relu would belong to; did you mean 'aten'?}}
  %0 = aen.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @generic(%x: tensor<2xf32>) {
  // expected-error @+1 {{there is no operation exec.tensr; did you mean 'exec.tensor'?}}
  %0 = "exec.tensr"() : () -> tensor<2xf32>
  func.return
}

// -----

func.func @bare() {
  // expected-error @+1 {{there is no operation 'frobnicate': the name of an operation begins with its dialect, as in func.return}}
  frobnicate
}

// -----

// expected-error @+1 {{there is no type !quantized_decomposed.unknown: the dialect quantized_decomposed does not define it}}
func.func @type(%x: !quantized_decomposed.unknown) {
  func.return
}

// -----

// expected-error @+1 {{there is no attribute #edge.layut: the dialect edge does not define it; did you mean 'edge.layout'?}}
func.func @attribute(%x: tensor<2xf32, #edge.layut<[0]>>) {
  func.return
}

// -----

// expected-error @+1 {{there is no type !toy.struct: there is no dialect 'toy'}}
func.func @type_dialect(%x: !toy.struct) {
  func.return
}

// -----

// expected-error @+1 {{there is no alias #colum: define it above, at the start of a line}}
#row = #colum

// -----

#row = 1 : i64
// expected-error @+1 {{the alias #row is defined twice}}
#row = 2 : i64

// -----

func.func @value(%x: tensor<2xf32>) {
  // expected-error @+1 {{%y is used, but never defined}}
  %0 = aten.relu(%y) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @values(%x: tensor<2xf32>) {
  // expected-error @+1 {{%y is used, but never defined; nor is %z}}
  %0 = aten.add.Tensor(%y, %z) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @value_twice(%x: tensor<2xf32>) {
  // expected-note @+1 {{%0 is defined here as tensor<2xf32>}}
  %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  // expected-error @+1 {{%0 is defined twice}}
  %0 = aten.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// expected-note @+2 {{%x is defined here as tensor<2xf32>}}
// expected-error @+1 {{%x is defined twice}}
func.func @argument_twice(%x: tensor<2xf32>, %x: tensor<2xf32>) {
  func.return
}

// -----

func.func @block() {
  // expected-error @+1 {{there is no block ^after in this region}}
  cf.br ^after
}

// -----

func.func @block_twice() {
  func.return
^after:
  func.return
// expected-error @+1 {{block ^after is defined twice}}
^after:
  func.return
}

// -----

func.func @symbol(%x: tensor<2xf32>) {
  // expected-error @+1 {{there is no symbol @nobody}}
  func.call @nobody(%x) : (tensor<2xf32>) -> ()
  func.return
}

// -----

// expected-note @+1 {{@symbol_twice is defined here first}}
func.func @symbol_twice() {
  func.return
}
// expected-error @+1 {{the symbol @symbol_twice is defined twice}}
func.func @symbol_twice() {
  func.return
}

// -----

func.func @results(%x: tensor<2xf32>) {
  // expected-error @+1 {{the operation has 1 result(s), but 2 name(s) for them}}
  %0, %1 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @result_index(%x: tensor<2xf32>) {
  // expected-error @+1 {{the name has 1 value(s), counted from #0, so #1 does not exist}}
  %0 = aten.relu(%x#1) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
