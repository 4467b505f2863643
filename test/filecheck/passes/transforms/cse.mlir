// RUN: flambeau-opt %s -p cse | filecheck %s

// CHECK-LABEL: func.func @equal
// CHECK-NEXT:    %[[R:.*]] = core.relu(%x)
// CHECK-NEXT:    %[[S:.*]] = core.add.Tensor(%[[R]], %[[R]])
// CHECK-NEXT:    func.return %[[S]]
func.func @equal(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = core.add.Tensor(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

// Other attributes, other operations.
// CHECK-LABEL: func.func @different
// CHECK-NEXT:    core.add.Tensor(%x, %x) :
// CHECK-NEXT:    core.add.Tensor(%x, %x) {alpha = 2}
func.func @different(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = core.add.Tensor(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = core.add.Tensor(%x, %x) {alpha = 2} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// A store between two loads of state makes them different; two draws are never equal.
ml_program.global private mutable @s(dense<0.0> : tensor<2xf32>) : tensor<2xf32>
// CHECK-LABEL: func.func @effects
// CHECK-NEXT:    ml_program.global_load @s
// CHECK-NEXT:    ml_program.global_store @s
// CHECK-NEXT:    ml_program.global_load @s
// CHECK-NEXT:    core.rand
// CHECK-NEXT:    core.rand
func.func @effects(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = ml_program.global_load @s : tensor<2xf32>
  ml_program.global_store @s = %x : tensor<2xf32>
  %1 = ml_program.global_load @s : tensor<2xf32>
  %2 = core.rand() {size = [2]} : () -> tensor<2xf32>
  %3 = core.rand() {size = [2]} : () -> tensor<2xf32>
  func.return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// What an isolated operation cannot see is not there for it.
%outside = arith.constant 1.0 : f32
// CHECK-LABEL: func.func @isolated
// CHECK-NEXT:    arith.constant
func.func @isolated() -> f32 {
  %inside = arith.constant 1.0 : f32
  func.return %inside : f32
}

// Two draws are two, with a row and without.
// CHECK-LABEL: func.func @draws
// CHECK-COUNT-2: aten.bernoulli.p
// CHECK-COUNT-2: aten.dropout
func.func @draws(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = aten.bernoulli.p(%x) {p = 0.5} : (tensor<2xf32>) -> tensor<2xf32>
  %b = aten.bernoulli.p(%x) {p = 0.5} : (tensor<2xf32>) -> tensor<2xf32>
  %c = aten.dropout(%x) {p = 0.5, train = true} : (tensor<2xf32>) -> tensor<2xf32>
  %d = aten.dropout(%x) {p = 0.5, train = true} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %a, %b, %c, %d : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
