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

// expected-error @+1 {{no input can be made up: !test.type<"int"> is not an element type of a program's tensors}}
func.func @f(%x: !test.type<"int">) {
  func.return
}

// -----

// Of what does not run nothing is asked.
func.func @f(%x: i32) -> i32 {
  %no = arith.constant false
  cf.cond_br %no, ^never, ^end
^never:
  "gpu.launch_it"() : () -> ()
  cf.br ^end
^end:
  func.return %x : i32
}

// -----

func.func private @elsewhere(i32) -> i32

func.func @f(%x: i32) -> i32 {
  // expected-error @+1 {{@f cannot be run: @elsewhere is only declared: it cannot be called}}
  %0 = func.call @elsewhere(%x) : (i32) -> i32
  func.return %0 : i32
}

// -----

func.func @f(%x: i32) -> i32 {
  // expected-error @+1 {{@f cannot be run: calls and regions nest more than 100 deep here: is there a recursion without end?}}
  %0 = func.call @f(%x) : (i32) -> i32
  func.return %0 : i32
}

// -----

func.func @f(%x: i32) -> i32 {
  %zero = arith.constant 0 : i32
  // expected-error @+1 {{@f cannot be run: arith.divsi: division by zero}}
  %0 = arith.divsi %x, %zero : i32
  func.return %0 : i32
}

// -----

func.func @f(%x: tensor<3xf32>) -> f32 {
  %three = arith.constant 3 : index
  %one = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %one to %three step %one iter_args(%a = %zero) -> (f32) {
    %next = arith.addi %i, %one : index
    // expected-error @+1 {{@f cannot be run: tensor.extract: index 3 is out of range for 3 entries}}
    %e = tensor.extract %x[%next] : tensor<3xf32>
    %b = arith.addf %a, %e : f32
    scf.yield %b : f32
  }
  func.return %sum : f32
}

// -----

func.func @f(%n: index) {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{@f cannot be run: scf.for: the step must be more than 0, got 0}}
  scf.for %i = %zero to %n step %zero {
  }
  func.return
}

// -----

func.func @f(%x: i1) {
  %c = arith.constant false
  // expected-error @+1 {{@f cannot be run: cf.assert fails: not this}}
  cf.assert %c, "not this"
  func.return
}

// -----

// expected-error @+1 {{no input can be made up: memref<2xf32> is not an element type of a program's tensors}}
func.func @f(%x: memref<2xf32>) {
  func.return
}

// -----

func.func @f(%x: f32) -> f32 {
  // expected-error @+1 {{@f cannot be run: memref.alloc has no meaning to the interpreter; a plug-in gives it one with @interprets}}
  %m = memref.alloc() : memref<2xf32>
  func.return %x : f32
}

// -----

// expected-error @+1 {{no input can be made up: i4 is not an element type of a program's tensors}}
func.func @f(%x: i4) -> i4 {
  func.return %x : i4
}
