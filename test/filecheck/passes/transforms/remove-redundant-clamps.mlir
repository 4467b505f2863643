// RUN: flambeau-opt %s -p remove-redundant-clamps | filecheck %s
// RUN: flambeau-opt %s -p remove-redundant-clamps --verify-diagnostics --remarks

// What an operator promises, and what arithmetic makes of it.
// CHECK-LABEL: func.func @promised
// CHECK-NEXT:    %[[S:.*]] = core.sigmoid(%x)
// CHECK-NEXT:    %[[T:.*]] = core.mul.Scalar(%[[S]]) {other = 6.0}
// CHECK-NEXT:    func.return %[[T]], %[[S]]
func.func @promised(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = core.sigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = core.mul.Scalar(%0) {other = 6.0} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{removed: the elements of its operand lie in [0, 6]}}
  %2 = core.hardtanh(%1) {min_val = 0.0, max_val = 6.0} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{removed: the elements of its operand lie in [0, 1]}}
  %3 = core.relu(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @not_known
// CHECK:         core.relu
// CHECK:         core.hardtanh
func.func @not_known(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{stays: the elements of its operand lie in [0, inf]}}
  %1 = core.hardtanh(%0) {min_val = 0.0, max_val = 6.0} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Through a conditional: both branches count.
// CHECK-LABEL: func.func @branches
// CHECK:         scf.if
// CHECK-NOT:     core.hardtanh
func.func @branches(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = scf.if %c -> (tensor<4xf32>) {
    %1 = core.tanh(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    %2 = core.sigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  // expected-remark @below {{removed: the elements of its operand lie in [-1, 1]}}
  %3 = core.hardtanh(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// Around a loop that keeps the range, and one that does not.
// CHECK-LABEL: func.func @loops
// CHECK:         core.relu
// CHECK-NOT:     core.relu
func.func @loops(%n: index, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = core.sigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %kept, %moved = scf.for %i = %zero to %n step %one iter_args(%a = %start, %b = %start) -> (tensor<4xf32>, tensor<4xf32>) {
    %square = core.mul.Tensor(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %lower = core.sub.Tensor(%b, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %square, %lower : tensor<4xf32>, tensor<4xf32>
  }
  // expected-remark @below {{removed: the elements of its operand lie in [0, 1]}}
  %1 = core.relu(%kept) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{stays: the elements of its operand lie in [-inf, 1]}}
  %2 = core.relu(%moved) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// Through calls: a private function is called by nobody else, a public one by anybody.
// CHECK-LABEL: func.func private @inner
// CHECK-NEXT:    func.return
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark @below {{removed: the elements of its operand lie in [-1, 1]}}
  %0 = core.hardtanh(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func @outer
// CHECK:         func.call @inner
// CHECK:         func.call @inner
// CHECK-NEXT:    func.return
func.func @outer(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = core.tanh(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = core.sigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @inner(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @inner(%1) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @below {{removed: the elements of its operand lie in [-1, 1]}}
  %4 = core.clamp(%3) {min = -1.0, max = 1.0} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2, %4 : tensor<4xf32>, tensor<4xf32>
}

// Through the blocks of a function that is called.
// CHECK-LABEL: func.func @calls_blocks
// CHECK-LABEL: func.func private @blocks
// CHECK-NOT:     core.hardtanh
func.func @calls_blocks(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @blocks(%c, %x) : (i1, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @blocks(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  cf.cond_br %c, ^one, ^two
^one:
  %0 = core.sigmoid(%x) : (tensor<4xf32>) -> tensor<4xf32>
  cf.br ^end(%0 : tensor<4xf32>)
^two:
  %1 = core.tanh(%x) : (tensor<4xf32>) -> tensor<4xf32>
  cf.br ^end(%1 : tensor<4xf32>)
^end(%either: tensor<4xf32>):
  // expected-remark @below {{removed: the elements of its operand lie in [-1, 1]}}
  %2 = core.hardtanh(%either) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
