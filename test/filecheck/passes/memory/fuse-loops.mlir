// RUN: flambeau-opt %s -p fuse-loops | filecheck %s

ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<4xf32>
ml_program.global private mutable @state : tensor<4xf32>

// A chain is one loop, which neither writes nor reads what only it uses. The last call keeps its number.
// CHECK-LABEL: exec.method @chain
exec.method @chain {} {
  %x = exec.tensor : tensor<4xf32>
  %w = exec.constant @w : tensor<4xf32>
  %one = exec.int 1
  %a = exec.tensor : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  %c = exec.reuse %b : tensor<4xf32>
  // CHECK:      cpu.loop(%x, %w, %one) outs(%c) {"flambeau.step" = 2 : i64} do {
  // CHECK-NEXT: ^bb0(%x_1: tensor<4xf32>, %w_1: tensor<4xf32>, %one_1: !exec.int):
  // CHECK-NEXT:   %a_1 = cpu.element "aten::mul.out"(%x_1, %w_1)
  // CHECK-NEXT:   %b_1 = cpu.element "aten::add.out"(%a_1, %x_1, %one_1)
  // CHECK-NEXT:   %c_1 = cpu.element "aten::relu.out"(%b_1)
  // CHECK-NEXT:   cpu.yield %c_1 : tensor<4xf32>
  // CHECK-NEXT: }
  // CHECK-NEXT: exec.return
  exec.call "aten::mul.out"(%x, %w) outs(%a)
  exec.call "aten::add.out"(%a, %x, %one) outs(%b)
  exec.call "aten::relu.out"(%b) outs(%c)
  exec.return inputs(%x) outputs(%c)
}

// What others read is written: other instructions, the caller, and state.
// CHECK-LABEL: exec.method @readers
exec.method @readers {} {
  %x = exec.tensor : tensor<4xf32>
  %square = exec.tensor : tensor<2x2xf32>
  %s = exec.state @state : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  %view = exec.view %a : tensor<2x2xf32>
  %b = exec.tensor : tensor<4xf32>
  // CHECK:      cpu.loop(%x) outs(%a, %s, %b)
  // CHECK:        cpu.yield %a_1, %s_1, %b_1
  // CHECK:      exec.call "aten::mm.out"(%view, %view) outs(%square) {"flambeau.step" = 3 : i64}
  exec.call "aten::exp.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%a) outs(%s)
  exec.call "aten::abs.out"(%s) outs(%b)
  exec.call "aten::mm.out"(%view, %view) outs(%square)
  exec.return inputs(%x) outputs(%square, %b)
}

// Calls between which others stand are one loop, after these, if they read and write other memory. The second product reads the sum, and
// writes what the sum must not read any more.
// CHECK-LABEL: exec.method @between
exec.method @between {} {
  %x = exec.tensor : tensor<2x2xf32>
  %y = exec.tensor : tensor<2x2xf32>
  %one = exec.int 1
  %a = exec.tensor : tensor<2x2xf32>
  %b = exec.tensor : tensor<2x2xf32>
  %c = exec.tensor : tensor<2x2xf32>
  %d = exec.tensor : tensor<2x2xf32>
  %e = exec.tensor : tensor<2x2xf32>
  // CHECK:      exec.call "aten::mm.out"(%y, %y) outs(%b)
  // CHECK-NEXT: cpu.loop(%x, %b, %one) outs(%d)
  // CHECK:      exec.call "aten::mm.out"(%d, %d) outs(%y)
  // CHECK-NEXT: exec.call "aten::neg.out"(%y) outs(%e)
  exec.call "aten::exp.out"(%x) outs(%a)
  exec.call "aten::mm.out"(%y, %y) outs(%b)
  exec.call "aten::abs.out"(%a) outs(%c)
  exec.call "aten::add.out"(%b, %c, %one) outs(%d)
  exec.call "aten::mm.out"(%d, %d) outs(%y)
  exec.call "aten::neg.out"(%y) outs(%e)
  exec.return inputs(%x, %y) outputs(%e)
}

// Rows, columns and single elements are broadcast; the loop is over the largest. Results of other sizes are other loops.
// CHECK-LABEL: exec.method @sizes
exec.method @sizes {} {
  %x = exec.tensor : tensor<2x4xf32>
  %row = exec.tensor : tensor<4xf32>
  %column = exec.tensor : tensor<2x1xf32>
  %one = exec.int 1
  %a = exec.tensor : tensor<2x4xf32>
  %b = exec.tensor : tensor<4xf32>
  %c = exec.tensor : tensor<2x4xf32>
  %d = exec.tensor : tensor<4xf32>
  // CHECK:      cpu.loop(%x, %row, %column, %one) outs(%c)
  // CHECK:      cpu.loop(%row) outs(%d)
  exec.call "aten::mul.out"(%x, %row) outs(%a)
  exec.call "aten::exp.out"(%row) outs(%b)
  exec.call "aten::add.out"(%a, %column, %one) outs(%c)
  exec.call "aten::neg.out"(%b) outs(%d)
  exec.return inputs(%x, %row, %column) outputs(%c, %d)
}

// An out in the memory of an operand that has other elements at the same positions is not of the same loop: planned memory may be used again.
// CHECK-LABEL: exec.method @overlap
exec.method @overlap {arenas = [64]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %a = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  %b = exec.tensor {arena = 1, offset = 8} : tensor<4xf32>
  // CHECK:      exec.call "aten::exp.out"(%x) outs(%a)
  // CHECK-NEXT: exec.call "aten::neg.out"(%a) outs(%b)
  exec.call "aten::exp.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%a) outs(%b)
  exec.return inputs(%x) outputs(%b)
}

// No loop: over jumps, of numbers that the run computes, of other types and dynamic sizes, of operators or arguments without a function.
// CHECK-LABEL: exec.method @none
// CHECK-NOT: cpu.loop
exec.method @none {} {
  %x = exec.tensor : tensor<4xf32>
  %n = exec.double 1.0
  %three = exec.double 3.5
  %more = exec.bool true
  %a = exec.tensor : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  %i = exec.tensor : tensor<4xi32>
  %j = exec.tensor : tensor<4xi32>
  %k = exec.tensor : tensor<4xi32>
  %d = exec.tensor : tensor<?xf32, #edge.layout<sizes = [? in [0, 4]]>>
  %e = exec.tensor : tensor<?xf32, #edge.layout<sizes = [? in [0, 4]]>>
  %f = exec.tensor : tensor<?xf32, #edge.layout<sizes = [? in [0, 4]]>>
  exec.call "aten::exp.out"(%x) outs(%a)
  exec.label @again
  exec.call "aten::mul.Scalar_out"(%a, %n) outs(%a)
  exec.call "executorch_prim::add.Scalar"(%n, %three) returns(%n)
  exec.jump_false %more, @again
  exec.call "aten::neg.out"(%a) outs(%b)
  exec.call "aten::pow.Tensor_Scalar_out"(%b, %three) outs(%b)
  exec.call "aten::abs.out"(%i) outs(%j)
  exec.call "aten::neg.out"(%j) outs(%k)
  exec.call "aten::abs.out"(%d) outs(%e)
  exec.call "aten::neg.out"(%e) outs(%f)
  exec.return inputs(%x, %i, %d) outputs(%b, %k, %f)
}

// Calls whose results nobody reads leave nothing.
// CHECK-LABEL: exec.method @unread
exec.method @unread {} {
  %x = exec.tensor : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  // CHECK:      %b = exec.tensor
  // CHECK-NEXT: exec.return
  exec.call "aten::exp.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%a) outs(%b)
  exec.return inputs(%x) outputs(%x)
}
