// RUN: flambeau-opt %s -p reuse-storage | filecheck %s
// RUN: flambeau-opt %s -p reuse-storage,plan-memory,verify-plan | filecheck %s --check-prefix PLAN

ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<4xf32>
ml_program.global private mutable @state : tensor<4xf32>
ml_program.global private mutable @scattered : tensor<8x4xf32>
ml_program.global private mutable @of_branch : tensor<4xf32>
ml_program.global private mutable @of_branch_too : tensor<4xf32>
ml_program.global private mutable @rows : tensor<3x2xf32>

// A chain of elementwise calls happens in one place, the input's.
// PLAN-LABEL: exec.method @chain {arenas = [16]
// CHECK-LABEL: exec.method @chain {} {
exec.method @chain {} {
  // CHECK-NEXT: %x = exec.tensor : tensor<4xf32>
  %x = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: %a = exec.reuse %x : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: %one = exec.int 1
  %one = exec.int 1
  // CHECK-NEXT: %b = exec.reuse %a : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::relu.out"(%x) outs(%a)
  // CHECK-NEXT: exec.call "aten::add.out"(%a, %a, %one) outs(%b)
  exec.call "aten::add.out"(%a, %a, %one) outs(%b)
  exec.return inputs(%x) outputs(%b)
}

// The second operand's storage will do when the first lives on.
// CHECK-LABEL: exec.method @second
exec.method @second {} {
  %x = exec.tensor : tensor<4xf32>
  %one = exec.int 1
  %a = exec.tensor : tensor<4xf32>
  // CHECK: %b = exec.reuse %a : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: %c = exec.reuse %x : tensor<4xf32>
  %c = exec.tensor : tensor<4xf32>
  exec.call "aten::mm.out"(%x, %x) outs(%a)
  exec.call "aten::add.out"(%x, %a, %one) outs(%b)
  exec.call "aten::mul.out"(%x, %b) outs(%c)
  exec.return inputs(%x) outputs(%b, %c)
}

// Not the storage of constants, state, what is returned or read later, of another shape or type, or by kernels that look back.
// CHECK-LABEL: exec.method @kept
// CHECK-NOT: exec.reuse
// CHECK: exec.return
exec.method @kept {} {
  %x = exec.tensor : tensor<4xf32>
  %i = exec.tensor : tensor<4xi64>
  %w = exec.constant @w : tensor<4xf32>
  %s = exec.state @state : tensor<4xf32>
  %one = exec.int 1
  %a = exec.tensor : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  %c = exec.tensor : tensor<4xf32>
  %d = exec.tensor : tensor<4x4xf32>
  %e = exec.tensor : tensor<4xf32>
  %f = exec.tensor : tensor<4x4xf32>
  exec.call "aten::neg.out"(%w) outs(%a)
  exec.call "aten::neg.out"(%s) outs(%b)
  exec.call "aten::neg.out"(%a) outs(%c)
  exec.call "aten::mm.out"(%x, %x) outs(%d)
  exec.call "aten::add.out"(%x, %i, %one) outs(%e)
  exec.call "aten::mm.out"(%d, %d) outs(%f)
  exec.call "aten::neg.out"(%x) outs(%b)
  exec.return inputs(%x, %i) outputs(%a, %b, %c, %e, %f)
}

