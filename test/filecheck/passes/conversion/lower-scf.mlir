// RUN: flambeau-opt %s -p lower-scf | filecheck %s

// The results of a branch are the arguments of the block after it.
// CHECK-LABEL: func.func @branch
// CHECK:         cf.cond_br %c, ^bb1, ^bb2
// CHECK-NEXT:  ^bb1:
// CHECK-NEXT:    %[[A:.*]] = edge.abs(%x)
// CHECK-NEXT:    cf.br ^bb3(%[[A]] : tensor<3xf32>)
// CHECK-NEXT:  ^bb2:
// CHECK-NEXT:    cf.br ^bb3(%x : tensor<3xf32>)
// CHECK-NEXT:  ^bb3(%r: tensor<3xf32>):
// CHECK-NEXT:    func.return %r
func.func @branch(%c: i1, %x: tensor<3xf32>) -> tensor<3xf32> {
  %r = scf.if %c -> (tensor<3xf32>) {
    %0 = edge.abs(%x) : (tensor<3xf32>) -> tensor<3xf32>
    scf.yield %0 : tensor<3xf32>
  } else {
    scf.yield %x : tensor<3xf32>
  }
  func.return %r : tensor<3xf32>
}

// A branch without results and without a second part has one block.
// CHECK-LABEL: func.func @one_sided
// CHECK:         cf.cond_br %c, ^bb1, ^bb2
// CHECK-NEXT:  ^bb1:
// CHECK-NEXT:    ml_program.global_store @s = %x
// CHECK-NEXT:    cf.br ^bb2
// CHECK-NEXT:  ^bb2:
// CHECK-NEXT:    func.return
ml_program.global private mutable @s(#flambeau.blob<"s", "0000000000000000">) : tensor<3xf32>
func.func @one_sided(%c: i1, %x: tensor<3xf32>) {
  scf.if %c {
    ml_program.global_store @s = %x : tensor<3xf32>
  }
  func.return
}

// A loop with a condition has what it carries as the arguments of its head, which hold the results at the end.
// CHECK-LABEL: func.func @while
// CHECK:         cf.br ^bb1(%x : tensor<3xf32>)
// CHECK-NEXT:  ^bb1(%a: tensor<3xf32>):
// CHECK:         cf.cond_br %{{.*}}, ^bb2, ^bb3
// CHECK-NEXT:  ^bb2:
// CHECK-NEXT:    %[[NEXT:.*]] = edge.neg(%a)
// CHECK-NEXT:    cf.br ^bb1(%[[NEXT]] : tensor<3xf32>)
// CHECK-NEXT:  ^bb3:
// CHECK-NEXT:    func.return %a
func.func @while(%x: tensor<3xf32>) -> tensor<3xf32> {
  %r = scf.while (%a = %x) : (tensor<3xf32>) -> tensor<3xf32> {
    %0 = edge.any(%a) : (tensor<3xf32>) -> tensor<i1>
    %1 = tensor.extract %0[] : tensor<i1>
    scf.condition(%1) %a : tensor<3xf32>
  } do {
  ^bb0(%b: tensor<3xf32>):
    %2 = edge.neg(%b) : (tensor<3xf32>) -> tensor<3xf32>
    scf.yield %2 : tensor<3xf32>
  }
  func.return %r : tensor<3xf32>
}

// A loop that is sure to have a round tests at its end alone; one in it that may have none, also where it begins.
// CHECK-LABEL: func.func @nested
// CHECK:         cf.br ^bb1(%zero, %x : index, tensor<3xf32>)
// CHECK-NEXT:  ^bb1(%i: index, %y: tensor<3xf32>):
// CHECK-NEXT:    %[[ANY:.*]] = arith.cmpi slt, %i, %n : index
// CHECK-NEXT:    cf.cond_br %[[ANY]], ^bb2(%i, %y : index, tensor<3xf32>), ^bb3(%y : tensor<3xf32>)
// CHECK-NEXT:  ^bb2(%j: index, %z: tensor<3xf32>):
// CHECK-NEXT:    %[[NEG:.*]] = edge.neg(%z)
// CHECK-NEXT:    %[[J:.*]] = arith.addi %j, %one : index
// CHECK-NEXT:    %[[LAST:.*]] = arith.cmpi sge, %[[J]], %n : index
// CHECK-NEXT:    cf.cond_br %[[LAST]], ^bb3(%[[NEG]] : tensor<3xf32>), ^bb2(%[[J]], %[[NEG]] : index, tensor<3xf32>)
// CHECK-NEXT:  ^bb3(%inner: tensor<3xf32>):
// CHECK:         cf.cond_br %{{.*}}, ^bb4(%inner : tensor<3xf32>), ^bb1(%{{.*}}, %inner : index, tensor<3xf32>)
// CHECK-NEXT:  ^bb4(%r: tensor<3xf32>):
// CHECK-NEXT:    func.return %r
func.func @nested(%n: index, %x: tensor<3xf32>) -> tensor<3xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %r = scf.for %i = %zero to %four step %one iter_args(%y = %x) -> (tensor<3xf32>) {
    %inner = scf.for %j = %i to %n step %one iter_args(%z = %y) -> (tensor<3xf32>) {
      %0 = edge.neg(%z) : (tensor<3xf32>) -> tensor<3xf32>
      scf.yield %0 : tensor<3xf32>
    }
    scf.yield %inner : tensor<3xf32>
  }
  func.return %r : tensor<3xf32>
}

// A loop without rounds leaves what it begins with.
// CHECK-LABEL: func.func @no_rounds
// CHECK-NOT:     edge.abs
// CHECK:         func.return %x
func.func @no_rounds(%x: tensor<3xf32>) -> tensor<3xf32> {
  %one = arith.constant 1 : index
  %r = scf.for %i = %one to %one step %one iter_args(%y = %x) -> (tensor<3xf32>) {
    %0 = edge.abs(%y) : (tensor<3xf32>) -> tensor<3xf32>
    scf.yield %0 : tensor<3xf32>
  }
  func.return %r : tensor<3xf32>
}
