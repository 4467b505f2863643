// RUN: flambeau-opt %s --load-plugin %S/wrong.py -p 'canonicalize,wrong-slope,cse' --check-semantics --split-input-file --verify-diagnostics
// RUN: flambeau-opt %s --load-plugin %S/wrong.py -p 'func.func(wrong-slope)' --check-semantics=1e-6 --seed=7 --split-input-file --verify-diagnostics

// expected-note @unknown {{flambeau bisect, given the reproducer or the same input and pipeline, finds the rewrite}}
func.func @forward(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = aten.sigmoid(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @+1 {{wrong-slope: changes the result: output 1 of @forward differs: max |Δ| is}}
  %b = aten.relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %c = aten.neg(%b) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %a, %c : tensor<8xf32>, tensor<8xf32>
}

// -----

// Only what the pass made of it is wrong: here nothing is.
func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = aten.abs(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %a : tensor<8xf32>
}

// -----

// The first value that differs is the one whose computation changed, not those that follow from it.
// expected-note @unknown {{flambeau bisect, given the reproducer or the same input and pipeline, finds the rewrite}}
func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = aten.neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @+1 {{the first value that differs is %act, computed by aten.mul.Scalar (aten.relu before): max}}
  %act = aten.relu(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %c = aten.add.Tensor(%act, %a) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %d = aten.exp(%c) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %d : tensor<8xf32>
}

// -----

// Every function is run.
// expected-note @unknown {{flambeau bisect, given the reproducer or the same input and pipeline, finds the rewrite}}
func.func @first(%x: tensor<8xf32>) -> tensor<8xf32> {
  func.return %x : tensor<8xf32>
}

func.func @second(%x: tensor<8xf16>) -> tensor<8xf16> {
  // expected-error @+1 {{output 0 of @second differs}}
  %a = aten.relu(%x) : (tensor<8xf16>) -> tensor<8xf16>
  func.return %a : tensor<8xf16>
}
