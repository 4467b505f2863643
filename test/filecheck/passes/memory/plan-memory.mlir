// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p plan-memory,verify-plan | filecheck %s
// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p 'plan-memory{algorithm=naive alignment=64 arena=2},verify-plan' | filecheck %s --check-prefix NAIVE
// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p 'plan-memory,plan-memory{algorithm=greedy},verify-plan' | filecheck %s --check-prefix GREEDY
// RUN: not flambeau-opt %s -p 'plan-memory{alignment=24}' 2>&1 | filecheck %s --check-prefix ALIGNMENT
// RUN: not flambeau-opt %s -p 'plan-memory{algorithm=magic}' 2>&1 | filecheck %s --check-prefix ALGORITHM
// RUN: not flambeau-opt %s -p 'plan-memory{arena=0}' 2>&1 | filecheck %s --check-prefix ARENA

// ALIGNMENT: error: alignment must be a power of two, got 24
// ALGORITHM: error: there is no planning algorithm 'magic'; there are best, first-fit, best-fit, greedy, naive
// ARENA: <pipeline>:1:19: error: arenas count from 1, got 0

// Two places suffice for a chain.
// CHECK-LABEL: exec.method @chain {arenas = [64], "flambeau.arena_lower_bound" = 64 : i64, "flambeau.arena_algorithm" = "first-fit by size"} {
// NAIVE-LABEL: exec.method @chain {arenas = [0, 256], "flambeau.arena_lower_bound" = 128 : i64, "flambeau.arena_algorithm" = "naive"} {
// GREEDY-LABEL: exec.method @chain {arenas = [64], "flambeau.arena_lower_bound" = 64 : i64, "flambeau.arena_algorithm" = "greedy"} {
exec.method @chain {} {
  // CHECK-NEXT: %x = exec.tensor {arena = 1, offset = [[FIRST:[0-9]+]]} : tensor<7xf32>
  // NAIVE-NEXT: %x = exec.tensor {arena = 2, offset = 0} : tensor<7xf32>
  %x = exec.tensor : tensor<7xf32>
  // CHECK-NEXT: %a = exec.tensor {arena = 1, offset = [[SECOND:[0-9]+]]} : tensor<7xf32>
  // NAIVE-NEXT: %a = exec.tensor {arena = 2, offset = 64} : tensor<7xf32>
  %a = exec.tensor : tensor<7xf32>
  // CHECK-NEXT: %b = exec.tensor {arena = 1, offset = [[FIRST]]} : tensor<7xf32>
  %b = exec.tensor : tensor<7xf32>
  // CHECK-NEXT: %c = exec.tensor {arena = 1, offset = [[SECOND]]} : tensor<7xf32>
  %c = exec.tensor : tensor<7xf32>
  // CHECK-NEXT: %nowhere = exec.tensor : tensor<7xf32>
  %nowhere = exec.tensor : tensor<7xf32>
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::relu.out"(%a) outs(%b)
  exec.call "aten::relu.out"(%b) outs(%c)
  exec.return inputs(%x) outputs(%c)
}

// -----

// State lives always, views and reuses with their source, inputs until they are read, outputs from when they are written.
// CHECK-LABEL: exec.method @lifetimes {arenas = [80], "flambeau.arena_lower_bound" = 80
ml_program.global private mutable @state : tensor<4xf32>
ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<4xf32>
exec.method @lifetimes {} {
  %x = exec.tensor : tensor<8xf32>
  // CHECK: %s = exec.state @state {arena = 1, offset = {{[0-9]+}}} : tensor<4xf32>
  %s = exec.state @state : tensor<4xf32>
  // CHECK-NEXT: %w = exec.constant @w : tensor<4xf32>
  %w = exec.constant @w : tensor<4xf32>
  // CHECK-NEXT: %a = exec.tensor {arena = 1, offset = {{[0-9]+}}} : tensor<8xf32>
  %a = exec.tensor : tensor<8xf32>
  // CHECK-NEXT: %v = exec.view %a {offset = 16} : tensor<4xf32>
  %v = exec.view %a {offset = 16} : tensor<4xf32>
  // CHECK-NEXT: %r = exec.reuse %v : tensor<4xf32>
  %r = exec.reuse %v : tensor<4xf32>
  %no = exec.bool false
  %y = exec.tensor : tensor<4xf32>
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::mul.out"(%v, %w) outs(%r)
  exec.call "aten::mul.out"(%r, %s) outs(%y)
  exec.call "aten::copy_"(%s, %y, %no) returns(%s)
  exec.return inputs(%x) outputs(%y)
}

// -----

// What a loop reads again, and what is read after it, lives through it; what each round writes first does not.
// CHECK-LABEL: exec.method @loop {arenas = [80], "flambeau.arena_lower_bound" = 80
exec.method @loop {} {
  // CHECK-NEXT: %x = exec.tensor {arena = 1, offset = {{[0-9]+}}} : tensor<4xf32>
  %x = exec.tensor : tensor<4xf32>
  %c = exec.tensor : tensor<1xi1>
  // CHECK: %a = exec.tensor {arena = 1, offset = [[A:[0-9]+]]} : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  // CHECK: %d = exec.tensor {arena = 1, offset = [[A]]} : tensor<4xf32>
  %d = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  exec.label @again
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%a) outs(%b)
  exec.call "aten::neg.out"(%b) outs(%d)
  exec.call "aten::neg.out"(%d) outs(%y)
  exec.jump_false %c, @again
  exec.return inputs(%x, %c) outputs(%y)
}

