// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p convert-edge-to-exec | filecheck %s

// Every value is a slot, every operator a call of its out-variant; equal numbers and lists share a slot.
// CHECK-LABEL: exec.method @forward {input_names = ["x"], output_names = ["y"]}
// CHECK-NEXT:    %x = exec.tensor : tensor<2x3xf32>
// CHECK-NEXT:    %[[ONE:.*]] = exec.int 1
// CHECK-NEXT:    %[[S:.*]] = exec.tensor : tensor<2x3xf32>
// CHECK-NEXT:    %[[DIMS:.*]] = exec.int_list [%[[ONE]]]
// CHECK-NEXT:    %[[F:.*]] = exec.bool false
// CHECK-NEXT:    %[[N:.*]] = exec.none
// CHECK-NEXT:    %[[T:.*]] = exec.tensor : tensor<2xf32>
// CHECK-NEXT:    exec.call "aten::add.out"(%x, %x, %[[ONE]]) outs(%[[S]])
// CHECK-NEXT:    exec.call "aten::sum.IntList_out"(%[[S]], %[[DIMS]], %[[F]], %[[N]]) outs(%[[T]])
// CHECK-NEXT:    exec.return inputs(%x) outputs(%[[T]])
func.func @forward(%x: tensor<2x3xf32>) -> tensor<2xf32> attributes {flambeau.inputs = [{name = "x"}], flambeau.outputs = [{name = "y"}]} {
  %0 = edge.add.Tensor(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.sum.dim_IntList(%0) {dim = [1]} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// Several results come back as a list, and so does a list of results.
// CHECK-LABEL: exec.method @several
// CHECK:         %[[PAIR:.*]] = exec.tensor_list [%[[V:.*]], %[[I:.*]]]
// CHECK:         %[[PARTS:.*]] = exec.tensor_list [%[[A:.*]], %[[B:.*]]]
// CHECK:         exec.call "aten::max.dim_max"(%x, %{{.*}}, %{{.*}}) outs(%[[V]], %[[I]]) returns(%[[PAIR]])
// CHECK:         exec.call "aten::split_with_sizes_copy.out"(%x, %{{.*}}, %{{.*}}) outs(%[[PARTS]])
func.func @several(%x: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi64>, tensor<2x1xf32>, tensor<2x2xf32>) {
  %0, %1 = edge.max.dim(%x) {dim = 1} : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  %2, %3 = edge.split_with_sizes_copy(%x) {split_sizes = [1, 2], dim = 1} : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x2xf32>)
  func.return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xi64>, tensor<2x1xf32>, tensor<2x2xf32>
}

// -----

// State keeps its old value for whoever reads it after the store.
ml_program.global private mutable @s(#flambeau.blob<"s", "0000000000000000">) : tensor<2xf32>
// CHECK-LABEL: exec.method @state
// CHECK:         %[[S:.*]] = exec.state @s : tensor<2xf32>
// CHECK:         exec.call "aten::clone.out"(%[[S]], %{{.*}}) outs(%[[OLD:.*]])
// CHECK:         exec.call "aten::copy_"(%[[S]], %x, %{{.*}}) returns(%[[S]])
// CHECK:         exec.return inputs(%x) outputs(%[[OLD]])
func.func @state(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = ml_program.global_load @s : tensor<2xf32>
  ml_program.global_store @s = %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// An operator for which the target has no kernel is an error that names the source line.
func.func @missing(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{convert-edge-to-exec: 1 operation cannot be converted to kernel calls of the target 'executorch': edge.sort: the target 'executorch' has no kernel aten::sort.values; 'flambeau' has it}}
  %0, %1 = edge.sort(%x) : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi64>) loc("head"("model.py":7:0))
  func.return %0 : tensor<3xf32>
}

// -----

// A value that is stored back after another store was loaded before it: it needs a copy.
ml_program.global private mutable @s(#flambeau.blob<"s", "0000000000000000">) : tensor<2xf32>
// CHECK-LABEL: exec.method @stored_back
// CHECK:         %[[S:.*]] = exec.state @s : tensor<2xf32>
// CHECK:         exec.call "aten::clone.out"(%[[S]], %{{.*}}) outs(%[[OLD:.*]])
// CHECK-NEXT:    exec.call "aten::copy_"(%[[S]], %x, %{{.*}}) returns(%[[S]])
// CHECK-NEXT:    exec.call "aten::copy_"(%[[S]], %[[OLD]], %{{.*}}) returns(%[[S]])
func.func @stored_back(%x: tensor<2xf32>) {
  %0 = ml_program.global_load @s : tensor<2xf32>
  ml_program.global_store @s = %x : tensor<2xf32>
  ml_program.global_store @s = %0 : tensor<2xf32>
  func.return
}

// -----

// Only what a backend has compiled can be called.
delegate.partition @p backend "Any" (%a: tensor<4xf32>) -> (tensor<4xf32>) {
  delegate.return %a : tensor<4xf32>
}
func.func @uncompiled(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{convert-edge-to-exec: 1 operation cannot be converted to kernel calls of the target 'executorch': delegate.call: @p is not compiled yet; run lower-partitions first}}
  %0 = delegate.call @p(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// What is no operator is reported, with everything else, though others read or return it; declarations stay.
func.func private @elsewhere()
func.func @foreign() -> (tensor<2xi64>, tensor<2xi64>) {
  // expected-error @+1 {{convert-edge-to-exec: 1 operation cannot be converted to kernel calls of the target 'executorch': arith.constant: a constant of type tensor<2xi64> has no form as a slot}}
  %0 = arith.constant dense<[1, 2]> : tensor<2xi64>
  %1 = edge.abs(%0) : (tensor<2xi64>) -> tensor<2xi64>
  func.return %0, %1 : tensor<2xi64>, tensor<2xi64>
}

// -----

// Branches copy to the slots of a block's arguments, all at once; what goes on along one edge alone has a place of its own.
// CHECK-LABEL: exec.method @branches
// CHECK:         exec.jump_false %c, @edge1
// CHECK-NEXT:    exec.call "aten::clone.out"(%x, %{{.*}}) outs(%a)
// CHECK-NEXT:    exec.call "aten::clone.out"(%y, %{{.*}}) outs(%b)
// CHECK-NEXT:    exec.jump_false %{{.*}}, @bb1
// CHECK-NEXT:    exec.label @edge1
// CHECK-NEXT:    exec.call "aten::clone.out"(%y, %{{.*}}) outs(%a)
// CHECK-NEXT:    exec.call "aten::clone.out"(%x, %{{.*}}) outs(%b)
// CHECK-NEXT:    exec.label @bb1
// CHECK-NEXT:    exec.return inputs(%c, %x, %y) outputs(%a, %b)
func.func @branches(%c: tensor<i1>, %x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = tensor.extract %c[] : tensor<i1>
  cf.cond_br %0, ^end(%x, %y : tensor<2xf32>, tensor<2xf32>), ^end(%y, %x : tensor<2xf32>, tensor<2xf32>)
^end(%a: tensor<2xf32>, %b: tensor<2xf32>):
  func.return %a, %b : tensor<2xf32>, tensor<2xf32>
}

// -----

func.func @returns_twice(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tensor.extract %c[] : tensor<i1>
  cf.cond_br %0, ^one, ^two
^one:
  // expected-error @+1 {{a method returns at its end: branch to one last block}}
  func.return %x : tensor<2xf32>
^two:
  func.return %x : tensor<2xf32>
}

// -----

func.func @structured(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tensor.extract %c[] : tensor<i1>
  // expected-error @+1 {{it is not lowered to branches yet; run lower-scf first}}
  %1 = scf.if %0 -> (tensor<2xf32>) {
    scf.yield %x : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  func.return %1 : tensor<2xf32>
}

// -----

// A buffer of two methods is a state of each, with one name.
// CHECK-LABEL: exec.method @add
// CHECK:         exec.state @total
// CHECK-LABEL: exec.method @show
// CHECK:         %[[TOTAL:.*]] = exec.state @total
// CHECK:         exec.call "aten::clone.out"(%[[TOTAL]], %{{.*}}) outs(%old)
// CHECK-NEXT:    exec.return outputs(%old)
ml_program.global private mutable @total : tensor<2xf32>
func.func @add(%x: tensor<2xf32>) -> tensor<2xf32> {
  %old = ml_program.global_load @total : tensor<2xf32>
  ml_program.global_store @total = %x : tensor<2xf32>
  func.return %old : tensor<2xf32>
}
func.func @show() -> tensor<2xf32> {
  %old = ml_program.global_load @total : tensor<2xf32>
  func.return %old : tensor<2xf32>
}

// The new value of an input is written to it; what is returned and lies there is copied before.
// CHECK-LABEL: exec.method @writes {input_names = ["x"], output_names = ["old"]} {
func.func @writes(%x : tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {
    flambeau.inputs = [{name = "x"}], flambeau.outputs = [{name = "old"}, {name = "x", writes = "x"}]} {
  // CHECK: %x = exec.external : tensor<2xf32>
  // CHECK: exec.call "aten::relu.out"(%x) outs(%y)
  // CHECK-NEXT: exec.call "aten::clone.out"(%x, %[[none:.*]]) outs(%[[old:.*]])
  // CHECK-NEXT: exec.call "aten::copy_"(%x, %y, %[[no:.*]]) returns(%x)
  // CHECK-NEXT: exec.return inputs(%x) outputs(%[[old]])
  %y = edge.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %x, %y : tensor<2xf32>, tensor<2xf32>
}
