// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p verify-plan | filecheck %s

// A chain whose buffers take turns, with a reuse, a view and a part of a concatenation: nothing is wrong with it.
// CHECK-LABEL: exec.method @right
exec.method @right {arenas = [64]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %a = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  %b = exec.reuse %a : tensor<4xf32>
  %v = exec.view %b : tensor<2x2xf32>
  %cat = exec.tensor {arena = 1, offset = 32} : tensor<8xf32>
  %left = exec.view %cat : tensor<4xf32>
  %right = exec.view %cat {offset = 16} : tensor<4xf32>
  %y = exec.tensor {arena = 1, offset = 0} : tensor<8xf32>
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%a) outs(%b)
  exec.call "aten::abs.out"(%v) outs(%left)
  exec.call "aten::exp.out"(%b) outs(%right)
  exec.call "aten::sin.out"(%cat) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// -----

// expected-error @+1 {{verify-plan: method @m is not planned: run plan-memory first}}
exec.method @m {} {
  exec.return
}

// -----

exec.method @m {arenas = [64]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %a = exec.tensor {arena = 1, offset = 8} : tensor<4xf32>
  %y = exec.tensor {arena = 1, offset = 32} : tensor<4xf32>
  %z = exec.tensor {arena = 1, offset = 48} : tensor<4xf32>
  %one = exec.int 1
  // expected-note @+1 {{instruction 0 (aten::relu.out) is this one}}
  exec.call "aten::relu.out"(%z) outs(%a)
  // expected-error @+1 {{verify-plan: method @m: instruction 1 (aten::add.out) reads %x, over whose bytes instruction 0 (aten::relu.out) wrote through %a}}
  exec.call "aten::add.out"(%x, %a, %one) outs(%y)
  exec.return inputs(%x, %z) outputs(%y)
}

// -----

// Operations of a model, whose places follow the message.
exec.method @m {arenas = [64]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %a = exec.tensor {arena = 1, offset = 8} : tensor<4xf32> loc("first"("m.py":3:1))
  %y = exec.tensor {arena = 1, offset = 32} : tensor<4xf32>
  %z = exec.tensor {arena = 1, offset = 48} : tensor<4xf32>
  // expected-note @+1 {{instruction 0 (aten::relu.out) is this one}}
  exec.call "aten::relu.out"(%z) outs(%a) loc("first"("m.py":3:1))
  // expected-error @+1 {{verify-plan: method @m: instruction 1 (aten::exp.out) reads %x, over whose bytes instruction 0 (aten::relu.out) wrote through %a}}
  exec.call "aten::exp.out"(%x) outs(%y) loc("second"("m.py":7:1))
  exec.return inputs(%x, %z) outputs(%y)
}

// -----

// expected-note @+1 {{method @m: at its end, output %c is lost: not every path writes all of it}}
exec.method @m {arenas = [64]} {
  %a = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %b = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  %c = exec.tensor {arena = 1, offset = 32} : tensor<4xf32>
  // expected-error @+1 {{verify-plan: method @m: instruction 0 (aten::relu.out) reads %a, which nothing has written (and 1 more)}}
  exec.call "aten::relu.out"(%a) outs(%b)
  exec.return outputs(%c)
}

// -----

exec.method @m {arenas = [64]} {
  %x = exec.tensor {arena = 1, offset = 32} : tensor<4xf32>
  %cat = exec.tensor {arena = 1, offset = 0} : tensor<8xf32>
  %left = exec.view %cat : tensor<4xf32>
  exec.call "aten::relu.out"(%x) outs(%left)
  // expected-error @+1 {{verify-plan: method @m: instruction 1 (aten::relu.out) reads %cat, not every part of which has been written}}
  exec.call "aten::relu.out"(%cat) outs(%cat)
  exec.return inputs(%x)
}

// -----

