// RUN: flambeau-opt %s -p decompose-aten{strict},convert-aten-to-core,canonicalize,cse,remove-dead-code,convert-core-to-edge,remove-dead-code | filecheck %s
// RUN: flambeau-opt %s -p 'compile{target=executorch}' | filecheck %s --check-prefix PLANNED
// RUN: flambeau-opt %s -p 'compile{target=flambeau}' | filecheck %s --check-prefix PLANNED

// Operators in regions are decomposed, converted and simplified as those around them; what has an effect stays, what has none and no reader goes.
ml_program.global private mutable @s(#flambeau.blob<"s", "0000000000000000">) : tensor<3xf32>
// CHECK-LABEL: func.func @forward
// CHECK-NOT:     edge.abs
// CHECK:         scf.for
// CHECK-NEXT:      %[[S:.*]] = ml_program.global_load @s
// CHECK-NEXT:      %[[M:.*]] = edge.mul.Tensor(%[[S]], %x)
// CHECK-NEXT:      ml_program.global_store @s = %[[M]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[A:.*]] = edge.sin(%x)
// CHECK-NEXT:    %r, %q = scf.if %{{.*}} -> (tensor<3xf32>, tensor<3xf32>) {
// CHECK-NEXT:      %[[SUM:.*]] = edge.add.Tensor(%[[A]], %[[A]])
// CHECK-NEXT:      %[[GATE:.*]] = edge.sigmoid(%[[SUM]])
// CHECK-NEXT:      %[[SILU:.*]] = edge.mul.Tensor(%[[SUM]], %[[GATE]])
// CHECK-NEXT:      scf.yield %[[SILU]], %x
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %x, %[[A]]
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %r, %q
// PLANNED:       exec.method @forward
// PLANNED:         exec.label @bb1
// PLANNED:         exec.jump_false %{{.*}}, @bb1
// PLANNED:         exec.jump_false %c, @bb4
func.func @forward(%c: tensor<i1>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %p = tensor.extract %c[] : tensor<i1>
  %dead = scf.if %p -> (tensor<3xf32>) {
    %0 = aten.abs(%x) : (tensor<3xf32>) -> tensor<3xf32>
    scf.yield %0 : tensor<3xf32>
  } else {
    scf.yield %x : tensor<3xf32>
  }
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %dead_loop = scf.for %i = %one to %four step %one iter_args(%z = %x) -> (tensor<3xf32>) {
    %1 = aten.abs(%z) : (tensor<3xf32>) -> tensor<3xf32>
    scf.yield %1 : tensor<3xf32>
  }
  scf.for %i = %one to %four step %one {
    %2 = ml_program.global_load @s : tensor<3xf32>
    %3 = aten.mul.Tensor(%2, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    ml_program.global_store @s = %3 : tensor<3xf32>
  }
  %a = aten.sin(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %r, %q = scf.if %p -> (tensor<3xf32>, tensor<3xf32>) {
    %b = aten.sin(%x) : (tensor<3xf32>) -> tensor<3xf32>
    %e = aten.add.Tensor(%b, %a) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %g = aten.silu(%e) : (tensor<3xf32>) -> tensor<3xf32>
    %h = aten.clone(%x) : (tensor<3xf32>) -> tensor<3xf32>
    scf.yield %g, %h : tensor<3xf32>, tensor<3xf32>
  } else {
    %l = aten.clone(%x) : (tensor<3xf32>) -> tensor<3xf32>
    scf.yield %l, %a : tensor<3xf32>, tensor<3xf32>
  }
  func.return %r, %q : tensor<3xf32>, tensor<3xf32>
}
