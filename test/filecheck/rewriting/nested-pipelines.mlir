// RUN: flambeau-opt %s -p 'builtin.module(func.func(canonicalize,cse,remove-dead-code))' | filecheck %s
// RUN: flambeau-opt %s -p 'builtin.module(func.func(canonicalize,cse),remove-dead-code)' | filecheck %s --check-prefix MODULE

// On a function, nothing outside of it is looked at: a global that nobody names stays. On the module it goes.
// CHECK:      ml_program.global private @unused
// MODULE-NOT: ml_program.global private @unused
ml_program.global private @unused(dense<0.0> : tensor<2xf32>) : tensor<2xf32>

// CHECK-LABEL: func.func @first
// CHECK-NEXT:    %[[R:.*]] = core.relu(%x)
// CHECK-NEXT:    %[[S:.*]] = core.add.Tensor(%[[R]], %[[R]])
// CHECK-NEXT:    func.return %[[S]]
// MODULE-LABEL: func.func @first
// MODULE-NEXT:    core.relu(%x)
// MODULE-NEXT:    core.add.Tensor
func.func @first(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = core.clone(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = core.relu(%1) : (tensor<2xf32>) -> tensor<2xf32>
  %3 = core.add.Tensor(%0, %2) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %3 : tensor<2xf32>
}

// CHECK-LABEL: func.func @second
// CHECK-NEXT:    func.return %x
// MODULE-LABEL: func.func @second
// MODULE-NEXT:    func.return %x
func.func @second(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = core.clone(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
