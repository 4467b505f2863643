// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{method @m does not end with exec.return}}
exec.method @m {} {
  %x = exec.tensor : tensor<2xf32>
}

// -----

exec.method @m {} {
  %x = exec.tensor : tensor<2xf32>
  exec.call "aten::relu.out"(%x) outs(%x)
  // expected-error @+1 {{%y is declared after exec.call: declare all slots before the instructions}}
  %y = exec.tensor : tensor<2xf32>
  exec.return
}

// -----

exec.method @m {} {
  // expected-error @+1 {{method @m may not contain arith.constant: only slots and instructions are allowed}}
  %c = arith.constant 1 : i64
  exec.return
}

// -----

exec.method @m {} {
  %x = exec.tensor : tensor<2xf32>
  // expected-error @+1 {{slot %z is not declared above}}
  exec.call "aten::relu.out"(%z) outs(%x)
  exec.return
}

// -----

exec.method @m {} {
  exec.label @l
  // expected-error @+1 {{method @m defines label @l twice}}
  exec.label @l
  exec.return
}

// -----

exec.method @m {} {
  %c = exec.bool true
  // expected-error @+1 {{jumps to @end, but method @m has no such label}}
  exec.jump_false %c, @end
  exec.return
}

// -----

exec.method @m {} {
  %x = exec.tensor : tensor<2xf64>
  // expected-error @+1 {{what %x holds must be tensor<1xf64>, got tensor<2xf64>}}
  exec.fail "it fails"(%x)
  exec.return
}

// -----

exec.method @m {} {
  %c = exec.tensor : tensor<f32>
  exec.label @end
  // expected-error @+1 {{the condition %c must be exec.bool or a tensor of i1, got tensor<f32>}}
  exec.jump_false %c, @end
  exec.return
}

// -----

exec.method @m {} {
  // expected-error @+1 {{%x is in arena 1, but its method has no `arenas`: declare them}}
  %x = exec.tensor {arena = 1, offset = 0} : tensor<2xf32>
  exec.return
}

// -----

exec.method @m {arenas = [64]} {
  // expected-error @+1 {{%x is in arena 2, but its method has 1 arena, counted from 1}}
  %x = exec.tensor {arena = 2, offset = 0} : tensor<2xf32>
  exec.return
}

// -----

exec.method @m {arenas = [64]} {
  // expected-error @+1 {{%x takes bytes 60 to 68 of arena 1, which has 64}}
  %x = exec.tensor {arena = 1, offset = 60} : tensor<2xf32>
  exec.return
}

// -----

exec.method @m {arenas = [64]} {
  // expected-error @+1 {{%x starts at byte 2 of arena 1, which is not a multiple of its element size 4}}
  %x = exec.tensor {arena = 1, offset = 2} : tensor<2xf32>
  exec.return
}

// -----

exec.method @m {arenas = [64]} {
  // expected-error @+1 {{%x has only one of arena and offset: give both, or neither to leave it unplanned}}
  %x = exec.tensor {arena = 1} : tensor<2xf32>
  exec.return
}

// -----

// A dynamic tensor takes its upper bound.
exec.method @m {arenas = [64]} {
  // expected-error @+1 {{%x takes bytes 0 to 96 of arena 1, which has 64}}
  %x = exec.tensor {arena = 1, offset = 0} : tensor<?x3xf32, #edge.layout<sizes = [? in [0, 8], 3]>>
  exec.return
}

// -----

exec.method @m {} {
  // expected-error @+1 {{%x cannot be a slot: dimension 0 of tensor<?x3xf32> has no maximum}}
  %x = exec.tensor : tensor<?x3xf32>
  exec.return
}

// -----

exec.method @m {} {
  // expected-error @+1 {{%x cannot be a slot: index is not an element type of a program's tensors}}
  %x = exec.tensor : tensor<3xindex>
  exec.return
}

// -----

exec.method @m {} {
  %x = exec.tensor : tensor<2xf32>
  // expected-error @+1 {{%v takes bytes 4 to 12 of %x, which has 8}}
  %v = exec.view %x {offset = 4} : tensor<2xf32>
  exec.return
}

// -----

exec.method @m {} {
  %x = exec.tensor : tensor<2xf32>
  // expected-error @+1 {{%v starts at byte 2 of %x, which is not a multiple of its element size 4}}
  %v = exec.view %x {offset = 2} : tensor<1xf32>
  exec.return
}

// -----

exec.method @m {} {
  %x = exec.tensor : tensor<2xf32>
  // expected-error @+1 {{%r takes bytes 0 to 16 of %x, which has 8}}
  %r = exec.reuse %x : tensor<4xf32>
  exec.return
}

// -----

ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<2xf32>
exec.method @m {} {
  %w = exec.constant @w : tensor<2xf32>
  // expected-error @+1 {{%r reuses the storage of constant %w, which must not be written}}
  %r = exec.reuse %w : tensor<2xf32>
  exec.return
}

// -----

ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<2xf32>
exec.method @m {} {
  %w = exec.constant @w : tensor<2xf32>
  // expected-error @+1 {{%v starts at byte 4 of constant %w, but .pte allows views of constants at byte 0 only}}
  %v = exec.view %w {offset = 4} : tensor<1xf32>
  exec.return
}

