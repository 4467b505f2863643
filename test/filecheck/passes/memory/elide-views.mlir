// RUN: flambeau-opt %s -p elide-views | filecheck %s
// RUN: flambeau-opt %s -p 'elide-views{target=flambeau}' | filecheck %s --check-prefix FUSED
// RUN: flambeau-opt %s -p elide-views,plan-memory,verify-plan | filecheck %s --check-prefix PLAN
// RUN: flambeau-opt %s -p 'elide-views{target=flambeau},plan-memory,verify-plan' | filecheck %s --check-prefix PLAN

ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<2x8xf32>
ml_program.global private mutable @cache : tensor<4x8xf32>

// Reshapes, and copies of the same dtype and layout; a chain ends in the slot that has the storage.
// Slots that nobody mentions any more go too.
// PLAN-LABEL: exec.method @reshapes
// CHECK-LABEL: exec.method @reshapes {} {
exec.method @reshapes {} {
  // CHECK-NEXT: %x = exec.tensor : tensor<2x1x8xf32>
  %x = exec.tensor : tensor<2x1x8xf32>
  // CHECK-NEXT: %a = exec.tensor : tensor<2x1x8xf32>
  %a = exec.tensor : tensor<2x1x8xf32>
  %four = exec.int 4
  %minus = exec.int -1
  %size = exec.int_list [%four, %minus]
  %b = exec.tensor : tensor<4x4xf32>
  %zero = exec.int 0
  %c = exec.tensor : tensor<1x4x4xf32>
  %none = exec.none
  // CHECK-NEXT: %d = exec.view %a : tensor<1x4x4xf32>
  %d = exec.tensor : tensor<1x4x4xf32>
  // CHECK-NEXT: %y = exec.tensor : tensor<1x4x4xf32>
  %y = exec.tensor : tensor<1x4x4xf32>
  // CHECK-NEXT: exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::relu.out"(%x) outs(%a)
  // CHECK-NEXT: exec.call "aten::neg.out"(%d) outs(%y)
  exec.call "aten::view_copy.out"(%a, %size) outs(%b)
  exec.call "aten::unsqueeze_copy.out"(%b, %zero) outs(%c)
  exec.call "aten::clone.out"(%c, %none) outs(%d)
  exec.call "aten::neg.out"(%d) outs(%y)
  // CHECK-NEXT: exec.return inputs(%x) outputs(%y)
  exec.return inputs(%x) outputs(%y)
}

// Bytes that lie together: rows, not columns; and each part of a split.
// CHECK-LABEL: exec.method @slices
exec.method @slices {} {
  %x = exec.tensor : tensor<4x8xf32>
  %zero = exec.int 0
  %one = exec.int 1
  %two = exec.int 2
  %four = exec.int 4
  // CHECK: %rows = exec.view %x {offset = 32} : tensor<2x8xf32>
  %rows = exec.tensor : tensor<2x8xf32>
  // CHECK-NEXT: %columns = exec.tensor : tensor<4x2xf32>
  %columns = exec.tensor : tensor<4x2xf32>
  // CHECK-NEXT: %last = exec.view %x {offset = 96} : tensor<8xf32>
  %last = exec.tensor : tensor<8xf32>
  %minus = exec.int -1
  // CHECK: %upper = exec.view %x : tensor<2x8xf32>
  %upper = exec.tensor : tensor<2x8xf32>
  // CHECK-NEXT: %lower = exec.view %x {offset = 64} : tensor<2x8xf32>
  %lower = exec.tensor : tensor<2x8xf32>
  %parts = exec.tensor_list [%upper, %lower]
  %every_other = exec.tensor : tensor<2x8xf32>
  // CHECK: exec.call "aten::slice_copy.Tensor_out"(%x, %one, %one, %two, %one) outs(%columns)
  // CHECK-NEXT: exec.call "aten::slice_copy.Tensor_out"(%x, %zero, %zero, %four, %two) outs(%every_other)
  // CHECK-NEXT: exec.return
  exec.call "aten::slice_copy.Tensor_out"(%x, %zero, %one, %minus, %one) outs(%rows)
  exec.call "aten::slice_copy.Tensor_out"(%x, %one, %one, %two, %one) outs(%columns)
  exec.call "aten::select_copy.int_out"(%x, %zero, %minus) outs(%last)
  exec.call "aten::split_copy.Tensor_out"(%x, %two, %zero) outs(%parts)
  exec.call "aten::slice_copy.Tensor_out"(%x, %zero, %zero, %four, %two) outs(%every_other)
  exec.return inputs(%x) outputs(%rows, %columns, %last, %upper, %lower, %every_other)
}

