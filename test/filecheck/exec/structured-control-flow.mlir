// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p lower-scf,convert-edge-to-exec,lower-expressions,coalesce-slots,simplify-jumps,plan-memory,verify-plan | filecheck %s

// Each branch computes its results into their slots; what it only passes on, or gives twice, is copied there.
// CHECK-LABEL: exec.method @branches
// CHECK:         %x = exec.tensor
// CHECK-NEXT:    %[[A:.*]] = exec.tensor {{.*}} : tensor<2xf32>
// CHECK-NEXT:    %[[B:.*]] = exec.tensor {{.*}} : tensor<2xf32>
// CHECK:         exec.jump_false %c, @bb2
// CHECK-NEXT:    exec.call "aten::abs.out"(%x) outs(%[[A]])
// CHECK-NEXT:    exec.call "aten::clone.out"(%[[A]], %{{.*}}) outs(%[[B]])
// CHECK-NEXT:    exec.jump_false %[[F:.*]], @bb3
// CHECK-NEXT:    exec.label @bb2
// CHECK-NEXT:    exec.call "aten::neg.out"(%x) outs(%[[B]])
// CHECK-NEXT:    exec.call "aten::clone.out"(%x, %{{.*}}) outs(%[[A]])
// CHECK-NEXT:    exec.label @bb3
// CHECK-NEXT:    exec.return inputs(%c, %x) outputs(%[[A]], %[[B]])
func.func @branches(%c: tensor<i1>, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = tensor.extract %c[] : tensor<i1>
  %1, %2 = scf.if %0 -> (tensor<2xf32>, tensor<2xf32>) {
    %3 = edge.abs(%x) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %3, %3 : tensor<2xf32>, tensor<2xf32>
  } else {
    %4 = edge.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %x, %4 : tensor<2xf32>, tensor<2xf32>
  }
  func.return %1, %2 : tensor<2xf32>, tensor<2xf32>
}

// -----