// -----

exec.method @m {} {
  // expected-error @+1 {{%w refers to @w, but the module has no ml_program.global @w}}
  %w = exec.constant @w : tensor<2xf32>
  exec.return
}

// -----

ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<3xf32>
exec.method @m {} {
  // expected-error @+1 {{%w is tensor<2xf32>, but global @w is tensor<3xf32>}}
  %w = exec.constant @w : tensor<2xf32>
  exec.return
}

// -----

ml_program.global private mutable @w : tensor<2xf32>
exec.method @m {} {
  // expected-error @+1 {{%w is a constant, but global @w is mutable: use exec.state}}
  %w = exec.constant @w : tensor<2xf32>
  exec.return
}

// -----

exec.method @m {} {
  %x = exec.external : tensor<2xf32>
  // expected-error @+1 {{%v lies in %x, whose memory is the caller's: give it memory of its own}}
  %v = exec.view %x : tensor<2xf32>
  exec.return inputs(%x)
}

// -----

ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<2xf32>
exec.method @m {} {
  // expected-error @+1 {{%w is a state, but global @w is a constant: use exec.constant}}
  %w = exec.state @w : tensor<2xf32>
  exec.return
}

// -----

exec.method @m {} {
  // expected-error @+1 {{the module has no delegate.partition or delegate.payload @d}}
  exec.delegate_call @d()
  exec.return
}

// -----

exec.method @m {} {
  // expected-error @+1 {{"add" is not an operator name: expected "namespace::name.overload"}}
  exec.call "add"()
  exec.return
}

// -----

exec.method @m {} {
  %x = exec.tensor : tensor<2xf32>
  %i = exec.tensor : tensor<2xi64>
  %l = exec.tensor_list [%i, %x]
  // expected-error @+1 {{aten::max.dim_max has 2 outs: it must return one exec.tensor_list of exactly these}}
  exec.call "aten::max.dim_max"(%x) outs(%x, %i) returns(%l)
  exec.return
}

// -----

"exec.method"() <{sym_name = "m"}> ({
  %x = exec.tensor : tensor<2xf32>
  %y = exec.tensor : tensor<2xf32>
  // expected-error @+1 {{aten::relu.out always returns its only out %y: leave out `returns`}}
  "exec.call"(%x, %y, %y) <{operator = "aten::relu.out", operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> ()
  exec.return
}) : () -> ()

// -----

exec.method @m {} {
  %x = exec.tensor : tensor<2xf32>
  %b = exec.bool true
  // expected-error @+1 {{moves tensor<2xf32> to !exec.bool: both slots must be of the same kind}}
  exec.move %x, %b
  exec.return
}

// -----

// expected-error @+1 {{method @m has 1 inputs but 2 input names}}
exec.method @m {input_names = ["a", "b"]} {
  %x = exec.tensor : tensor<2xf32>
  exec.return inputs(%x)
}

// -----

exec.method @m {} {
  // expected-error @+1 {{arena is given twice}}
  %x = exec.tensor {arena = 1, arena = 1} : tensor<2xf32>
  exec.return
}

// -----

exec.method @m {} {
  %x = exec.double "huge"
  // expected-error @+1 {{expected a number, "inf", "-inf" or "nan", not 'huge'}}
  exec.return
}

// -----

"exec.method"() <{sym_name = "m"}> ({
  %x = exec.tensor : tensor<2xf32>
  // expected-error @+1 {{%l has 1 tensors, but 2 entries are marked present}}
  %l = "exec.optional_tensor_list"(%x) <{present = array<i1: true, true>}> : (tensor<2xf32>) -> !exec.optional_tensor_list
  exec.return
}) : () -> ()

// -----

exec.method @m {} {
  %x = exec.tensor : tensor<2xf32>
  // expected-error @+1 {{is not an operator name: expected "namespace::name.overload"}}
  exec.call "aten::tänh.out"(%x) outs(%x)
  exec.return
}

// -----

exec.method @m {} {
  %n = exec.int 0
  %a = exec.int 0
  // expected-error @+1 {{exec.evaluate computes s0 + s1 without a slot for s1}}
  exec.evaluate ins(s0 in [1, 4] = %n) outs(s0 + (s1 in [1, 4]) = %a)
  exec.return
}

// -----

exec.method @m {} {
  %n = exec.int 0
  // expected-error @+1 {{exec.evaluate takes expressions over symbols, got 4}}
  exec.evaluate ins() outs(4 = %n)
  exec.return
}

// -----

"exec.method"() <{sym_name = "m"}> ({
  %n = "exec.int"() <{value = 0 : i64}> : () -> !exec.int
  // expected-error @+1 {{exec.evaluate needs one slot for each expression}}
  "exec.evaluate"(%n) <{known = [], computed = [], operandSegmentSizes = array<i32: 1, 0>}> : (!exec.int) -> ()
  "exec.return"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
}) : () -> ()

// -----

// expected-error @+1 {{method @m has 1 arenas but 2 names of banks}}
exec.method @m {arenas = [64], banks = ["sram", "dram"]} {
  exec.return
}

// -----

// expected-error @+1 {{method @m: a bank's name is an identifier of C, not '2nd'}}
exec.method @m {arenas = [64], banks = ["2nd"]} {
  exec.return
}
