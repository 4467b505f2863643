// RUN: flambeau-opt %s -p 'bound-symbols{bounds=s0:64,u0:9}' | filecheck %s
// RUN: not flambeau-opt %s -p 'bound-symbols{bounds=s1:64}' 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: not flambeau-opt %s -p 'bound-symbols{bounds=s0:1}' 2>&1 | filecheck %s --check-prefix LOW
// RUN: not flambeau-opt %s -p 'bound-symbols{bounds=s0}' 2>&1 | filecheck %s --check-prefix FORM

// UNKNOWN: bound-symbols: no dynamic size is named 's1'; there are s0, u0
// LOW: bound-symbols: s0 is 2 or more, and cannot be bounded by 1
// FORM: a bound is written NAME:NUMBER, as in s0:512, not 's0'

// What the new range decides is decided: the slice has all entries.
// CHECK: func.func @f(%x: tensor<?x4xf32, #edge.layout<sizes = [s0 in [2, 64], 4]>>, %n: tensor<i64>) -> tensor<?x4xf32, #edge.layout<sizes = [s0, 4]>> {
// CHECK-NEXT: flambeau.define_symbol %n as u0 in [0, 9] : tensor<i64>
// CHECK-NEXT: aten.slice.Tensor(%x) {end = s0} : {{.*}} -> tensor<?x4xf32, #edge.layout<sizes = [s0, 4]>>
func.func @f(%x: tensor<?x4xf32, #edge.layout<sizes = [s0 in [2, ?], 4]>>, %n: tensor<i64>) -> tensor<?x4xf32, #edge.layout<sizes = [min(s0, 100), 4]>> {
  flambeau.define_symbol %n as u0 in [0, ?] : tensor<i64>
  %0 = aten.slice.Tensor(%x) {end = min(s0, 100)} : (tensor<?x4xf32, #edge.layout<sizes = [s0, 4]>>) -> tensor<?x4xf32, #edge.layout<sizes = [min(s0, 100), 4]>>
  func.return %0 : tensor<?x4xf32, #edge.layout<sizes = [min(s0, 100), 4]>>
}

// How many entries are not zero has the bound that the number of entries has, and so does what follows from it.
// CHECK: func.func @g{{.*}}sizes = [u2 in [0, 512], 2]>>
// CHECK: aten.nonzero({{.*}} -> tensor<?x2xi64, #edge.layout<sizes = [u1 in [0, 256], 2]>>
func.func @g(%x: tensor<?x4xf32, #edge.layout<sizes = [s0 in [2, ?], 4]>>) -> tensor<?x2xi64, #edge.layout<sizes = [u2 in [0, ?], 2]>> {
  %0 = aten.nonzero(%x) : (tensor<?x4xf32, #edge.layout<sizes = [s0, 4]>>) -> tensor<?x2xi64, #edge.layout<sizes = [u1 in [0, ?], 2]>>
  %1 = aten.nonzero(%0) : (tensor<?x2xi64, #edge.layout<sizes = [u1, 2]>>) -> tensor<?x2xi64, #edge.layout<sizes = [u2 in [0, ?], 2]>>
  func.return %1 : tensor<?x2xi64, #edge.layout<sizes = [u2, 2]>>
}

// The result of a branch is at most as large as what either gives.
// CHECK: func.func @h{{.*}}sizes = [u4 in [0, 256], 2]>>
// CHECK: aten.nonzero({{.*}} -> tensor<?x2xi64, #edge.layout<sizes = [u3 in [0, 256], 2]>>
func.func @h(%x: tensor<?x4xf32, #edge.layout<sizes = [s0 in [2, ?], 4]>>, %y: tensor<3x2xi64>, %c: i1) -> tensor<?x2xi64, #edge.layout<sizes = [u4 in [0, ?], 2]>> {
  %0 = scf.if %c -> (tensor<?x2xi64, #edge.layout<sizes = [u4, 2]>>) {
    %1 = aten.clone(%y) : (tensor<3x2xi64>) -> tensor<?x2xi64, #edge.layout<sizes = [u4, 2]>>
    scf.yield %1 : tensor<?x2xi64, #edge.layout<sizes = [u4, 2]>>
  } else {
    %2 = aten.nonzero(%x) : (tensor<?x4xf32, #edge.layout<sizes = [s0, 4]>>) -> tensor<?x2xi64, #edge.layout<sizes = [u3 in [0, ?], 2]>>
    %3 = aten.clone(%2) : (tensor<?x2xi64, #edge.layout<sizes = [u3, 2]>>) -> tensor<?x2xi64, #edge.layout<sizes = [u4, 2]>>
    scf.yield %3 : tensor<?x2xi64, #edge.layout<sizes = [u4, 2]>>
  }
  func.return %0 : tensor<?x2xi64, #edge.layout<sizes = [u4, 2]>>
}