// A branch without results needs one jump; a state may change in it, and what was loaded before is kept.
ml_program.global private mutable @s(#flambeau.blob<"s", "0000000000000000">) : tensor<2xf32>
// CHECK-LABEL: exec.method @no_results
// CHECK:         %[[S:.*]] = exec.state @s
// CHECK:         exec.call "aten::clone.out"(%[[S]], %{{.*}}) outs(%[[OLD:.*]])
// CHECK-NEXT:    exec.jump_false %c, @bb2
// CHECK-NEXT:    exec.call "aten::copy_"(%[[S]], %x, %{{.*}}) returns(%[[S]])
// CHECK-NEXT:    exec.label @bb2
// CHECK-NEXT:    exec.return inputs(%c, %x) outputs(%[[OLD]])
func.func @no_results(%c: tensor<1x1xi1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %old = ml_program.global_load @s : tensor<2xf32>
  %zero = arith.constant 0 : index
  %0 = tensor.extract %c[%zero, %zero] : tensor<1x1xi1>
  scf.if %0 {
    ml_program.global_store @s = %x : tensor<2xf32>
  }
  func.return %old : tensor<2xf32>
}

// -----

// What a loop carries is written in place; what it begins with is computed there.
// CHECK-LABEL: exec.method @counting
// CHECK:         exec.call "aten::neg.out"(%n) outs(%[[I:.*]])
// CHECK-NEXT:    exec.call "aten::clone.out"(%x, %{{.*}}) outs(%[[X:.*]])
// CHECK-NEXT:    exec.label @bb1
// CHECK-NEXT:    exec.call "aten::lt.Scalar_out"(%[[I]], %{{.*}}) outs(%[[C:.*]])
// CHECK-NEXT:    exec.jump_false %[[C]], @bb3
// CHECK-NEXT:    exec.call "aten::add.Scalar_out"(%[[I]], %{{.*}}, %{{.*}}) outs(%[[I]])
// CHECK-NEXT:    exec.call "aten::mul.out"(%[[X]], %x) outs(%[[X]])
// CHECK-NEXT:    exec.jump_false %{{.*}}, @bb1
// CHECK-NEXT:    exec.label @bb3
// CHECK-NEXT:    exec.return inputs(%n, %x) outputs(%[[I]], %[[X]])
func.func @counting(%n: tensor<i64>, %x: tensor<2xf32>) -> (tensor<i64>, tensor<2xf32>) {
  %start = edge.neg(%n) : (tensor<i64>) -> tensor<i64>
  %0, %1 = scf.while (%i = %start, %y = %x) : (tensor<i64>, tensor<2xf32>) -> (tensor<i64>, tensor<2xf32>) {
    %2 = edge.lt.Scalar(%i) {other = 5} : (tensor<i64>) -> tensor<i1>
    %3 = tensor.extract %2[] : tensor<i1>
    scf.condition(%3) %i, %y : tensor<i64>, tensor<2xf32>
  } do {
  ^bb0(%j: tensor<i64>, %z: tensor<2xf32>):
    %4 = edge.add.Scalar(%j) {other = 1} : (tensor<i64>) -> tensor<i64>
    %5 = edge.mul.Tensor(%z, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    scf.yield %4, %5 : tensor<i64>, tensor<2xf32>
  }
  func.return %0, %1 : tensor<i64>, tensor<2xf32>
}

// -----

// Values that change places go through a third slot; the reverse of what is carried comes out.
// CHECK-LABEL: exec.method @swap
// CHECK:         exec.jump_false %[[C:.*]], @bb3
// CHECK-NEXT:    exec.call "aten::logical_not.out"(%c) outs(%[[C]])
// CHECK-NEXT:    exec.call "aten::clone.out"(%[[A:.*]], %{{.*}}) outs(%[[T:.*]])
// CHECK-NEXT:    exec.call "aten::clone.out"(%[[B:.*]], %{{.*}}) outs(%[[A]])
// CHECK-NEXT:    exec.call "aten::clone.out"(%[[T]], %{{.*}}) outs(%[[B]])
// CHECK-NEXT:    exec.jump_false %{{.*}}, @bb1
// CHECK:         exec.return inputs(%c, %x, %y) outputs(%[[A]], %[[B]])
func.func @swap(%c: tensor<i1>, %x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0, %1 = scf.while (%2 = %c, %3 = %x, %4 = %y) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %5 = tensor.extract %2[] : tensor<i1>
    scf.condition(%5) %4, %3 : tensor<2xf32>, tensor<2xf32>
  } do {
  ^bb0(%6: tensor<2xf32>, %7: tensor<2xf32>):
    %8 = edge.logical_not(%c) : (tensor<i1>) -> tensor<i1>
    scf.yield %8, %6, %7 : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  }
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// -----

// A loop over entries: the counter is set when the loop begins, and the kernel writes through a view that says how far it is.
// CHECK-LABEL: exec.method @entries
// CHECK:         %[[VIEW:.*]] = exec.view %[[ALL:[a-z]+]] : tensor<?x3xf32, #edge.layout<sizes = [? in [0, 4], 3]>>
// CHECK:         exec.move %[[ZERO:.*]], %[[I:.*]]
// CHECK-NEXT:    exec.label @bb1
// CHECK-NEXT:    exec.call "aten::select_copy.int_out"(%x, %{{.*}}, %[[I]]) outs(%[[ROW:.*]])
// CHECK-NEXT:    exec.call "aten::abs.out"(%[[ROW]]) outs(%[[ABS:.*]])
// CHECK-NEXT:    exec.call "executorch_prim::et_copy_index.tensor"(%[[VIEW]], %[[ABS]], %[[I]])
// CHECK-NEXT:    exec.call "executorch_prim::add.Scalar"(%[[I]], %{{.*}}) returns(%[[I]])
// CHECK-NEXT:    exec.call "executorch_prim::le.Scalar"(%{{.*}}, %[[I]]) returns(%[[ENDED:.*]])
// CHECK-NEXT:    exec.jump_false %[[ENDED]], @bb1
// CHECK-NEXT:    exec.return inputs(%x) outputs(%[[ALL]])
func.func @entries(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %empty = tensor.empty() : tensor<4x3xf32>
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %one = arith.constant 1 : index
  %0 = scf.for %i = %zero to %four step %one iter_args(%all = %empty) -> (tensor<4x3xf32>) {
    %1 = tensor.extract_slice %x[%i, 0] [1, 3] [1, 1] : tensor<4x3xf32> to tensor<3xf32>
    %2 = edge.abs(%1) : (tensor<3xf32>) -> tensor<3xf32>
    %3 = tensor.insert_slice %2 into %all[%i, 0] [1, 3] [1, 1] : tensor<3xf32> into tensor<4x3xf32>
    scf.yield %3 : tensor<4x3xf32>
  }
  func.return %0 : tensor<4x3xf32>
}

// -----

// A loop without rounds leaves nothing but what it begins with.
// CHECK-LABEL: exec.method @no_rounds
// CHECK-NOT:     exec.call
// CHECK:         exec.return inputs(%x) outputs(%x)
func.func @no_rounds(%x: tensor<3xf32>) -> tensor<3xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0 = scf.for %i = %one to %zero step %one iter_args(%y = %x) -> (tensor<3xf32>) {
    %1 = edge.abs(%y) : (tensor<3xf32>) -> tensor<3xf32>
    scf.yield %1 : tensor<3xf32>
  }
  func.return %0 : tensor<3xf32>
}

// -----

// An inner loop goes on where the outer one is, without a copy.
// CHECK-LABEL: exec.method @nested
// CHECK:         exec.move %{{.*}}, %[[I:.*]]
// CHECK-NEXT:    exec.call "aten::clone.out"(%x, %{{.*}}) outs(%[[Y:.*]])
// CHECK-NEXT:    exec.label @bb1
// CHECK-NEXT:    exec.move %{{.*}}, %[[J:.*]]
// CHECK-NEXT:    exec.label @bb2
// CHECK-NEXT:    exec.call "aten::mul.out"(%[[Y]], %x) outs(%[[Y]])
// CHECK-NEXT:    exec.call "executorch_prim::add.Scalar"(%[[J]], %{{.*}}) returns(%[[J]])
// CHECK-NEXT:    exec.call "executorch_prim::le.Scalar"(%{{.*}}, %[[J]]) returns(%[[C:.*]])
// CHECK-NEXT:    exec.jump_false %[[C]], @bb2
// CHECK-NEXT:    exec.call "executorch_prim::add.Scalar"(%[[I]], %{{.*}}) returns(%[[I]])
func.func @nested(%x: tensor<3xf32>) -> tensor<3xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %0 = scf.for %i = %zero to %four step %one iter_args(%y = %x) -> (tensor<3xf32>) {
    %1 = scf.for %j = %one to %four step %one iter_args(%z = %y) -> (tensor<3xf32>) {
      %2 = edge.mul.Tensor(%z, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      scf.yield %2 : tensor<3xf32>
    }
    scf.yield %1 : tensor<3xf32>
  }
  func.return %0 : tensor<3xf32>
}

// -----

// Everything without a form is found, in regions too.
func.func @refused(%x: tensor<4x3xf32>, %c: tensor<2xi1>, %n: tensor<index>) -> tensor<4x3xf32> {
  %zero = arith.constant 0 : index
  // expected-error @+2 {{3 operations cannot be converted to kernel calls of the target 'executorch'}}
  // expected-note @+1 {{tensor.extract: only the one element of a tensor can become a number, got tensor<2xi1>}}
  %0 = tensor.extract %c[%zero] : tensor<2xi1>
  %1 = scf.if %0 -> (tensor<4x3xf32>) {
    // expected-note @+1 {{tensor.extract_slice: only one entry of the outermost dimension of a row-major tensor can be read or written}}
    %2 = tensor.extract_slice %x[0, 1] [4, 1] [1, 1] : tensor<4x3xf32> to tensor<4xf32>
    // expected-note @+1 {{tensor.insert_slice: only one entry of the outermost dimension of a row-major tensor can be read or written}}
    %3 = tensor.insert_slice %2 into %x[%zero, 1] [4, 1] [1, 1] : tensor<4xf32> into tensor<4x3xf32>
    scf.yield %3 : tensor<4x3xf32>
  } else {
    scf.yield %x : tensor<4x3xf32>
  }
  func.return %1 : tensor<4x3xf32>
}

// -----

// A loop over as many entries as the input has: what it stacks gets its sizes first, and is written in place.
// CHECK-LABEL: exec.method @each_row
// CHECK:         %[[SIZES:.*]] = exec.int_list [%[[N:.*]], %{{.*}}]
// CHECK:         exec.call "aten::sym_size.int"(%x, %{{.*}}) returns(%[[N]])
// CHECK:         exec.call "aten::empty.out"(%[[SIZES]], %{{.*}}) outs(%[[ALL:.*]])
// CHECK-NEXT:    exec.call "executorch_prim::lt.Scalar"(%{{.*}}, %[[N]]) returns(%[[ANY:.*]])
// CHECK-NEXT:    exec.jump_false %[[ANY]], @bb2
// CHECK-NEXT:    exec.move %{{.*}}, %[[I:.*]]
// CHECK-NEXT:    exec.label @bb1
// CHECK-NEXT:    exec.call "aten::select_copy.int_out"(%x, %{{.*}}, %[[I]]) outs(%[[ROW:.*]])
// CHECK-NEXT:    exec.call "aten::neg.out"(%[[ROW]]) outs(%[[NEG:.*]])
// CHECK-NEXT:    exec.call "executorch_prim::et_copy_index.tensor"(%{{.*}}, %[[NEG]], %[[I]])
// CHECK-NEXT:    exec.call "executorch_prim::add.Scalar"(%[[I]], %{{.*}}) returns(%[[I]])
// CHECK-NEXT:    exec.call "executorch_prim::le.Scalar"(%[[N]], %[[I]]) returns(%[[ENDED:.*]])
// CHECK-NEXT:    exec.jump_false %[[ENDED]], @bb1
// CHECK-NEXT:    exec.label @bb2
func.func @each_row(%x: tensor<?x3xf32, #edge.layout<sizes = [s0 in [0, 8], 3]>>) -> tensor<?x3xf32, #edge.layout<sizes = [s0, 3]>> {
  %n = flambeau.value s0 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %e = tensor.empty(%n) : tensor<?x3xf32, #edge.layout<sizes = [s0, 3]>>
  %0 = scf.for %i = %zero to %n step %one iter_args(%all = %e) -> (tensor<?x3xf32, #edge.layout<sizes = [s0, 3]>>) {
    %row = tensor.extract_slice %x[%i, 0] [1, 3] [1, 1] : tensor<?x3xf32, #edge.layout<sizes = [s0, 3]>> to tensor<3xf32>
    %neg = edge.neg(%row) : (tensor<3xf32>) -> tensor<3xf32>
    %more = tensor.insert_slice %neg into %all[%i, 0] [1, 3] [1, 1] : tensor<3xf32> into tensor<?x3xf32, #edge.layout<sizes = [s0, 3]>>
    scf.yield %more : tensor<?x3xf32, #edge.layout<sizes = [s0, 3]>>
  }
  func.return %0 : tensor<?x3xf32, #edge.layout<sizes = [s0, 3]>>
}

// -----

// A loop carries a number, which is a symbol in each of its regions; relations between sizes are conditions.
// CHECK-LABEL: exec.method @counted
// CHECK:         exec.label @bb1
// CHECK-NEXT:    exec.call "executorch_prim::lt.Scalar"(%[[I:.*]], %[[N:.*]]) returns(%[[GO:.*]])
// CHECK-NEXT:    exec.jump_false %[[GO]], @bb3
// CHECK-NEXT:    exec.call "executorch_prim::add.Scalar"(%[[I]], %{{.*}}) returns(%[[I]])
// CHECK-NEXT:    exec.jump_false %{{.*}}, @bb1
// CHECK-NEXT:    exec.label @bb3
// CHECK:         exec.return inputs(%x) outputs(%[[I]])
func.func @counted(%x: tensor<?xf32, #edge.layout<sizes = [s0 in [0, 8]]>>) -> i64 {
  %start = flambeau.value 0 : i64
  %0 = scf.while (%a = %start) : (i64) -> i64 {
    flambeau.define_symbol %a as u0 in [?, ?] : i64
    %i = flambeau.value u0 : i64
    %n = flambeau.value s0 : i64
    %go = arith.cmpi slt, %i, %n : i64
    scf.condition(%go) %a : i64
  } do {
  ^bb0(%b: i64):
    flambeau.define_symbol %b as u0 in [?, ?] : i64
    %next = flambeau.value u0 + 2 : i64
    scf.yield %next : i64
  }
  func.return %0 : i64
}

// -----

func.func @unsigned() -> i64 {
  %a = flambeau.value 1 : i64
  // expected-error @below {{unsigned numbers have no form as slots}}
  %0 = arith.cmpi ult, %a, %a : i64
  func.return %a : i64
}

// -----

func.func @other_rows(%x: tensor<?x3xf32, #edge.layout<sizes = [s0 in [1, 8], 3]>>) -> tensor<2x3xf32> {
  // expected-error @below {{only one entry of the outermost dimension of a row-major tensor can be read or written}}
  %0 = tensor.extract_slice %x[0, 0] [2, 3] [1, 1] : tensor<?x3xf32, #edge.layout<sizes = [s0, 3]>> to tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// What a loop in a loop begins with is not computed over what the outer one carries while that is still read: the round copies it back.
// CHECK-LABEL: exec.method @loop_in_loop
// CHECK:         exec.call "aten::clone.out"(%x, %{{.*}}) outs(%[[X:.*]])
// CHECK-NEXT:    exec.label @bb1
// CHECK-NEXT:    exec.call "aten::flip.out"(%[[X]], %{{.*}}) outs(%[[START:.*]])
// CHECK-NEXT:    exec.move
// CHECK-NEXT:    exec.label @bb2
// CHECK-NEXT:    exec.call "aten::neg.out"(%[[START]]) outs(%[[START]])
// CHECK:         exec.call "aten::clone.out"(%[[START]], %{{.*}}) outs(%[[X]])
func.func @loop_in_loop(%x: tensor<3xf32>) -> tensor<3xf32> {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %one = arith.constant 1 : index
  %0 = scf.for %i = %zero to %two step %one iter_args(%carried = %x) -> (tensor<3xf32>) {
    %start = edge.flip(%carried) {dims = [0]} : (tensor<3xf32>) -> tensor<3xf32>
    %1 = scf.for %j = %zero to %two step %one iter_args(%inner = %start) -> (tensor<3xf32>) {
      %2 = edge.neg(%inner) : (tensor<3xf32>) -> tensor<3xf32>
      scf.yield %2 : tensor<3xf32>
    }
    scf.yield %1 : tensor<3xf32>
  }
  func.return %0 : tensor<3xf32>
}
