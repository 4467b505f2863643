// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p convert-edge-to-exec | filecheck %s

// Arithmetic on numbers of data computes on slots of numbers; what fails jumps to the end.
// CHECK-LABEL: exec.method @numbers
func.func @numbers(%x : tensor<f32>, %c : tensor<i1>) -> (f64, tensor<f64>, i1) {
  %f = tensor.extract %x[] : tensor<f32>
  %d = arith.extf %f : f32 to f64
  %two = arith.constant 2.0 : f64
  %double = arith.mulf %d, %two : f64
  %t = tensor.from_elements %double : tensor<f64>
  %above = arith.cmpf ogt, %d, %two : f64
  %b = tensor.extract %c[] : tensor<i1>
  %both = arith.andi %above, %b : i1
  %holds = tensor.extract %c[] : tensor<i1>
  cf.assert %holds, "holds"
  func.return %double, %t, %both : f64, tensor<f64>, i1
}
// CHECK: exec.call "aten::_local_scalar_dense"(%x){{.*}}%[[F:[0-9]+]]
// CHECK-NEXT: exec.call "executorch_prim::mul.Scalar"(%[[F]], %{{[0-9]+}}){{.*}}%[[D:[0-9]+]]
// CHECK-NEXT: exec.call "aten::full.out"(%{{[0-9]+}}, %[[D]])
// CHECK-NEXT: exec.call "executorch_prim::lt.Scalar"(%{{[0-9]+}}, %[[F]]){{.*}}%[[A:[0-9]+]]
// CHECK-NEXT: exec.call "aten::_local_scalar_dense"(%c){{.*}}%[[B:[0-9]+]]
// CHECK-NEXT: exec.call "executorch_prim::sym_ite.Scalar"(%[[A]], %[[B]], %[[A]])
// CHECK-NEXT: exec.jump_false %c, @fail_0

// -----

func.func @other_numbers(%x : tensor<f32>) {
  %f = tensor.extract %x[] : tensor<f32>
  // expected-error @+2 {{2 operations cannot be converted to kernel calls}}
  // expected-note @+1 {{arith.addf: the numbers of slots are i1, i64 and f64, got f32}}
  %0 = arith.addf %f, %f : f32
  %d = arith.extf %f : f32 to f64
  // expected-note @+1 {{arith.cmpf: of the comparisons of floats, oeq, ogt, oge, olt, ole and une have a form as instructions}}
  %1 = arith.cmpf ueq, %d, %d : f64
  func.return
}

// -----

// Rows that data decides are compared with the size that the type says. What ranges prove is not checked again.
// CHECK-LABEL: exec.method @rows_that_are_a_size
// CHECK:         exec.jump_false %{{.*}}, @fail_1
// CHECK-NEXT:    exec.call "aten::nonzero.out"(%x) outs(%[[ROWS:.*]])
// CHECK-NEXT:    exec.call "aten::sym_size.int"(%[[ROWS]], %{{.*}}) returns(%[[FOUND:.*]])
// CHECK-NEXT:    exec.call "executorch_prim::eq.Scalar"(%[[FOUND]], %{{.*}}) returns(%[[SAME:.*]])
// CHECK-NEXT:    exec.jump_false %[[SAME]], @fail_2
// CHECK:         exec.label @fail_2
// CHECK-NEXT:    exec.call "aten::full.out"(%{{[0-9]+}}, %[[FOUND]]) outs(%[[NUMBER:[0-9]+]])
// CHECK-NEXT:    exec.fail "dimension 0 of what edge.nonzero gives must be s0, where s0 is dimension 0 of input 'x'"(%[[NUMBER]])
func.func @rows_that_are_a_size(%x: tensor<?x1xf32, #edge.layout<sizes = [s0 in [2, 9], 1]>>) -> tensor<?x2xi64, #edge.layout<sizes = [s0, 2]>>
    attributes {flambeau.inputs = [{name = "x"}]} {
  flambeau.assert s0 le 9
  %0 = edge.nonzero(%x) : (tensor<?x1xf32, #edge.layout<sizes = [s0, 1]>>) -> tensor<?x2xi64, #edge.layout<sizes = [s0, 2]>>
  func.return %0 : tensor<?x2xi64, #edge.layout<sizes = [s0, 2]>>
}
