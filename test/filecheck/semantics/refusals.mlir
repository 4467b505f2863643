// RUN: flambeau-opt %s -p cse --check-semantics --allow-unregistered-dialect --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{@f cannot be run: gpu.launch_it has no meaning to the interpreter; a plug-in gives it one}}
  %a = "gpu.launch_it"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %a : tensor<2xf32>
}

// -----

func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{aten.rand_like gives random numbers: the results of two runs cannot be compared}}
  %a = aten.rand_like(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %a : tensor<2xf32>
}

// -----

// expected-error @unknown {{the module has no function or method to run}}
module {}

// -----

// Sums are no indices that made-up inputs know the bounds of.
func.func @f(%x: tensor<3x2xf32>, %i: tensor<9xi64>) -> tensor<9x2xf32> {
  %c = aten.add.Scalar(%i) {other = 7} : (tensor<9xi64>) -> tensor<9xi64>
  // expected-error-re @+1 {{@f cannot be run: aten.embedding: index {{[78]}} is out of range for 3 entries}}
  %a = aten.embedding(%x, %c) : (tensor<3x2xf32>, tensor<9xi64>) -> tensor<9x2xf32>
  func.return %a : tensor<9x2xf32>
}

// -----

// expected-error @unknown {{no input can be made up: !test.type<"int"> is not an element type of a program's tensors}}
func.func @f(%x: !test.type<"int">) {
  func.return
}

// -----

// expected-error @+1 {{@f has 2 blocks; the interpreter runs only one}}
func.func @f() {
  cf.br ^end
^end:
  func.return
}
