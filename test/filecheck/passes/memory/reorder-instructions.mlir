// RUN: flambeau-opt %s --split-input-file -p reorder-instructions | filecheck %s
// RUN: flambeau-opt %s --split-input-file -p reorder-instructions --remarks --verify-diagnostics | filecheck %s
// RUN: flambeau-opt %s --split-input-file -p 'reorder-instructions{effort=0}' | filecheck %s --check-prefix BOUND
// RUN: flambeau-opt %s --split-input-file -p reorder-instructions,plan-memory,verify-plan | filecheck %s --check-prefix PLAN
// RUN: flambeau-opt %s --split-input-file -p plan-memory,verify-plan | filecheck %s --check-prefix BEFORE

// Each branch ends before the next one begins. Without effort, the order stays.
// CHECK-LABEL: @branches
// CHECK:         exec.call "aten::neg.out"(%x) outs(%a)
// CHECK-NEXT:    exec.call "aten::abs.out"(%a) outs(%c)
// CHECK-NEXT:    exec.call "aten::neg.out"(%x) outs(%b)
// CHECK-NEXT:    exec.call "aten::abs.out"(%b) outs(%d)
// CHECK-NEXT:    exec.call "aten::add.out"(%c, %d, %one) outs(%y)
// BOUND-LABEL: @branches
// BOUND:         outs(%a)
// BOUND-NEXT:    outs(%b)
// PLAN-LABEL:   @branches {arenas = [288],
// BEFORE-LABEL: @branches {arenas = [528],
// expected-remark @+1 {{the order of instructions lowers the peak of @branches from 528 to 288 bytes}}
exec.method @branches {} {
  %x = exec.tensor : tensor<4xf32>
  %a = exec.tensor : tensor<64xf32>
  %b = exec.tensor : tensor<64xf32>
  %c = exec.tensor : tensor<4xf32>
  %d = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  %one = exec.int 1
  exec.call "aten::neg.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%x) outs(%b)
  exec.call "aten::abs.out"(%a) outs(%c)
  exec.call "aten::abs.out"(%b) outs(%d)
  exec.call "aten::add.out"(%c, %d, %one) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// -----

// Where one instruction needs as much as the peak, no order is better.
// CHECK-LABEL: @chain
// CHECK:         outs(%a)
// CHECK-NEXT:    outs(%b)
// CHECK-NEXT:    outs(%c)
exec.method @chain {} {
  %x = exec.tensor : tensor<4xf32>
  %a = exec.tensor : tensor<64xf32>
  %b = exec.tensor : tensor<64xf32>
  %c = exec.tensor : tensor<4xf32>
  exec.call "aten::neg.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%a) outs(%b)
  exec.call "aten::neg.out"(%b) outs(%c)
  exec.return inputs(%x) outputs(%c)
}

// -----

// The state is read before it is written, and written before it is read again; what can move beside it does.
// CHECK-LABEL: @state
// CHECK:         exec.call "aten::neg.out"(%s) outs(%a)
// CHECK-NEXT:    exec.call "aten::copy_"(%s, %x, %no) returns(%s)
// CHECK-NEXT:    exec.call "aten::mean.out"(%a) outs(%c)
// CHECK-NEXT:    exec.call "aten::abs.out"(%s) outs(%b)
// CHECK-NEXT:    exec.call "aten::mean.out"(%b) outs(%d)
ml_program.global private mutable @s : tensor<64xf32>
// expected-remark @+1 {{the order of instructions lowers the peak of @state from 784 to 768 bytes}}
exec.method @state {} {
  %x = exec.tensor : tensor<64xf32>
  %s = exec.state @s : tensor<64xf32>
  %a = exec.tensor : tensor<64xf32>
  %b = exec.tensor : tensor<64xf32>
  %c = exec.tensor : tensor<4xf32>
  %d = exec.tensor : tensor<4xf32>
  %no = exec.bool false
  exec.call "aten::neg.out"(%s) outs(%a)
  exec.call "aten::copy_"(%s, %x, %no) returns(%s)
  exec.call "aten::abs.out"(%s) outs(%b)
  exec.call "aten::mean.out"(%a) outs(%c)
  exec.call "aten::mean.out"(%b) outs(%d)
  exec.return inputs(%x) outputs(%c, %d)
}

// -----

// Random numbers are drawn in the order in which they were, and kernels that no row tells of keep theirs.
// CHECK-LABEL: @effects
// CHECK:         exec.call "aten::rand_like.out"{{.*}} outs(%a)
// CHECK-NEXT:    exec.call "aten::rand_like.out"{{.*}} outs(%b)
// CHECK-NEXT:    exec.call "my::unknown.out"{{.*}} outs(%c)
// CHECK-NEXT:    exec.call "aten::rand_like.out"{{.*}} outs(%d)
exec.method @effects {} {
  %x = exec.tensor : tensor<64xf32>
  %a = exec.tensor : tensor<64xf32>
  %b = exec.tensor : tensor<64xf32>
  %c = exec.tensor : tensor<4xf32>
  %d = exec.tensor : tensor<64xf32>
  %e = exec.tensor : tensor<4xf32>
  %none = exec.none
  exec.call "aten::rand_like.out"(%x, %none) outs(%a)
  exec.call "aten::rand_like.out"(%x, %none) outs(%b)
  exec.call "my::unknown.out"(%a) outs(%c)
  exec.call "aten::rand_like.out"(%x, %none) outs(%d)
  exec.call "my::unknown.out"(%b, %d) outs(%e)
  exec.return inputs(%x) outputs(%c, %e)
}

// -----

// Nothing passes a jump, a label, or a call without results, which checks something. Parts of a tensor are written in any order.
// CHECK-LABEL: @barriers
// CHECK:         outs(%a)
// CHECK-NEXT:    exec.jump_false %c, @end
// CHECK-NEXT:    outs(%b)
// CHECK-NEXT:    exec.call "my::check"(%b)
// CHECK-NEXT:    exec.call "aten::mean.out"(%a) outs(%left)
// CHECK-NEXT:    exec.call "aten::mean.out"(%b) outs(%right)
// CHECK-NEXT:    exec.label @end
exec.method @barriers {} {
  %x = exec.tensor : tensor<64xf32>
  %c = exec.tensor : tensor<i1>
  %a = exec.tensor : tensor<64xf32>
  %b = exec.tensor : tensor<64xf32>
  %y = exec.tensor : tensor<8xf32>
  %left = exec.view %y : tensor<4xf32>
  %right = exec.view %y {offset = 16} : tensor<4xf32>
  exec.call "aten::neg.out"(%x) outs(%a)
  exec.jump_false %c, @end
  exec.call "aten::neg.out"(%x) outs(%b)
  exec.call "my::check"(%b)
  exec.call "aten::mean.out"(%a) outs(%left)
  exec.call "aten::mean.out"(%b) outs(%right)
  exec.label @end
  exec.call "aten::neg.out"(%x) outs(%y)
  exec.return inputs(%x, %c) outputs(%y)
}

// -----

// CHECK-LABEL: @parts
// CHECK:         outs(%a)
// CHECK-NEXT:    outs(%left)
// CHECK-NEXT:    outs(%b)
// CHECK-NEXT:    outs(%right)
// expected-remark @+1 {{from 544 to 304 bytes}}
exec.method @parts {} {
  %x = exec.tensor : tensor<4xf32>
  %a = exec.tensor : tensor<64xf32>
  %b = exec.tensor : tensor<64xf32>
  %y = exec.tensor : tensor<8xf32>
  %left = exec.view %y : tensor<4xf32>
  %right = exec.view %y {offset = 16} : tensor<4xf32>
  exec.call "aten::neg.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%x) outs(%b)
  exec.call "aten::mean.out"(%b) outs(%right)
  exec.call "aten::mean.out"(%a) outs(%left)
  exec.return inputs(%x) outputs(%y)
}

// -----

// The caller may give two inputs the same memory: what writes one stays where it is among what reads and writes the other.
// CHECK-LABEL: @caller
// CHECK:         outs(%a)
// CHECK-NEXT:    outs(%b)
// CHECK-NEXT:    exec.call "aten::mean.out"(%a) outs(%one)
// CHECK-NEXT:    exec.call "aten::mean.out"(%b) outs(%two)
exec.method @caller {} {
  %x = exec.external : tensor<4xf32>
  %one = exec.external : tensor<4xf32>
  %two = exec.external : tensor<4xf32>
  %a = exec.tensor : tensor<64xf32>
  %b = exec.tensor : tensor<64xf32>
  exec.call "aten::neg.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%x) outs(%b)
  exec.call "aten::mean.out"(%a) outs(%one)
  exec.call "aten::mean.out"(%b) outs(%two)
  exec.return inputs(%x) outputs(%one, %two)
}
