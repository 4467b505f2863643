// The first part of a graph that does not fit is named, and the first attribute.
// RUN: flambeau-opt %s --load-plugin %S/fuse.py -p fuse --why-not fuse --split-input-file --verify-diagnostics=only-expected
// RUN: flambeau-opt %s --load-plugin %S/fuse.py -p fuse --why-not=swish@why-not.mlir:60 --split-input-file -o /dev/null 2>&1 | filecheck %s --check-prefix=SWISH
// RUN: flambeau-opt %s --load-plugin %S/fuse.py -p fuse --why-not=fuse@why-not.mlir:59 --split-input-file -o /dev/null 2>&1 | filecheck %s --check-prefix=ELSEWHERE
// RUN: flambeau-opt %s --load-plugin %S/fuse.py -p fuse --why-not=fus --split-input-file -o /dev/null 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: flambeau-opt %s --load-plugin %S/fuse.py -p fuse --why-not=fuse@why-not.mlir:39 --split-input-file -o /dev/null 2>&1 | filecheck %s --check-prefix=INNER
// RUN: flambeau-opt %s -p cse --why-not=fuse --split-input-file -o /dev/null 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not flambeau-opt %s --why-not=fuse@here 2>&1 | filecheck %s --check-prefix=WRONG

// SWISH:     why-not.mlir:60:3: note: fuse: swish did not apply: operand 'other' of aten.mul.Tensor is a result of aten.neg, not aten.exp
// SWISH-NOT: note
// ELSEWHERE: warning: fuse: fuse was not tried at why-not.mlir:59: it is tried on aten.add.Tensor; there is aten.neg
// UNKNOWN:   warning: fuse: the pipeline tries no pattern 'fus'; did you mean 'fuse'?
// NONE:      warning: cse: the pipeline tries no pattern 'fuse'
// INNER:     fuse did not apply: attribute 'other' of aten.mul.Scalar at {{.*}}why-not.mlir:37 is 0,
// WRONG:     argument --why-not: 'fuse@here' is neither PATTERN nor PATTERN@FILE:LINE

func.func @operand(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.relu(%y) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note @below {{operand 'other' of aten.add.Tensor is a result of aten.relu, not aten.mul.Scalar}}
  %1 = aten.add.Tensor(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

func.func @attribute(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.mul.Scalar(%y) {other = 0.5} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note @below {{attribute 'alpha' of aten.add.Tensor is 2; the graph does not name it, so it must be the default}}
  %1 = aten.add.Tensor(%x, %0) {alpha = 2} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

func.func @condition(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.mul.Scalar(%y) {other = 0} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note @below {{is 0, which the graph does not take}}
  %1 = aten.add.Tensor(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// The reason of a pattern is told as it is; and where it applied, that.
func.func @reason(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = aten.mul.Scalar(%y) {other = 2} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note @below {{fuse did not apply: something else reads what would be fused}}
  %1 = aten.add.Tensor(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.mul.Scalar(%y) {other = 3} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-note @below {{fuse applied here}}
  %3 = aten.add.Tensor(%x, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @swish(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.mul.Tensor(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
