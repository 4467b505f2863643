// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p 'plan-memory{banks=tcm:80,sram:192,dram:2000},verify-plan' | filecheck %s
// RUN: flambeau-opt %s --split-input-file -p 'plan-memory{banks=sram:8K,dram},verify-plan' | filecheck %s --check-prefix WHOLE
// RUN: not flambeau-opt %s -p 'plan-memory{banks=tcm,tcm}' 2>&1 | filecheck %s --check-prefix TWICE
// RUN: not flambeau-opt %s -p 'plan-memory{banks=tcm:4X}' 2>&1 | filecheck %s --check-prefix SIZE
// RUN: not flambeau-opt %s -p 'plan-memory{banks=tcm arena=2}' 2>&1 | filecheck %s --check-prefix ARENA

// TWICE: error: {{.*}}the bank 'tcm' is given twice
// SIZE: <pipeline>:1:19: error: a bank is an identifier of C, perhaps with its size in bytes, K or M, as sram:512K; not 'tcm:4X'
// ARENA: error: {{.*}}banks fill the arenas from 1 on: give either banks or arena=2

// %a and %b have the most traffic, four times their bytes each; the first of them lies in the bank that has room for one.
// CHECK-LABEL: exec.method @traffic {arenas = [64, 128, 0], banks = ["tcm", "sram", "dram"],
// CHECK-NEXT:    %x = exec.tensor {arena = 2,
// CHECK-NEXT:    %a = exec.tensor {arena = 1, offset = 0}
// CHECK-NEXT:    %b = exec.tensor {arena = 2,
// CHECK-NEXT:    %y = exec.tensor {arena = 2,
// WHOLE-LABEL: exec.method @traffic {arenas = [192, 0], banks = ["sram", "dram"],
// WHOLE-NOT:     arena = 2
// WHOLE:         exec.return
exec.method @traffic {} {
  %x = exec.tensor : tensor<16xf32> loc("first.linear")
  %a = exec.tensor : tensor<16xf32>
  %b = exec.tensor : tensor<16xf32>
  %y = exec.tensor : tensor<16xf32>
  %one = exec.int 1
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::add.out"(%a, %x, %one) outs(%b)
  exec.call "aten::mul.out"(%b, %b) outs(%a)
  exec.call "aten::mul.out"(%a, %b) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// -----

// A bank's bytes serve one tensor after the other: the whole chain lies in it, and what lives through the chain does not.
// CHECK-LABEL: exec.method @lifetimes {arenas = [80, 128, 0],
// CHECK-NEXT:    %x = exec.tensor {arena = 2,
// CHECK-NEXT:    %i = exec.tensor {arena = 1, offset = [[HIGH:[0-9]+]]}
// CHECK-NEXT:    %a = exec.tensor {arena = 1, offset = [[LOW:[0-9]+]]}
// CHECK-NEXT:    %b = exec.tensor {arena = 1, offset = [[HIGH]]}
// CHECK-NEXT:    %c = exec.tensor {arena = 1, offset = [[LOW]]}
// CHECK-NEXT:    %y = exec.tensor {arena = 1, offset = [[HIGH]]}
// CHECK-NEXT:    %z = exec.tensor {arena = 2,
exec.method @lifetimes {} {
  %x = exec.tensor : tensor<13xf32>
  %i = exec.tensor : tensor<8xf32>
  %a = exec.tensor : tensor<10xf32>
  %b = exec.tensor : tensor<8xf32>
  %c = exec.tensor : tensor<10xf32>
  %y = exec.tensor : tensor<8xf32>
  %z = exec.tensor : tensor<13xf32>
  exec.call "aten::relu.out"(%i) outs(%a)
  exec.call "aten::relu.out"(%a) outs(%b)
  exec.call "aten::relu.out"(%b) outs(%c)
  exec.call "aten::relu.out"(%c) outs(%y)
  exec.call "aten::relu.out"(%x) outs(%z)
  exec.return inputs(%x, %i) outputs(%y, %z)
}

// -----

// State lies in the last bank, in an arena of its own after the banks' where a program has several methods, also if just one uses it.
// CHECK-LABEL: exec.method @one {arenas = [16, 0, 0, 32], banks = ["tcm", "sram", "dram", "dram"],
// CHECK-NEXT:    %s = exec.state @s {arena = 4, offset = 0}
// CHECK-NEXT:    %own = exec.state @own {arena = 4, offset = 16}
// CHECK-LABEL: exec.method @other {arenas = [16, 0, 0, 32], banks = ["tcm", "sram", "dram", "dram"],
// CHECK-NEXT:    %s = exec.state @s {arena = 4, offset = 0}
ml_program.global private mutable @s : tensor<4xf32>
ml_program.global private mutable @own : tensor<4xf32>
exec.method @one {} {
  %s = exec.state @s : tensor<4xf32>
  %own = exec.state @own : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  exec.call "aten::mul.out"(%s, %own) outs(%b)
  exec.return outputs(%b)
}
exec.method @other {} {
  %s = exec.state @s : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  exec.call "aten::neg.out"(%s) outs(%b)
  exec.return outputs(%b)
}

// -----

// What fits no bank is in one error, with the bytes that the banks have free while it lives, and a size that would do.
ml_program.global private mutable @many : tensor<99xf32>
// expected-error @+1 {{plan-memory: 2 tensors have no room in the banks of @full: dram=8400 would do}}
exec.method @full {} {
  %many = exec.state @many : tensor<99xf32>
  // expected-note @+1 {{%x has 4000 bytes; while it lives, 80 of the 80 bytes of tcm and 192 of the 192 bytes of sram and 1600 of the 2000 bytes of dram are free}}
  %x = exec.tensor : tensor<1000xf32>
  // expected-note @+1 {{%y has 4000 bytes; while it lives, 64 of the 80 bytes of tcm}}
  %y = exec.tensor : tensor<1000xf32>
  %z = exec.tensor : tensor<4xf32>
  exec.call "aten::relu.out"(%x) outs(%y)
  exec.call "aten::relu.out"(%y) outs(%z)
  exec.return inputs(%x) outputs(%z)
}