// Not while the same memory is read in another way: here as a row that is broadcast.
// CHECK-LABEL: exec.method @broadcast
exec.method @broadcast {} {
  %x = exec.tensor : tensor<4x4xf32>
  %row = exec.view %x {offset = 16} : tensor<4xf32>
  %one = exec.int 1
  // CHECK: %y = exec.tensor : tensor<4x4xf32>
  %y = exec.tensor : tensor<4x4xf32>
  exec.call "aten::add.out"(%x, %row, %one) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// Not when the tensor is also an operand that the kernel reads at another time: here the values to put into it, or the places.
// CHECK-LABEL: exec.method @twice
exec.method @twice {} {
  %x = exec.tensor : tensor<4xf32>
  %i = exec.tensor : tensor<4xi64>
  %yes = exec.bool true
  %places = exec.optional_tensor_list [%i]
  // CHECK: %a = exec.tensor : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: %b = exec.tensor : tensor<4xi64>
  %b = exec.tensor : tensor<4xi64>
  exec.call "aten::index_put.out"(%x, %places, %x, %yes) outs(%a)
  exec.call "aten::index_put.out"(%i, %places, %i, %yes) outs(%b)
  exec.return inputs(%x, %i) outputs(%a, %b)
}

// The next value of a state is written over the state; what reads it afterwards reads the state.
// CHECK-LABEL: exec.method @counter {} {
exec.method @counter {} {
  // CHECK-NEXT: %x = exec.tensor : tensor<4xf32>
  %x = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: %s = exec.state @state : tensor<4xf32>
  %s = exec.state @state : tensor<4xf32>
  // CHECK-NEXT: %one = exec.int 1
  %one = exec.int 1
  %next = exec.tensor : tensor<4xf32>
  %no = exec.bool false
  // CHECK-NEXT: %row = exec.view %s : tensor<1x4xf32>
  %row = exec.view %next : tensor<1x4xf32>
  // CHECK-NEXT: %y = exec.tensor : tensor<1x4xf32>
  %y = exec.tensor : tensor<1x4xf32>
  // CHECK-NEXT: exec.call "aten::add.out"(%s, %x, %one) outs(%s)
  // CHECK-NEXT: exec.call "aten::neg.out"(%row) outs(%y)
  // CHECK-NEXT: exec.return
  exec.call "aten::add.out"(%s, %x, %one) outs(%next)
  exec.call "aten::copy_"(%s, %next, %no) returns(%s)
  exec.call "aten::neg.out"(%row) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// So is an entry of a cache.
// CHECK-LABEL: exec.method @cache
exec.method @cache {} {
  %x = exec.tensor : tensor<1xf32>
  %at = exec.tensor : tensor<1xi64>
  %s = exec.state @state : tensor<4xf32>
  %no = exec.bool false
  %places = exec.optional_tensor_list [%at]
  %next = exec.tensor : tensor<4xf32>
  // CHECK: exec.call "aten::index_put_"(%s, %places, %x, %no) returns(%s)
  // CHECK-NEXT: exec.return
  exec.call "aten::index_put.out"(%s, %places, %x, %no) outs(%next)
  exec.call "aten::copy_"(%s, %next, %no) returns(%s)
  exec.return inputs(%x, %at)
}

// A part of a state whose bytes lie together is computed where it lies, and values get the shape of what they replace.
// CHECK-LABEL: exec.method @part
exec.method @part {} {
  // CHECK: %[[ROW:.*]] = exec.view %x : tensor<1x2xf32>
  %x = exec.tensor : tensor<2xf32>
  %at = exec.tensor : tensor<1xi64>
  // CHECK: %s = exec.state @rows : tensor<3x2xf32>
  %s = exec.state @rows : tensor<3x2xf32>
  // CHECK: %[[PART:.*]] = exec.view %s {offset = 16} : tensor<2xf32>
  %zero = exec.int 0
  %two = exec.int 2
  %no = exec.bool false
  %places = exec.optional_tensor_list [%at]
  %negated = exec.tensor : tensor<2xf32>
  %first = exec.tensor : tensor<3x2xf32>
  %second = exec.tensor : tensor<3x2xf32>
  // CHECK: exec.call "aten::neg.out"(%x) outs(%[[PART]])
  // CHECK-NEXT: exec.call "aten::index_put_"(%s, %places, %[[ROW]], %no) returns(%s)
  // CHECK-NEXT: exec.return
  exec.call "aten::neg.out"(%x) outs(%negated)
  exec.call "aten::select_scatter.out"(%s, %negated, %zero, %two) outs(%first)
  exec.call "aten::index_put.out"(%first, %places, %x, %no) outs(%second)
  exec.call "aten::copy_"(%s, %second, %no) returns(%s)
  exec.return inputs(%x, %at)
}

// An operand is not computed in the state that its own reader still reads.
// CHECK-LABEL: exec.method @both
exec.method @both {} {
  %x = exec.tensor : tensor<4xf32>
  %s = exec.state @state : tensor<4xf32>
  %one = exec.int 1
  %no = exec.bool false
  %negated = exec.tensor : tensor<4xf32>
  %next = exec.tensor : tensor<4xf32>
  // CHECK: exec.call "aten::neg.out"(%x) outs(%negated)
  // CHECK-NEXT: exec.call "aten::add.out"(%negated, %s, %one) outs(%s)
  // CHECK-NEXT: exec.return
  exec.call "aten::neg.out"(%x) outs(%negated)
  exec.call "aten::add.out"(%negated, %s, %one) outs(%next)
  exec.call "aten::copy_"(%s, %next, %no) returns(%s)
  exec.return inputs(%x)
}

// Not if the old value is still read, the kernel looks back, the next value is returned, or it was changed or computed otherwise.
// CHECK-LABEL: exec.method @old_value
exec.method @old_value {} {
  %x = exec.tensor : tensor<4xf32>
  %s = exec.state @state : tensor<4xf32>
  %one = exec.int 1
  %next = exec.tensor : tensor<4xf32>
  %no = exec.bool false
  %y = exec.tensor : tensor<4xf32>
  %returned = exec.tensor : tensor<4xf32>
  // CHECK: exec.call "aten::add.out"(%s, %x, %one) outs(%next)
  // CHECK-NEXT: exec.call "aten::mul.out"(%s, %next) outs(%y)
  // CHECK-NEXT: exec.call "aten::copy_"(%s, %next, %no) returns(%s)
  // CHECK-NEXT: exec.call "aten::cumsum.out"(%s, %no, %no) outs(%returned)
  // CHECK-NEXT: exec.call "aten::copy_"(%s, %returned, %no) returns(%s)
  // CHECK-NEXT: exec.call "aten::copy_"(%s, %x, %no) returns(%s)
  exec.call "aten::add.out"(%s, %x, %one) outs(%next)
  exec.call "aten::mul.out"(%s, %next) outs(%y)
  exec.call "aten::copy_"(%s, %next, %no) returns(%s)
  exec.call "aten::cumsum.out"(%s, %no, %no) outs(%returned)
  exec.call "aten::copy_"(%s, %returned, %no) returns(%s)
  exec.call "aten::copy_"(%s, %x, %no) returns(%s)
  exec.return inputs(%x) outputs(%y, %returned)
}

// A part that the text places is copied to its place.
// CHECK-LABEL: exec.method @part_of_state
exec.method @part_of_state {} {
  %x = exec.tensor : tensor<1x4xf32>
  %s = exec.state @scattered : tensor<8x4xf32>
  %zero = exec.int 0
  %two = exec.int 2
  %three = exec.int 3
  %one = exec.int 1
  %no = exec.bool false
  %next = exec.tensor : tensor<8x4xf32>
  // CHECK: %[[part:.*]] = exec.view %s
  // CHECK-SAME: tensor<1x4xf32>
  // CHECK: exec.call "aten::copy_"(%[[part]], %x, %{{.*}}) returns(%[[part]])
  // CHECK-NOT: exec.call
  exec.call "aten::slice_scatter.out"(%s, %x, %zero, %two, %three, %one) outs(%next)
  exec.call "aten::copy_"(%s, %next, %no) returns(%s)
  exec.return inputs(%x) outputs()
}

// The place that only the run knows is not what the slot is declared with.
// CHECK-LABEL: exec.method @computed_part_of_state
exec.method @computed_part_of_state {} {
  %x = exec.tensor : tensor<1x4xf32>
  %p = exec.tensor : tensor<i64>
  %s = exec.state @scattered : tensor<8x4xf32>
  %zero = exec.int 0
  %start = exec.int 0
  %end = exec.int 0
  %one = exec.int 1
  %no = exec.bool false
  %next = exec.tensor : tensor<8x4xf32>
  exec.call "aten::_local_scalar_dense"(%p) returns(%start)
  exec.call "executorch_prim::add.Scalar"(%start, %one) returns(%end)
  // CHECK: exec.call "aten::slice_scatter.out"(%s, %x, %zero, %start, %end, %one) outs(%s)
  // CHECK-NOT: exec.call
  exec.call "aten::slice_scatter.out"(%s, %x, %zero, %start, %end, %one) outs(%next)
  exec.call "aten::copy_"(%s, %next, %no) returns(%s)
  exec.return inputs(%x, %p) outputs()
}

// An input in the caller's memory is written over with its own next value only.
// PLAN-LABEL: exec.method @external {arenas = [16]
// CHECK-LABEL: exec.method @external {} {
exec.method @external {} {
  // CHECK-NEXT: %x = exec.external : tensor<4xf32>
  %x = exec.external : tensor<4xf32>
  // CHECK-NEXT: %y = exec.external : tensor<4xf32>
  %y = exec.external : tensor<4xf32>
  %new = exec.tensor : tensor<4xf32>
  %no = exec.bool false
  // CHECK-NEXT: %out = exec.tensor : tensor<4xf32>
  %out = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: exec.call "aten::relu.out"(%x) outs(%x)
  exec.call "aten::relu.out"(%x) outs(%new)
  exec.call "aten::copy_"(%x, %new, %no) returns(%x)
  // CHECK-NEXT: exec.call "aten::relu.out"(%y) outs(%out)
  exec.call "aten::relu.out"(%y) outs(%out)
  // CHECK-NEXT: exec.return inputs(%x, %y) outputs(%out)
  exec.return inputs(%x, %y) outputs(%out)
}

// What a round of a loop or one branch computes and reads for the last time; not what the next round or the other branch reads.
// PLAN-LABEL: exec.method @paths
// CHECK-LABEL: exec.method @paths {} {
exec.method @paths {} {
  %x = exec.tensor : tensor<4xf32>
  %c = exec.tensor : tensor<1xi1>
  %a = exec.tensor : tensor<4xf32>
  %no = exec.bool false
  // CHECK: %b = exec.reuse %a : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: %once = exec.tensor : tensor<4xf32>
  %once = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: %d = exec.tensor : tensor<4xf32>
  %d = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: %e = exec.tensor : tensor<4xf32>
  %e = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: %y = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  exec.call "aten::relu.out"(%x) outs(%once)
  exec.label @again
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%a) outs(%b)
  exec.call "aten::neg.out"(%once) outs(%d)
  exec.jump_false %c, @else
  exec.call "aten::neg.out"(%d) outs(%e)
  exec.call "aten::some.out"(%e, %b) outs(%y)
  exec.jump_false %no, @end
  exec.label @else
  exec.call "aten::some.out"(%d) outs(%y)
  exec.label @end
  exec.jump_false %c, @again
  exec.return inputs(%x, %c) outputs(%y)
}

// The next value of a state that only one branch copies there is computed there in this branch, not before it.
// PLAN-LABEL: exec.method @state_of_a_branch
// CHECK-LABEL: exec.method @state_of_a_branch {} {
exec.method @state_of_a_branch {} {
  %x = exec.tensor : tensor<4xf32>
  %c = exec.tensor : tensor<1xi1>
  %s = exec.state @of_branch : tensor<4xf32>
  %t = exec.state @of_branch_too : tensor<4xf32>
  %no = exec.bool false
  %new = exec.tensor : tensor<4xf32>
  %sure = exec.tensor : tensor<4xf32>
  // CHECK: exec.call "aten::relu.out"(%x) outs(%new)
  exec.call "aten::relu.out"(%x) outs(%new)
  exec.jump_false %c, @end
  // CHECK: exec.call "aten::copy_"(%s, %new, %no) returns(%s)
  exec.call "aten::copy_"(%s, %new, %no) returns(%s)
  // CHECK-NEXT: exec.call "aten::relu.out"(%x) outs(%t)
  exec.call "aten::relu.out"(%x) outs(%sure)
  exec.call "aten::copy_"(%t, %sure, %no) returns(%t)
  // CHECK-NEXT: exec.label @end
  exec.label @end
  exec.return inputs(%x, %c) outputs()
}

// A dynamic operand, if its sizes are those of the result whenever the program runs.
// PLAN-LABEL: exec.method @dynamic
// CHECK-LABEL: exec.method @dynamic {} {
exec.method @dynamic {} {
  %x = exec.tensor : tensor<?x4xf32, #edge.layout<sizes = [n in [0, 8], 4]>>
  %one = exec.int 1
  %a = exec.tensor : tensor<?x4xf32, #edge.layout<sizes = [n in [0, 8], 4]>>
  // CHECK: %b = exec.reuse %a
  %b = exec.tensor : tensor<?x4xf32, #edge.layout<sizes = [n in [0, 8], 4]>>
  // CHECK-NEXT: %c = exec.tensor
  %c = exec.tensor : tensor<?x4xf32, #edge.layout<sizes = [? in [0, 8], 4]>>
  // CHECK-NEXT: %y = exec.tensor
  %y = exec.tensor : tensor<?x4xf32, #edge.layout<sizes = [? in [0, 8], 4]>>
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::add.out"(%a, %x, %one) outs(%b)
  exec.call "aten::some.out"(%b) outs(%c)
  exec.call "aten::add.out"(%c, %x, %one) outs(%y)
  exec.return inputs(%x) outputs(%y)
}
