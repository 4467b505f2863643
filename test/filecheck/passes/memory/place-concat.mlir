// RUN: flambeau-opt %s -p place-concat | filecheck %s
// RUN: flambeau-opt %s -p place-concat,plan-memory,verify-plan | filecheck %s --check-prefix PLAN

// The result is declared first, its operands are its parts, and the call has nothing left to do.
// PLAN-LABEL: exec.method @rows {arenas = [
// CHECK-LABEL: exec.method @rows {} {
exec.method @rows {} {
  // CHECK-NEXT: %x = exec.tensor : tensor<2x4xf32>
  %x = exec.tensor : tensor<2x4xf32>
  // CHECK-NEXT: %y = exec.tensor : tensor<4x4xf32>
  // CHECK-NEXT: %a = exec.view %y : tensor<2x4xf32>
  %a = exec.tensor : tensor<2x4xf32>
  // CHECK-NEXT: %b = exec.view %y {offset = 32} : tensor<2x4xf32>
  %b = exec.tensor : tensor<2x4xf32>
  %list = exec.tensor_list [%a, %b]
  %zero = exec.int 0
  %y = exec.tensor : tensor<4x4xf32>
  // CHECK-NEXT: exec.call "aten::relu.out"(%x) outs(%a)
  // CHECK-NEXT: exec.call "aten::neg.out"(%x) outs(%b)
  // CHECK-NEXT: exec.return
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%x) outs(%b)
  exec.call "aten::cat.out"(%list, %zero) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// Dimensions of size 1 may stand before the one along which tensors are joined; a channels-last image is joined along its rows.
// CHECK-LABEL: exec.method @outermost
exec.method @outermost {} {
  %x = exec.tensor : tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>
  // CHECK: %y = exec.tensor : tensor<1x3x8x4xf32, #edge.layout<[0, 2, 3, 1]>>
  // CHECK-NEXT: %a = exec.view %y : tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>
  %a = exec.tensor : tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>
  // CHECK-NEXT: %b = exec.view %y {offset = 192} : tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>
  %b = exec.tensor : tensor<1x3x4x4xf32, #edge.layout<[0, 2, 3, 1]>>
  %list = exec.tensor_list [%a, %b]
  %two = exec.int 2
  %y = exec.tensor : tensor<1x3x8x4xf32, #edge.layout<[0, 2, 3, 1]>>
  // CHECK-NOT: aten::cat.out
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%x) outs(%b)
  exec.call "aten::cat.out"(%list, %two) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// A concatenation within one, and a stack: every part knows its final place.
// CHECK-LABEL: exec.method @nested
exec.method @nested {} {
  %x = exec.tensor : tensor<4xf32>
  %zero = exec.int 0
  // CHECK: %y = exec.tensor : tensor<3x4xf32>
  // CHECK-NEXT: %a = exec.view %y : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: %b = exec.view %y {offset = 16} : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  %list = exec.tensor_list [%a, %b]
  // CHECK-NEXT: %ab = exec.view %y : tensor<2x4xf32>
  %ab = exec.tensor : tensor<2x4xf32>
  // CHECK-NEXT: %c = exec.view %y {offset = 32} : tensor<1x4xf32>
  %c = exec.tensor : tensor<1x4xf32>
  %list2 = exec.tensor_list [%ab, %c]
  %y = exec.tensor : tensor<3x4xf32>
  // CHECK-NOT: aten::stack.out
  // CHECK-NOT: aten::cat.out
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%x) outs(%b)
  exec.call "aten::stack.out"(%list, %zero) outs(%ab)
  exec.call "aten::abs.out"(%ab) outs(%c)
  exec.call "aten::cat.out"(%list2, %zero) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// The storage behind a view moves with it.
// CHECK-LABEL: exec.method @views
exec.method @views {} {
  %x = exec.tensor : tensor<4xf32>
  // CHECK: %y = exec.tensor : tensor<2x4xf32>
  // CHECK-NEXT: %a = exec.view %y : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  // CHECK-NEXT: %row = exec.view %y : tensor<1x4xf32>
  %row = exec.view %a : tensor<1x4xf32>
  // CHECK-NEXT: %b = exec.view %y {offset = 16} : tensor<1x4xf32>
  %b = exec.tensor : tensor<1x4xf32>
  %list = exec.tensor_list [%row, %b]
  %zero = exec.int 0
  %y = exec.tensor : tensor<2x4xf32>
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%row) outs(%b)
  exec.call "aten::cat.out"(%list, %zero) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// An input, and a tensor that has its place already, are copied to where they belong.
