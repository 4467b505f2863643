// RUN: flambeau-opt %s -p sccp | filecheck %s
// RUN: flambeau-opt %s -p 'func.func(sccp)' --check-semantics | filecheck %s

// Of two branches, only the one that runs gives the argument of a block its value.
// CHECK-LABEL: func.func @branch
// CHECK:       ^{{.*}}(%r: i32):
// CHECK-NEXT:    %[[C:.*]] = arith.constant 6 : i32
// CHECK-NEXT:    func.return %[[C]] : i32
func.func @branch(%x: i32) -> i32 {
  %t = arith.constant true
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  cf.cond_br %t, ^a(%two : i32), ^b
^a(%n: i32):
  %p = arith.muli %n, %three : i32
  cf.br ^end(%p : i32)
^b:
  cf.br ^end(%x : i32)
^end(%r: i32):
  func.return %r : i32
}

// What may be two things stays.
// CHECK-LABEL: func.func @varies
// CHECK:       ^{{.*}}(%r: i32):
// CHECK-NEXT:    func.return %r : i32
func.func @varies(%c: i1) -> i32 {
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  cf.cond_br %c, ^end(%one : i32), ^end(%two : i32)
^end(%r: i32):
  func.return %r : i32
}

// A loop whose value never changes: the optimistic answer.
// CHECK-LABEL: func.func @loop
// CHECK:       ^{{.*}}(%n: i32):
// CHECK-NEXT:    %[[N:.*]] = arith.constant 0 : i32
// CHECK:         func.return %[[N]] : i32
func.func @loop(%c: i1) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^head(%zero : i32)
^head(%n: i32):
  %p = arith.muli %n, %one : i32
  cf.cond_br %c, ^head(%p : i32), ^end
^end:
  func.return %n : i32
}

// CHECK-LABEL: func.func @if
// CHECK:         scf.if
// CHECK:         %[[V:.*]] = arith.constant 5 : i32
// CHECK-NEXT:    func.return %[[V]] : i32
func.func @if(%x: i32) -> i32 {
  %f = arith.constant false
  %five = arith.constant 5 : i32
  %r = scf.if %f -> (i32) {
    scf.yield %x : i32
  } else {
    scf.yield %five : i32
  }
  func.return %r : i32
}

// Results of loops and calls vary.
// CHECK-LABEL: func.func @for
// CHECK:         func.return %r, %s
func.func @for(%n: index) -> (i32, i32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %five = arith.constant 5 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%v = %five) -> (i32) {
    scf.yield %v : i32
  }
  %s = func.call @if(%five) : (i32) -> i32
  func.return %r, %s : i32, i32
}