// -----

// A tensor that takes over another's storage keeps it alive, however long it lives.
// CHECK-LABEL: exec.method @moved {arenas = [64]
exec.method @moved {} {
  %x = exec.tensor : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  %d = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  exec.call "aten::neg.out"(%x) outs(%a)
  exec.move %a, %b
  exec.call "aten::neg.out"(%x) outs(%d)
  exec.call "aten::neg.out"(%b) outs(%y)
  exec.return inputs(%x) outputs(%y, %d)
}

// -----

// Under a wrong plan a method computes something else than under a right one.
exec.method @overlapping {arenas = [32]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %a = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  %b = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  exec.call "aten::relu.out"(%x) outs(%a)
  // expected-note @+1 {{instruction 1 (aten::exp.out) is this one}}
  exec.call "aten::exp.out"(%x) outs(%b)
  // expected-error @+1 {{plan-memory: method @overlapping: instruction 2 (aten::mul.out) reads %a, over whose bytes instruction 1 (aten::exp.out) wrote through %b}}
  exec.call "aten::mul.out"(%a, %b) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// -----

// Memory that is read before it is written would hold what the plan puts there.
exec.method @unwritten {} {
  %x = exec.tensor : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  // expected-error @+1 {{plan-memory: %a of @unwritten is read here, but nothing has written it: write it before, declare it as exec.state, or list it among the inputs of exec.return}}
  exec.call "aten::mul.out"(%x, %a) outs(%y)
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.return inputs(%x) outputs(%y)
}

// -----

exec.method @returned {} {
  %x = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  // expected-error @+1 {{plan-memory: %y of @returned is returned, but nothing has written it: }}
  exec.return inputs(%x) outputs(%y)
}

// -----

// Some values have places, which are forgotten.
// CHECK-LABEL: exec.method @partly {arenas = [32]
exec.method @partly {arenas = [64]} {
  // CHECK-NEXT: %x = exec.tensor {arena = 1
  %x = exec.tensor {arena = 1, offset = 48} : tensor<4xf32>
  // CHECK-NEXT: %y = exec.tensor {arena = 1
  %y = exec.tensor : tensor<4xf32>
  exec.call "aten::relu.out"(%x) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// -----

// Both branches may use the same bytes; what a loop writes entry by entry keeps its own through all of its rounds.
// CHECK-LABEL: exec.method @regions {arenas = [64]
// CHECK:         %a = exec.tensor {arena = 1, offset = [[SHARED:.*]]} : tensor<4xf32>
// CHECK-NEXT:    %b = exec.tensor {arena = 1, offset = [[SHARED]]} : tensor<4xf32>
exec.method @regions {} {
  %x = exec.tensor : tensor<4xf32>
  %c = exec.tensor : tensor<i1>
  %a = exec.tensor : tensor<4xf32>
  %b = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  %all = exec.tensor : tensor<3x4xf32>
  %i = exec.int 0
  %one = exec.int 1
  %three = exec.int 3
  %no = exec.bool false
  %ended = exec.bool false
  exec.jump_false %c, @else
  exec.call "aten::sin.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%a) outs(%y)
  exec.jump_false %no, @end
  exec.label @else
  exec.call "aten::cos.out"(%x) outs(%b)
  exec.call "aten::neg.out"(%b) outs(%y)
  exec.label @end
  exec.label @again
  exec.call "aten::abs.out"(%y) outs(%y)
  exec.call "executorch_prim::et_copy_index.tensor"(%all, %y, %i)
  exec.call "executorch_prim::add.Scalar"(%i, %one) returns(%i)
  exec.call "executorch_prim::ge.Scalar"(%i, %three) returns(%ended)
  exec.jump_false %ended, @again
  exec.return inputs(%x, %c) outputs(%all)
}

// -----

// State of a program of several methods lies in an arena that they share, at one offset; a method without state has no such arena.
// CHECK-LABEL: exec.method @write {arenas = [16, 48]
// CHECK-NEXT:    %a = exec.state @a {arena = 2, offset = 0} : tensor<2xf32>
// CHECK-NEXT:    %x = exec.tensor {arena = 1, offset = 0} : tensor<2xf32>
// CHECK-LABEL: exec.method @read {arenas = [0, 48]
// CHECK-NEXT:    %b = exec.state @b {arena = 2, offset = 16} : tensor<5xf32>
// CHECK-NEXT:    %a = exec.state @a {arena = 2, offset = 0} : tensor<2xf32>
// CHECK-LABEL: exec.method @stateless {arenas = [16]
// NAIVE-LABEL: exec.method @write {arenas = [0, 64, 128]
// NAIVE-NEXT:    %a = exec.state @a {arena = 3, offset = 0} : tensor<2xf32>
ml_program.global private mutable @a : tensor<2xf32>
ml_program.global private mutable @b : tensor<5xf32>
exec.method @write {} {
  %a = exec.state @a : tensor<2xf32>
  %x = exec.tensor : tensor<2xf32>
  %no = exec.bool false
  exec.call "aten::copy_"(%a, %x, %no) returns(%a)
  exec.return inputs(%x)
}
exec.method @read {} {
  %b = exec.state @b : tensor<5xf32>
  %a = exec.state @a : tensor<2xf32>
  exec.return outputs(%a, %b)
}
exec.method @stateless {} {
  %x = exec.tensor : tensor<2xf32>
  exec.return inputs(%x) outputs(%x)
}
