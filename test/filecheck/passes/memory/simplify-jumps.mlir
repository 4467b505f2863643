// RUN: flambeau-opt %s -p simplify-jumps | filecheck %s

// A jump to a jump goes where that goes; a jump to what comes next, what no path reaches, and labels that nothing names are gone.
// CHECK-LABEL: exec.method @jumps
// CHECK:         exec.label @head
// CHECK-NEXT:    exec.call "aten::neg.out"(%x) outs(%y)
// CHECK-NEXT:    exec.jump_false %c, @head
// CHECK-NEXT:    exec.call "aten::abs.out"(%y) outs(%z)
// CHECK-NEXT:    exec.return
exec.method @jumps {input_names = ["x", "c"], output_names = ["z"]} {
  %x = exec.tensor : tensor<3xf32>
  %c = exec.tensor : tensor<i1>
  %y = exec.tensor : tensor<3xf32>
  %z = exec.tensor : tensor<3xf32>
  %false = exec.bool false
  exec.label @head
  exec.label @unused
  exec.call "aten::neg.out"(%x) outs(%y)
  exec.jump_false %c, @edge
  exec.jump_false %false, @rest
  exec.call "aten::abs.out"(%y) outs(%x)
  exec.label @edge
  exec.jump_false %false, @head
  exec.label @rest
  exec.call "aten::abs.out"(%y) outs(%z)
  exec.return inputs(%x, %c) outputs(%z)
}

// A condition that something writes is no sure jump; the jump over what only fails stays one.
// CHECK-LABEL: exec.method @kept
// CHECK:         exec.jump_false %c, @next
// CHECK:         exec.jump_false %b, @over
// CHECK:         exec.label @next
// CHECK-NEXT:    exec.jump_false %false, @end
// CHECK-NEXT:    exec.label @over
exec.method @kept {input_names = ["x", "c"], output_names = ["y"]} {
  %x = exec.tensor : tensor<3xf32>
  %c = exec.tensor : tensor<i1>
  %y = exec.tensor : tensor<3xf32>
  %b = exec.bool false
  %n = exec.int 1
  %false = exec.bool false
  exec.call "aten::neg.out"(%x) outs(%y)
  exec.call "executorch_prim::eq.Scalar"(%n, %n) returns(%b)
  exec.jump_false %c, @next
  exec.jump_false %b, @over
  exec.call "aten::abs.out"(%x) outs(%y)
  exec.label @next
  exec.jump_false %false, @end
  exec.label @over
  exec.call "aten::abs.out"(%x) outs(%y)
  exec.label @end
  exec.return inputs(%x, %c) outputs(%y)
}