// CHECK-LABEL: exec.method @copied
exec.method @copied {} {
  %x = exec.tensor : tensor<2x4xf32>
  %zero = exec.int 0
  // CHECK: %y = exec.tensor : tensor<4x4xf32>
  // CHECK-NEXT: %[[NONE:[0-9]+]] = exec.none
  // CHECK-NEXT: %[[PLACE:[0-9]+]] = exec.view %y : tensor<2x4xf32>
  %y = exec.tensor : tensor<4x4xf32>
  // CHECK: %a = exec.view %y {offset = 32} : tensor<2x4xf32>
  %a = exec.tensor : tensor<2x4xf32>
  %xa = exec.tensor_list [%x, %a]
  // CHECK: %twice = exec.tensor : tensor<4x4xf32>
  // CHECK-NEXT: %b = exec.view %twice : tensor<2x4xf32>
  // CHECK-NEXT: %[[NONE2:[0-9]+]] = exec.none
  // CHECK-NEXT: %[[SECOND:[0-9]+]] = exec.view %twice {offset = 32} : tensor<2x4xf32>
  %b = exec.tensor : tensor<2x4xf32>
  %bb = exec.tensor_list [%b, %b]
  %twice = exec.tensor : tensor<4x4xf32>
  // CHECK-NEXT: exec.call "aten::relu.out"(%x) outs(%a)
  // CHECK-NEXT: exec.call "aten::neg.out"(%x) outs(%b)
  // CHECK-NEXT: exec.call "aten::clone.out"(%x, %[[NONE]]) outs(%[[PLACE]])
  // CHECK-NEXT: exec.call "aten::clone.out"(%b, %[[NONE2]]) outs(%[[SECOND]])
  // CHECK-NEXT: exec.return
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%x) outs(%b)
  exec.call "aten::cat.out"(%xa, %zero) outs(%y)
  exec.call "aten::cat.out"(%bb, %zero) outs(%twice)
  exec.return inputs(%x) outputs(%y, %twice)
}

// Not along an inner dimension, of inputs alone, or of tensors that are placed elsewhere.
// CHECK-LABEL: exec.method @kept
exec.method @kept {} {
  %x = exec.tensor : tensor<2x4xf32>
  %a = exec.tensor : tensor<2x4xf32>
  %b = exec.tensor : tensor<2x4xf32>
  %zero = exec.int 0
  %one = exec.int 1
  %ab = exec.tensor_list [%a, %b]
  %wide = exec.tensor : tensor<2x8xf32>
  %xx = exec.tensor_list [%x, %x]
  %tall = exec.tensor : tensor<4x4xf32>
  // CHECK: %placed = exec.tensor : tensor<4x4xf32>
  %placed = exec.tensor : tensor<4x4xf32>
  %ba = exec.tensor_list [%b, %a]
  %again = exec.tensor : tensor<4x4xf32>
  // CHECK: exec.call "aten::cat.out"(%ab, %one) outs(%wide)
  // CHECK-NEXT: exec.call "aten::cat.out"(%xx, %zero) outs(%tall)
  // CHECK-NEXT: exec.call "aten::cat.out"(%ba, %zero) outs(%again)
  // CHECK-NEXT: exec.return
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%x) outs(%b)
  exec.call "aten::cat.out"(%ab, %one) outs(%wide)
  exec.call "aten::cat.out"(%xx, %zero) outs(%tall)
  exec.call "aten::cat.out"(%ab, %zero) outs(%placed)
  exec.call "aten::cat.out"(%ba, %zero) outs(%again)
  exec.return inputs(%x) outputs(%wide, %tall, %placed, %again)
}

// Not where keeping room for the whole result from its first part on would take more memory.
// CHECK-LABEL: exec.method @room
exec.method @room {} {
  %x = exec.tensor : tensor<1x4xf32>
  %skip = exec.tensor : tensor<1x4xf32>
  %zero = exec.int 0
  %big = exec.tensor : tensor<64x4xf32>
  %many = exec.tensor : tensor<48x4xf32>
  %list = exec.tensor_list [%skip, %many]
  %y = exec.tensor : tensor<49x4xf32>
  %z = exec.tensor : tensor<1x4xf32>
  // CHECK: exec.call "aten::cat.out"
  exec.call "aten::relu.out"(%x) outs(%skip)
  exec.call "aten::some.out"(%x) outs(%big)
  exec.call "aten::some.out"(%big) outs(%many)
  exec.call "aten::cat.out"(%list, %zero) outs(%y)
  exec.call "aten::some.out"(%y) outs(%z)
  exec.return inputs(%x) outputs(%z)
}

// In a loop, unless the next round reads the result before its parts are written.
// PLAN-LABEL: exec.method @loop
// CHECK-LABEL: exec.method @loop {} {
exec.method @loop {} {
  %x = exec.tensor : tensor<1x4xf32>
  %c = exec.tensor : tensor<1xi1>
  %zero = exec.int 0
  // CHECK: %first = exec.tensor : tensor<2x4xf32>
  // CHECK-NEXT: %a = exec.view %first : tensor<1x4xf32>
  %a = exec.tensor : tensor<1x4xf32>
  // CHECK-NEXT: %b = exec.view %first {offset = 16} : tensor<1x4xf32>
  %b = exec.tensor : tensor<1x4xf32>
  %ab = exec.tensor_list [%a, %b]
  %first = exec.tensor : tensor<2x4xf32>
  %d = exec.tensor : tensor<1x4xf32>
  %e = exec.tensor : tensor<1x4xf32>
  %de = exec.tensor_list [%d, %e]
  %carried = exec.tensor : tensor<2x4xf32>
  exec.call "aten::some.out"(%x) outs(%carried)
  exec.label @again
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%x) outs(%b)
  // CHECK-NOT: exec.call "aten::cat.out"(%ab
  exec.call "aten::cat.out"(%ab, %zero) outs(%first)
  exec.call "aten::some.out"(%first, %carried) outs(%d)
  exec.call "aten::some.out"(%carried) outs(%e)
  // CHECK: exec.call "aten::cat.out"(%de, %zero) outs(%carried)
  exec.call "aten::cat.out"(%de, %zero) outs(%carried)
  exec.jump_false %c, @again
  exec.return inputs(%x, %c) outputs(%carried)
}