// Permutations of dimensions of size 1 move nothing; nor does one whose result has the permuted dim order already.
// CHECK-LABEL: exec.method @permutations
exec.method @permutations {} {
  %x = exec.tensor : tensor<1x4x8xf32>
  %zero = exec.int 0
  %one = exec.int 1
  %two = exec.int 2
  // CHECK: %a = exec.view %x : tensor<4x1x8xf32>
  %a = exec.tensor : tensor<4x1x8xf32>
  // CHECK-NEXT: %b = exec.tensor : tensor<1x8x4xf32>
  %b = exec.tensor : tensor<1x8x4xf32>
  // CHECK-NEXT: %c = exec.view %x : tensor<1x8x4xf32, #edge.layout<[0, 2, 1]>>
  %c = exec.tensor : tensor<1x8x4xf32, #edge.layout<[0, 2, 1]>>
  // CHECK: exec.call "aten::transpose_copy.int_out"(%x, %one, %two) outs(%b)
  // CHECK-NEXT: exec.return
  exec.call "aten::transpose_copy.int_out"(%x, %zero, %one) outs(%a)
  exec.call "aten::transpose_copy.int_out"(%x, %one, %two) outs(%b)
  exec.call "aten::transpose_copy.int_out"(%x, %one, %two) outs(%c)
  exec.return inputs(%x) outputs(%a, %b, %c)
}

// A constant can be viewed from its start, but is not handed to the caller.
// CHECK-LABEL: exec.method @constants
exec.method @constants {} {
  %w = exec.constant @w : tensor<2x8xf32>
  %sixteen = exec.int 16
  %size = exec.int_list [%sixteen]
  // CHECK: %a = exec.view %w : tensor<16xf32>
  %a = exec.tensor : tensor<16xf32>
  // CHECK-NEXT: %b = exec.tensor : tensor<16xf32>
  %b = exec.tensor : tensor<16xf32>
  %zero = exec.int 0
  %one = exec.int 1
  // CHECK: %row = exec.tensor : tensor<8xf32>
  %row = exec.tensor : tensor<8xf32>
  %y = exec.tensor : tensor<16xf32>
  %z = exec.tensor : tensor<8xf32>
  // CHECK: exec.call "aten::view_copy.out"(%w, %size) outs(%b)
  // CHECK-NEXT: exec.call "aten::select_copy.int_out"(%w, %zero, %one) outs(%row)
  // CHECK-NEXT: exec.call "aten::neg.out"(%a) outs(%y)
  exec.call "aten::view_copy.out"(%w, %size) outs(%a)
  exec.call "aten::view_copy.out"(%w, %size) outs(%b)
  exec.call "aten::select_copy.int_out"(%w, %zero, %one) outs(%row)
  exec.call "aten::neg.out"(%a) outs(%y)
  exec.call "aten::neg.out"(%row) outs(%z)
  exec.return outputs(%b, %y, %z)
}

// State is viewed as long as nothing is written to it before the view is last read.
// CHECK-LABEL: exec.method @state
exec.method @state {} {
  %x = exec.tensor : tensor<4x8xf32>
  %cache = exec.state @cache : tensor<4x8xf32>
  %none = exec.none
  // CHECK: %before = exec.view %cache : tensor<4x8xf32>
  %before = exec.tensor : tensor<4x8xf32>
  // CHECK-NEXT: %across = exec.tensor : tensor<4x8xf32>
  %across = exec.tensor : tensor<4x8xf32>
  // CHECK-NEXT: %given = exec.tensor : tensor<4x8xf32>
  %given = exec.tensor : tensor<4x8xf32>
  %no = exec.bool false
  %one = exec.int 1
  %y = exec.tensor : tensor<4x8xf32>
  %z = exec.tensor : tensor<4x8xf32>
  // CHECK: exec.call "aten::clone.out"(%cache, %none) outs(%across)
  // CHECK-NEXT: exec.call "aten::neg.out"(%before) outs(%y)
  // CHECK-NEXT: exec.call "aten::copy_"(%cache, %x, %no) returns(%cache)
  // CHECK-NEXT: exec.call "aten::add.out"(%across, %y, %one) outs(%z)
  // CHECK-NEXT: exec.call "aten::clone.out"(%cache, %none) outs(%given)
  exec.call "aten::clone.out"(%cache, %none) outs(%before)
  exec.call "aten::clone.out"(%cache, %none) outs(%across)
  exec.call "aten::neg.out"(%before) outs(%y)
  exec.call "aten::copy_"(%cache, %x, %no) returns(%cache)
  exec.call "aten::add.out"(%across, %y, %one) outs(%z)
  exec.call "aten::clone.out"(%cache, %none) outs(%given)
  exec.return inputs(%x) outputs(%z, %given)
}

