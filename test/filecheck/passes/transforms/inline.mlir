// RUN: flambeau-opt %s -p inline | filecheck %s
// RUN: flambeau-opt %s -p inline --check-semantics -o /dev/null
// RUN: flambeau-opt %s -p inline --remarks -o /dev/null 2>&1 | filecheck %s --check-prefix=WHY
// RUN: flambeau-opt %s -p 'inline{max-size=2}' --remarks -o /dev/null 2>&1 | filecheck %s --check-prefix=SIZE
// RUN: flambeau-opt %s -p inline --print-debuginfo | filecheck %s --check-prefix=PLACE
// RUN: flambeau-opt %s -p inline,symbol-dce | filecheck %s --check-prefix=ALONE

// WHY: not inlined: @branches has branches, and stands in a region of one block
// WHY: not inlined: @declared is only declared
// WHY: not inlined: @again calls itself, directly or through others
// SIZE: not inlined: @double has 3 operations, more than max-size=2
// ALONE-NOT: @double
// PLACE: core.add.Tensor(%x, %x) : {{.*}} loc(callsite(callsite("add"({{.*}}) at "inner"({{.*}})) at "outer"({{.*}})))

func.func private @double(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = core.add.Tensor(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("add"("m.py":1:1))
  func.return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func private @twice
// CHECK-NEXT:    core.add.Tensor(%x, %x)
// CHECK-NEXT:    func.return
func.func private @twice(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = func.call @double(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("inner"("m.py":2:1))
  func.return %0, %x : tensor<2xf32>, tensor<2xf32>
}

// Functions that others call come first; a result may be an argument.
// CHECK-LABEL: func.func @outer
// CHECK-NEXT:    %[[A:.*]] = core.add.Tensor(%x, %x)
// CHECK-NEXT:    %[[B:.*]] = core.add.Tensor(%[[A]], %[[A]])
// CHECK-NEXT:    func.return %[[B]], %[[A]]
func.func @outer(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0, %1 = func.call @twice(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) loc("outer"("m.py":3:1))
  %2, %3 = func.call @twice(%0) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return %2, %3 : tensor<2xf32>, tensor<2xf32>
}

func.func private @branches(%c: i1, %x: tensor<2xf32>) -> tensor<2xf32> {
  "cf.cond_br"(%c, %x) [^a, ^b] <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (i1, tensor<2xf32>) -> ()
^a(%y: tensor<2xf32>):
  func.return %y : tensor<2xf32>
^b:
  %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// Blocks come between what is before the call and what is behind it.
// CHECK-LABEL: func.func @blocks
// CHECK-NEXT:    %[[R:.*]] = core.neg(%x)
// CHECK-NEXT:    cf.br ^[[E:.*]](%c, %[[R]] : i1, tensor<2xf32>)
// CHECK-NEXT:  ^[[E]](%[[C:.*]]: i1, %[[V:.*]]: tensor<2xf32>):
// CHECK-NEXT:    cf.cond_br %[[C]], ^[[T:.*]](%[[V]] : tensor<2xf32>), ^[[F:.*]]
// CHECK-NEXT:  ^[[T]](%[[Y:.*]]: tensor<2xf32>):
// CHECK-NEXT:    cf.br ^[[J:.*]](%[[Y]] : tensor<2xf32>)
// CHECK-NEXT:  ^[[F]]:
// CHECK-NEXT:    %[[W:.*]] = core.relu(%[[V]])
// CHECK-NEXT:    cf.br ^[[J]](%[[W]] : tensor<2xf32>)
// CHECK-NEXT:  ^[[J]](%[[S:.*]]: tensor<2xf32>):
// CHECK-NEXT:    core.add.Tensor(%[[R]], %[[S]])
func.func @blocks(%c: i1, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = core.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = func.call @branches(%c, %0) : (i1, tensor<2xf32>) -> tensor<2xf32>
  %2 = core.add.Tensor(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

// CHECK-LABEL: func.func @stays
// CHECK:         func.call @branches
// CHECK:         core.add.Tensor
// CHECK-NOT:     func.call @double
func.func @stays(%c: i1, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = scf.if %c -> (tensor<2xf32>) {
    %1 = func.call @branches(%c, %x) : (i1, tensor<2xf32>) -> tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  } else {
    %2 = func.call @double(%x) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  }
  func.return %0 : tensor<2xf32>
}

func.func private @declared(tensor<2xf32>) -> tensor<2xf32>

// CHECK-LABEL: func.func private @unknown
// CHECK:         func.call @declared
func.func private @unknown(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @declared(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func private @again
// CHECK:         func.call @again
func.func private @again(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @again(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
