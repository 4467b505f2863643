// RUN: flambeau-opt %s --load-plugin %S/wrong.py -p 'canonicalize,wrong-slope,cse' --check-semantics --split-input-file --verify-diagnostics

// Within a loop the value that differs is named with the round in which it does.
// expected-note @unknown {{flambeau bisect, given the reproducer or the same input and pipeline, finds the rewrite}}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %n = arith.constant 6 : index
  %start = arith.constant dense<0.0> : tensor<4xf32>
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %start) -> (tensor<4xf32>) {
    %odd = arith.remui %i, %two : index
    %is_odd = arith.cmpi eq, %odd, %one : index
    %b = scf.if %is_odd -> (tensor<4xf32>) {
      scf.yield %a : tensor<4xf32>
    } else {
      // expected-error @+1 {{the first value that differs is %act, computed by aten.mul.Scalar (aten.relu before) in round 2: max}}
      %act = aten.relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
      scf.yield %act : tensor<4xf32>
    }
    %d = aten.add.Tensor(%b, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %d : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// -----

// What is not taken changes nothing.
func.func @forward(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %negative = arith.cmpi slt, %n, %zero : index
  cf.cond_br %negative, ^never, ^end(%x : tensor<4xf32>)
^never:
  %act = aten.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  cf.br ^end(%act : tensor<4xf32>)
^end(%r: tensor<4xf32>):
  func.return %r : tensor<4xf32>
}

// -----

// A loop between blocks, with a condition that is read from a tensor.
// expected-note @unknown {{flambeau bisect, given the reproducer or the same input and pipeline, finds the rewrite}}
func.func @forward(%x: tensor<4xf32>) -> (tensor<4xf32>, i32) {
  %zero = arith.constant 0 : index
  %none = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %limit = arith.constant -4.0 : f32
  %down = arith.constant dense<-1.5> : tensor<4xf32>
  cf.br ^loop(%x, %none : tensor<4xf32>, i32)
^loop(%a: tensor<4xf32>, %count: i32):
  // expected-error @+1 {{the first value that differs is %act, computed by aten.mul.Scalar (aten.relu before)}}
  %act = aten.relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %b = aten.add.Tensor(%a, %down) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = aten.add.Tensor(%b, %act) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %next = arith.addi %count, %one : i32
  %low = aten.amin(%c) : (tensor<4xf32>) -> tensor<f32>
  %e = tensor.extract %low[] : tensor<f32>
  %stop = arith.cmpf ult, %e, %limit : f32
  cf.cond_br %stop, ^end, ^loop(%b, %next : tensor<4xf32>, i32)
^end:
  func.return %c, %next : tensor<4xf32>, i32
}

// -----

// A function that is called is part of who calls it, and is not run for itself.
// expected-note @unknown {{flambeau bisect, given the reproducer or the same input and pipeline, finds the rewrite}}
func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{output 0 of @forward differs}}
  %r = aten.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = func.call @helper(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}