// A reuse ends the content whose storage it takes.
exec.method @m {arenas = [64]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %r = exec.reuse %x : tensor<4xf32>
  %y = exec.tensor {arena = 1, offset = 32} : tensor<4xf32>
  // expected-note @+1 {{instruction 0 (aten::neg.out) is this one}}
  exec.call "aten::neg.out"(%x) outs(%r)
  // expected-error @+1 {{verify-plan: method @m: instruction 1 (aten::relu.out) reads %x, over whose bytes instruction 0 (aten::neg.out) wrote through %r}}
  exec.call "aten::relu.out"(%x) outs(%y)
  exec.return inputs(%x) outputs(%r, %y)
}

// -----

exec.method @m {arenas = [64]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %y = exec.tensor {arena = 1, offset = 8} : tensor<4xf32>
  // expected-error @+1 {{verify-plan: method @m: instruction 0 (aten::neg.out) writes %y over bytes of %x, which it reads, without an exec.reuse of just these}}
  exec.call "aten::neg.out"(%x) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// -----

// A reuse of the source does not make room over another part of it.
exec.method @m {arenas = [64]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %v = exec.view %x {offset = 8} : tensor<2xf32>
  %r = exec.reuse %x : tensor<4xf32>
  // expected-error @+1 {{verify-plan: method @m: instruction 0 (aten::neg.out) writes %r over bytes of %v, which it reads, without an exec.reuse of just these}}
  exec.call "aten::neg.out"(%v) outs(%r)
  exec.return inputs(%x) outputs(%r)
}

// -----

// A matrix product reads its arguments many times.
exec.method @m {arenas = [64]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<2x2xf32>
  %y = exec.tensor {arena = 1, offset = 16} : tensor<2x2xf32>
  %r = exec.reuse %x : tensor<2x2xf32>
  // expected-error @+1 {{verify-plan: method @m: instruction 0 (aten::mm.out) writes %r over %x as it reads it, which its kernel does not allow}}
  exec.call "aten::mm.out"(%x, %y) outs(%r)
  exec.return inputs(%x, %y) outputs(%r)
}

// -----

// Values that share a name are told apart as they print.
exec.method @m {arenas = [64]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %x_1 = exec.reuse %x : tensor<4xf32>
  // expected-error @+1 {{writes %x_1 over %x as it reads it, and there is no kernel aten::rellu.out; did you mean 'aten::relu.out'?}}
  exec.call "aten::rellu.out"(%x) outs(%x_1)
  exec.return inputs(%x) outputs(%x_1)
}

// -----

// expected-error @+1 {{verify-plan: method @m: at its end, output %y is lost: instruction 1 (aten::exp.out) wrote through %t over its bytes}}
exec.method @m {arenas = [64]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %y = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  %t = exec.tensor {arena = 1, offset = 16} : tensor<2xf32>
  exec.call "aten::neg.out"(%x) outs(%y)
  // expected-note @+1 {{instruction 1 (aten::exp.out) is this one}}
  exec.call "aten::exp.out"(%x) outs(%t)
  exec.return inputs(%x) outputs(%y)
}

// -----

ml_program.global private mutable @s : tensor<4xf32>
// expected-error @+1 {{verify-plan: method @m: at its end, state %s is lost: the caller wrote through %x over its bytes}}
exec.method @m {arenas = [64]} {
  %s = exec.state @s {arena = 1, offset = 0} : tensor<4xf32>
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  exec.return inputs(%x)
}

// -----

ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<4xf32>
exec.method @m {arenas = []} {
  %w = exec.constant @w : tensor<4xf32>
  %x = exec.tensor : tensor<4xf32>
  // expected-error @+1 {{verify-plan: method @m: instruction 0 (aten::neg.out) writes %w, which is a constant}}
  exec.call "aten::neg.out"(%x) outs(%w)
  exec.return inputs(%x)
}

// -----

exec.method @m {arenas = []} {
  %x = exec.tensor : tensor<4xf32>
  %t = exec.tensor : tensor<4xf32>
  // expected-error @+1 {{verify-plan: method @m: instruction 0 (aten::neg.out) writes %t, which has no place in an arena}}
  exec.call "aten::neg.out"(%x) outs(%t)
  exec.return inputs(%x)
}

// -----

// Inputs and outputs whose memory the caller gives need no place.
// CHECK-LABEL: exec.method @given
exec.method @given {arenas = []} {
  %x = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  exec.call "aten::neg.out"(%x) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// -----

// Two branches may use the same bytes, and the value they yield is the one that the taken branch moved.
// CHECK-LABEL: exec.method @branches
exec.method @branches {arenas = [128]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %c = exec.tensor {arena = 1, offset = 16} : tensor<i1>
  %t = exec.tensor {arena = 1, offset = 32} : tensor<4xf32>
  %e = exec.tensor {arena = 1, offset = 32} : tensor<8xf32>
  %f = exec.tensor {arena = 1, offset = 64} : tensor<4xf32>
  %r = exec.tensor {arena = 1, offset = 96} : tensor<4xf32>
  %y = exec.tensor {arena = 1, offset = 112} : tensor<4xf32>
  %no = exec.bool false
  exec.call "aten::isnan.out"(%x) outs(%c)
  exec.jump_false %c, @else
  exec.call "aten::neg.out"(%x) outs(%t)
  exec.move %t, %r
  exec.jump_false %no, @end
  exec.label @else
  exec.call "aten::cat.out"(%x) outs(%e)
  exec.call "aten::neg.out"(%e) outs(%f)
  exec.move %f, %r
  exec.label @end
  exec.call "aten::neg.out"(%r) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// -----

// The value of the first conditional lives on while the second one's branch takes its bytes: sibling conditionals must not share memory then.
exec.method @siblings {arenas = [128]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %c = exec.tensor {arena = 1, offset = 16} : tensor<i1>
  %t = exec.tensor {arena = 1, offset = 32} : tensor<4xf32>
  %r = exec.tensor {arena = 1, offset = 96} : tensor<4xf32>
  %u = exec.tensor {arena = 1, offset = 32} : tensor<4xf32>
  %s = exec.tensor {arena = 1, offset = 112} : tensor<4xf32>
  %y = exec.tensor {arena = 1, offset = 64} : tensor<4xf32>
  %no = exec.bool false
  %one = exec.int 1
  exec.jump_false %c, @else1
  exec.call "aten::neg.out"(%x) outs(%t)
  exec.move %t, %r
  exec.jump_false %no, @end1
  exec.label @else1
  exec.move %x, %r
  exec.label @end1
  // expected-note @+1 {{instruction 5 (aten::exp.out) is this one}}
  exec.call "aten::exp.out"(%x) outs(%u)
  exec.move %u, %s
  exec.label @end2
  exec.call "aten::neg.out"(%s) outs(%y)
  // expected-error @+1 {{verify-plan: method @siblings: instruction 8 (aten::add.out) reads %r, over whose bytes instruction 5 (aten::exp.out) wrote through %u}}
  exec.call "aten::add.out"(%r, %s, %one) outs(%y)
  exec.return inputs(%x, %c) outputs(%y)
}

// -----

// Only the path through both conditions overwrites what is read afterwards.
exec.method @nested {arenas = [128]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %c = exec.tensor {arena = 1, offset = 16} : tensor<i1>
  %d = exec.tensor {arena = 1, offset = 20} : tensor<i1>
  %a = exec.tensor {arena = 1, offset = 32} : tensor<4xf32>
  %t = exec.tensor {arena = 1, offset = 40} : tensor<4xf32>
  %y = exec.tensor {arena = 1, offset = 64} : tensor<4xf32>
  exec.call "aten::sin.out"(%x) outs(%a)
  exec.jump_false %c, @end
  exec.jump_false %d, @end
  // expected-note @+1 {{instruction 3 (aten::exp.out) is this one}}
  exec.call "aten::exp.out"(%x) outs(%t)
  exec.label @end
  // expected-error @+1 {{verify-plan: method @nested: instruction 4 (aten::neg.out) reads %a, over whose bytes instruction 3 (aten::exp.out) wrote through %t}}
  exec.call "aten::neg.out"(%a) outs(%y)
  exec.return inputs(%x, %c, %d) outputs(%y)
}

// -----

// What a loop reads again must outlive its body.
exec.method @loop {arenas = [128]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %a = exec.tensor {arena = 1, offset = 32} : tensor<4xf32>
  %c = exec.tensor {arena = 1, offset = 0} : tensor<4xi1>
  exec.label @again
  // expected-error @+1 {{verify-plan: method @loop: instruction 0 (aten::sin.out) reads %x, over whose bytes instruction 1 (aten::lt.out) wrote through %c}}
  exec.call "aten::sin.out"(%x) outs(%a)
  // expected-note @+1 {{instruction 1 (aten::lt.out) is this one}}
  exec.call "aten::lt.out"(%a) outs(%c)
  exec.jump_false %c, @again
  exec.return inputs(%x) outputs(%a)
}

// -----

// Methods have one state where they name one global, so it has one place.
ml_program.global private mutable @a : tensor<4xf32>
ml_program.global private mutable @b : tensor<4xf32>
ml_program.global private mutable @c : tensor<4xf32>
exec.method @one {arenas = [16, 64]} {
  %a = exec.state @a {arena = 2, offset = 0} : tensor<4xf32>
  %b = exec.state @b {arena = 1, offset = 0} : tensor<4xf32>
  exec.return outputs(%a, %b)
}
exec.method @two {arenas = [32, 64]} {
  // expected-error @+1 {{verify-plan: state @a lies at byte 0 of arena 2 in @one and at byte 32 of arena 2 in @two: neither method would see what the other writes (and 3 more)}}
  %a = exec.state @a {arena = 2, offset = 32} : tensor<4xf32>
  // expected-note @+1 {{state @b lies at byte 0 of arena 1 in @one and at byte 0 of arena 1 in @two: the first arena is each method's own}}
  %b = exec.state @b {arena = 1, offset = 0} : tensor<4xf32>
  // expected-note @+1 {{the states @a and @c have bytes of arena 2 in common}}
  %c = exec.state @c {arena = 2, offset = 8} : tensor<4xf32>
  // expected-note @+1 {{%t of @two lies at byte 4 of arena 2, over the state @a of @one}}
  %t = exec.tensor {arena = 2, offset = 4} : tensor<1xf32>
  exec.return inputs(%t) outputs(%a, %b, %c)
}

// -----

// What a loop writes entry by entry must be left alone by the rest of its body.
exec.method @entries {arenas = [64]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<2xf32>
  %all = exec.tensor {arena = 1, offset = 16} : tensor<3x2xf32>
  %t = exec.tensor {arena = 1, offset = 32} : tensor<2xf32>
  %i = exec.int 0
  %one = exec.int 1
  %three = exec.int 3
  %ended = exec.bool false
  exec.label @again
  // expected-note @+1 {{instruction 0 (aten::sin.out) is this one}}
  exec.call "aten::sin.out"(%x) outs(%t)
  // expected-error @+1 {{verify-plan: method @entries: instruction 1 (executorch_prim::et_copy_index.tensor) reads %all, over whose bytes instruction 0 (aten::sin.out) wrote through %t}}
  exec.call "executorch_prim::et_copy_index.tensor"(%all, %x, %i)
  exec.call "executorch_prim::add.Scalar"(%i, %one) returns(%i)
  exec.call "executorch_prim::ge.Scalar"(%i, %three) returns(%ended)
  exec.jump_false %ended, @again
  exec.return inputs(%x) outputs(%all)
}

// -----

// What methods share lies in one bank.
ml_program.global private mutable @a : tensor<4xf32>
exec.method @one {arenas = [0, 16], banks = ["sram", "sram"]} {
  %a = exec.state @a {arena = 2, offset = 0} : tensor<4xf32>
  exec.return outputs(%a)
}
exec.method @two {arenas = [0, 16], banks = ["sram", "dram"]} {
  // expected-error @+1 {{verify-plan: state @a lies in the bank sram in @one and in the bank dram in @two: they share it}}
  %a = exec.state @a {arena = 2, offset = 0} : tensor<4xf32>
  exec.return outputs(%a)
}