// A view of an input is fine as an output, and two outputs may lie in one place.
// CHECK-LABEL: exec.method @outputs
exec.method @outputs {} {
  %x = exec.tensor : tensor<2x2xf32>
  %four = exec.int 4
  %size = exec.int_list [%four]
  // CHECK: %a = exec.view %x : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: %b = exec.view %x : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: exec.return inputs(%x) outputs(%a, %b)
  exec.call "aten::view_copy.out"(%x, %size) outs(%a)
  exec.call "aten::view_copy.out"(%x, %size) outs(%b)
  exec.return inputs(%x) outputs(%a, %b)
}

// A small part is copied out of a large tensor that would stay alive for it when memory is short.
// CHECK-LABEL: exec.method @large
exec.method @large {} {
  %x = exec.tensor : tensor<2xf32>
  %big = exec.tensor : tensor<64x2xf32>
  %zero = exec.int 0
  // CHECK: %part = exec.tensor : tensor<2xf32>
  %part = exec.tensor : tensor<2xf32>
  %big2 = exec.tensor : tensor<64x2xf32>
  %y = exec.tensor : tensor<2xf32>
  %one = exec.int 1
  exec.call "aten::expand_copy.out"(%x, %zero, %zero) outs(%big)
  // CHECK: exec.call "aten::select_copy.int_out"
  exec.call "aten::select_copy.int_out"(%big, %zero, %zero) outs(%part)
  exec.call "aten::expand_copy.out"(%part, %zero, %zero) outs(%big2)
  exec.call "aten::sum.out"(%big2, %part) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// A dynamic view shares the memory, and gets its sizes when the program runs; what the caller takes stays a copy.
// CHECK-LABEL: exec.method @dynamic
exec.method @dynamic {} {
  %x = exec.tensor : tensor<?x4xf32, #edge.layout<sizes = [? in [0, 8], 4]>>
  %minus = exec.int -1
  %size = exec.int_list [%minus]
  // CHECK: %y = exec.view %x : tensor<?xf32, #edge.layout<sizes = [? in [0, 32]]>>
  %y = exec.tensor : tensor<?xf32, #edge.layout<sizes = [? in [0, 32]]>>
  %z = exec.tensor : tensor<?xf32, #edge.layout<sizes = [? in [0, 32]]>>
  %out = exec.tensor : tensor<?xf32, #edge.layout<sizes = [? in [0, 32]]>>
  // CHECK: exec.call "executorch_prim::et_view.default"(%x, %size) returns(%y)
  // CHECK-NEXT: exec.call "aten::neg.out"(%y) outs(%z)
  // CHECK-NEXT: exec.call "aten::view_copy.out"(%x, %size) outs(%out)
  exec.call "aten::view_copy.out"(%x, %size) outs(%y)
  exec.call "aten::neg.out"(%y) outs(%z)
  exec.call "aten::view_copy.out"(%x, %size) outs(%out)
  exec.return inputs(%x) outputs(%z, %out)
}

// Where the operand is written before the last read, the copy stays.
// CHECK-LABEL: exec.method @dynamic_and_written
exec.method @dynamic_and_written {} {
  %x = exec.tensor : tensor<?x4xf32, #edge.layout<sizes = [? in [0, 8], 4]>>
  %minus = exec.int -1
  %size = exec.int_list [%minus]
  %y = exec.tensor : tensor<?xf32, #edge.layout<sizes = [? in [0, 32]]>>
  %z = exec.tensor : tensor<?xf32, #edge.layout<sizes = [? in [0, 32]]>>
  // CHECK: exec.call "aten::view_copy.out"(%x, %size) outs(%y)
  exec.call "aten::view_copy.out"(%x, %size) outs(%y)
  exec.call "aten::abs.out"(%x) outs(%x)
  exec.call "aten::neg.out"(%y) outs(%z)
  exec.return inputs(%x) outputs(%z)
}

// A copy that is written again: its operand stands for it where nobody reads the operand afterwards.
// PLAN-LABEL: exec.method @written_again
// CHECK-LABEL: exec.method @written_again {} {
exec.method @written_again {} {
  // CHECK-NEXT: %x = exec.tensor
  %x = exec.tensor : tensor<4xf32>
  %none = exec.none
  %no = exec.bool false
  // CHECK: %a = exec.tensor : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: %c = exec.tensor : tensor<4xf32>
  %c = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: %y = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: exec.call "aten::relu.out"(%x) outs(%a)
  // CHECK-NEXT: exec.call "aten::copy_"(%a, %x, %no) returns(%a)
  // CHECK-NEXT: exec.call "aten::clone.out"(%a, %none) outs(%c)
  // CHECK-NEXT: exec.call "aten::copy_"(%c, %x, %no) returns(%c)
  // CHECK-NEXT: exec.call "aten::add.out"(%a, %c, %no) outs(%y)
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::clone.out"(%a, %none) outs(%b)
  exec.call "aten::copy_"(%b, %x, %no) returns(%b)
  exec.call "aten::clone.out"(%b, %none) outs(%c)
  exec.call "aten::copy_"(%c, %x, %no) returns(%c)
  exec.call "aten::add.out"(%b, %c, %no) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// In a branch, as everywhere.
// PLAN-LABEL: exec.method @branch
// CHECK-LABEL: exec.method @branch {} {
exec.method @branch {} {
  %x = exec.tensor : tensor<2x2xf32>
  %c = exec.tensor : tensor<1xi1>
  %none = exec.none
  // CHECK: %a = exec.view %x : tensor<2x2xf32>
  %a = exec.tensor : tensor<2x2xf32>
  %no = exec.bool false
  // CHECK: %y = exec.tensor : tensor<2x2xf32>
  %y = exec.tensor : tensor<2x2xf32>
  // CHECK-NEXT: exec.jump_false %c, @else
  // CHECK-NEXT: exec.call "aten::relu.out"(%a) outs(%y)
  exec.jump_false %c, @else
  exec.call "aten::clone.out"(%x, %none) outs(%a)
  exec.call "aten::relu.out"(%a) outs(%y)
  exec.jump_false %no, @end
  exec.label @else
  exec.call "aten::neg.out"(%x) outs(%y)
  exec.label @end
  exec.return inputs(%x, %c) outputs(%y)
}

// What a round of a loop computes, copies and reads.
// PLAN-LABEL: exec.method @round
// CHECK-LABEL: exec.method @round {} {
exec.method @round {} {
  %x = exec.tensor : tensor<2x2xf32>
  %c = exec.tensor : tensor<1xi1>
  %none = exec.none
  %a = exec.tensor : tensor<2x2xf32>
  // CHECK: %b = exec.view %a : tensor<2x2xf32>
  %b = exec.tensor : tensor<2x2xf32>
  // CHECK-NEXT: %y = exec.tensor : tensor<2x2xf32>
  %y = exec.tensor : tensor<2x2xf32>
  // CHECK-NEXT: exec.label @again
  exec.label @again
  // CHECK-NEXT: exec.call "aten::relu.out"(%x) outs(%a)
  // CHECK-NEXT: exec.call "aten::neg.out"(%b) outs(%y)
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::clone.out"(%a, %none) outs(%b)
  exec.call "aten::neg.out"(%b) outs(%y)
  exec.jump_false %c, @again
  exec.return inputs(%x, %c) outputs(%y)
}

// Not what the next round reads, nor what is read after the loop: %x has its next value by then.
// PLAN-LABEL: exec.method @loop
// CHECK-LABEL: exec.method @loop {} {
exec.method @loop {} {
  %x = exec.tensor : tensor<2x2xf32>
  %c = exec.tensor : tensor<1xi1>
  %none = exec.none
  // CHECK: %before = exec.tensor : tensor<2x2xf32>
  %before = exec.tensor : tensor<2x2xf32>
  // CHECK-NEXT: %y = exec.tensor : tensor<2x2xf32>
  %y = exec.tensor : tensor<2x2xf32>
  exec.call "aten::neg.out"(%x) outs(%before)
  exec.label @again
  exec.call "aten::relu.out"(%before) outs(%x)
  // CHECK: exec.call "aten::clone.out"(%x, %none) outs(%before)
  // CHECK-NEXT: exec.call "aten::clone.out"(%x, %none) outs(%y)
  exec.call "aten::clone.out"(%x, %none) outs(%before)
  exec.call "aten::clone.out"(%x, %none) outs(%y)
  exec.jump_false %c, @again
  exec.return inputs(%x, %c) outputs(%y)
}

// Fused attention reads and writes heads where they lie: the permutations around it vanish. ExecuTorch has no such kernel.
// CHECK-LABEL: exec.method @attention
// FUSED-LABEL: exec.method @attention {} {
exec.method @attention {} {
  // FUSED-NEXT: %x = exec.tensor : tensor<1x16x2x8xf32>
  %x = exec.tensor : tensor<1x16x2x8xf32>
  %zero = exec.int 0
  %one = exec.int 1
  %two = exec.int 2
  %three = exec.int 3
  %dims = exec.int_list [%zero, %two, %one, %three]
  // FUSED: %q = exec.view %x : tensor<1x2x16x8xf32, #edge.layout<[0, 2, 1, 3]>>
  // CHECK: %q = exec.tensor : tensor<1x2x16x8xf32>
  %q = exec.tensor : tensor<1x2x16x8xf32>
  %none = exec.none
  // FUSED: %no = exec.bool false
  %no = exec.bool false
  %scale = exec.double 0.125
  // FUSED: %o = exec.tensor : tensor<1x2x16x8xf32, #edge.layout<[0, 2, 1, 3]>>
  %o = exec.tensor : tensor<1x2x16x8xf32>
  // FUSED-NEXT: %p = exec.view %o : tensor<1x16x2x8xf32>
  %p = exec.tensor : tensor<1x16x2x8xf32>
  // FUSED-NEXT: %y = exec.tensor : tensor<1x16x2x8xf32>
  %y = exec.tensor : tensor<1x16x2x8xf32>
  // FUSED-NEXT: exec.call "flambeau::scaled_dot_product_attention.out"(%q, %q, %q, %none, %no, %scale, %no) outs(%o)
  // FUSED-NEXT: exec.call "aten::neg.out"(%p) outs(%y)
  exec.call "aten::permute_copy.out"(%x, %dims) outs(%q)
  exec.call "flambeau::scaled_dot_product_attention.out"(%q, %q, %q, %none, %no, %scale, %no) outs(%o)
  exec.call "aten::permute_copy.out"(%o, %dims) outs(%p)
  exec.call "aten::neg.out"(%p) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// Not if another kernel reads the permuted tensor, or the last dimension moves.
// FUSED-LABEL: exec.method @other_readers
exec.method @other_readers {} {
  %x = exec.tensor : tensor<1x16x2x8xf32>
  %zero = exec.int 0
  %one = exec.int 1
  %two = exec.int 2
  %three = exec.int 3
  %dims = exec.int_list [%zero, %two, %one, %three]
  %none = exec.none
  %no = exec.bool false
  %scale = exec.double 0.125
  // FUSED: %q = exec.tensor : tensor<1x2x16x8xf32>
  %q = exec.tensor : tensor<1x2x16x8xf32>
  // FUSED-NEXT: %k = exec.tensor : tensor<1x2x8x16xf32>
  %k = exec.tensor : tensor<1x2x8x16xf32>
  %o = exec.tensor : tensor<1x2x16x8xf32>
  %y = exec.tensor : tensor<1x2x16x8xf32>
  %z = exec.tensor : tensor<1x2x8x16xf32>
  // FUSED: exec.call "aten::permute_copy.out"(%x, %dims) outs(%q)
  // FUSED: exec.call "aten::transpose_copy.int_out"(%o, %two, %three) outs(%k)
  exec.call "aten::permute_copy.out"(%x, %dims) outs(%q)
  exec.call "aten::neg.out"(%q) outs(%y)
  exec.call "flambeau::scaled_dot_product_attention.out"(%q, %q, %q, %none, %no, %scale, %no) outs(%o)
  exec.call "aten::transpose_copy.int_out"(%o, %two, %three) outs(%k)
  exec.call "flambeau::scaled_dot_product_attention.out"(%k, %k, %k, %none, %no, %scale, %no) outs(%z)
  exec.return inputs(%x) outputs(%y, %z)
}
