// RUN: flambeau-opt %s --split-input-file -p lower-expressions | filecheck %s
// RUN: flambeau-opt %s --split-input-file | flambeau-opt --split-input-file | filecheck %s --check-prefix=PRINTED

// What another expression takes is computed once, and an integer is declared once, before what takes it.
// CHECK-LABEL: exec.method @pooled
// CHECK-NEXT: %h = exec.int 7
// CHECK-NEXT: %[[ONE:.*]] = exec.int 1
// CHECK-NEXT: %next = exec.int 0
// CHECK-NEXT: %two = exec.int 2
// CHECK-NEXT: %[[HALF:.*]] = exec.int 0
// CHECK-NEXT: %[[PRODUCT:.*]] = exec.int 0
// CHECK-NEXT: %size = exec.int 0
// CHECK-NEXT: %list = exec.int_list [%next, %size, %two]
// CHECK-NEXT: exec.call "executorch_prim::add.Scalar"(%h, %[[ONE]]) returns(%next)
// CHECK-NEXT: exec.call "executorch_prim::floordiv.Scalar"(%next, %two) returns(%[[HALF]])
// CHECK-NEXT: exec.call "executorch_prim::mul.Scalar"(%[[HALF]], %h) returns(%[[PRODUCT]])
// CHECK-NEXT: exec.call "executorch_prim::sub.Scalar"(%[[PRODUCT]], %[[ONE]]) returns(%size)
// CHECK-NEXT: exec.return
// PRINTED: exec.evaluate ins(h in [2, 9] = %h) outs(h + 1 = %next, ((h + 1) floordiv 2) * h - 1 = %size)
exec.method @pooled {} {
  %h = exec.int 7
  %next = exec.int 0
  %size = exec.int 0
  %two = exec.int 2
  %list = exec.int_list [%next, %size, %two]
  exec.evaluate ins(h in [2, 9] = %h) outs(h + 1 = %next, ((h + 1) floordiv 2) * h - 1 = %size)
  exec.return inputs(%h) outputs(%list)
}

// -----

// Expressions that are known are not computed again; a number that a caller may set is not one that never changes.
// CHECK-LABEL: exec.method @known
// CHECK: %eight = exec.int 8
// CHECK-NEXT: %[[OWN:.*]] = exec.int 8
// CHECK-NEXT: %least = exec.int 0
// CHECK-NEXT: exec.call "executorch_prim::sym_min.Scalar"(%[[OWN]], %double) returns(%least)
// CHECK-NEXT: exec.return inputs(%n, %double, %eight) outputs(%least)
exec.method @known {} {
  %n = exec.int 3
  %double = exec.int 6
  %eight = exec.int 8
  %least = exec.int 0
  exec.evaluate ins(n in [2, 9] = %n, n * 2 = %double) outs(min(n * 2, 8) = %least)
  exec.return inputs(%n, %double, %eight) outputs(%least)
}
