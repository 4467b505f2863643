// RUN: flambeau-opt %s -p coalesce-slots | filecheck %s

// A value that is copied and read no more is computed where it was copied to, by a kernel that may write over its operand.
// CHECK-LABEL: exec.method @loop
// CHECK:         exec.label @head
// CHECK-NEXT:    exec.call "aten::neg.out"(%carried) outs(%carried)
// CHECK-NEXT:    exec.call "executorch_prim::add.Scalar"(%i, %one) returns(%i)
// CHECK-NEXT:    exec.call "executorch_prim::ge.Scalar"(%i, %n) returns(%last)
// CHECK-NEXT:    exec.jump_false %last, @head
exec.method @loop {input_names = ["x"], output_names = ["y"]} {
  %x = exec.tensor : tensor<3xf32>
  %carried = exec.tensor : tensor<3xf32>
  %next = exec.tensor : tensor<3xf32>
  %none = exec.none
  %zero = exec.int 0
  %one = exec.int 1
  %n = exec.int 4
  %i = exec.int 0
  %j = exec.int 0
  %last = exec.bool false
  exec.call "aten::clone.out"(%x, %none) outs(%carried)
  exec.move %zero, %i
  exec.label @head
  exec.call "aten::neg.out"(%carried) outs(%next)
  exec.call "executorch_prim::add.Scalar"(%i, %one) returns(%j)
  exec.move %j, %i
  exec.call "aten::clone.out"(%next, %none) outs(%carried)
  exec.call "executorch_prim::ge.Scalar"(%i, %n) returns(%last)
  exec.jump_false %last, @head
  exec.return inputs(%x) outputs(%carried)
}

// A kernel that still reads its operand while it writes, a slot that holds something else by then, an input and a second result keep theirs.
// CHECK-LABEL: exec.method @kept
// CHECK:         exec.call "aten::flip.out"(%a, %dims) outs(%b)
// CHECK-NEXT:    exec.call "aten::clone.out"(%b, %none) outs(%a)
// CHECK-NEXT:    exec.call "aten::clone.out"(%x, %none) outs(%c)
// CHECK-NEXT:    exec.call "aten::neg.out"(%c) outs(%c)
// CHECK-NEXT:    exec.call "aten::add.out"(%c, %b, %one) outs(%d)
// CHECK-NEXT:    exec.call "aten::clone.out"(%d, %none) outs(%e)
exec.method @kept {input_names = ["x"], output_names = ["y", "z", "w"]} {
  %x = exec.tensor : tensor<3xf32>
  %a = exec.tensor : tensor<3xf32>
  %b = exec.tensor : tensor<3xf32>
  %c = exec.tensor : tensor<3xf32>
  %d = exec.tensor : tensor<3xf32>
  %e = exec.tensor : tensor<3xf32>
  %none = exec.none
  %zero = exec.int 0
  %one = exec.int 1
  %dims = exec.int_list [%zero]
  exec.call "aten::neg.out"(%x) outs(%a)
  exec.call "aten::flip.out"(%a, %dims) outs(%b)
  exec.call "aten::clone.out"(%b, %none) outs(%a)
  exec.call "aten::clone.out"(%x, %none) outs(%c)
  exec.call "aten::neg.out"(%c) outs(%c)
  exec.call "aten::add.out"(%c, %b, %one) outs(%d)
  exec.call "aten::clone.out"(%d, %none) outs(%e)
  exec.return inputs(%x) outputs(%a, %d, %e)
}

// A state is read where it is, unless it gets its next value first; a copy of what nothing has written yet goes.
// CHECK-LABEL: exec.method @states
// CHECK-NOT:     "aten::clone.out"(%empty
// CHECK:         exec.call "aten::add.out"(%s, %x, %one) outs(%sum)
// CHECK-NEXT:    exec.call "aten::clone.out"(%s, %none) outs(%old)
// CHECK-NEXT:    exec.call "aten::copy_"(%s, %sum, %one) returns(%s)
// CHECK-NEXT:    exec.call "aten::mul.out"(%old, %sum) outs(%all)
ml_program.global private mutable @s(#flambeau.blob<"s", "0000000000000000">) : tensor<3xf32>
exec.method @states {input_names = ["x"], output_names = ["y"]} {
  %s = exec.state @s : tensor<3xf32>
  %x = exec.tensor : tensor<3xf32>
  %read = exec.tensor : tensor<3xf32>
  %old = exec.tensor : tensor<3xf32>
  %sum = exec.tensor : tensor<3xf32>
  %empty = exec.tensor : tensor<3xf32>
  %all = exec.tensor : tensor<3xf32>
  %none = exec.none
  %one = exec.int 1
  exec.call "aten::clone.out"(%empty, %none) outs(%all)
  exec.call "aten::clone.out"(%s, %none) outs(%read)
  exec.call "aten::add.out"(%read, %x, %one) outs(%sum)
  exec.call "aten::clone.out"(%s, %none) outs(%old)
  exec.call "aten::copy_"(%s, %sum, %one) returns(%s)
  exec.call "aten::mul.out"(%old, %sum) outs(%all)
  exec.return inputs(%x) outputs(%all)
}
