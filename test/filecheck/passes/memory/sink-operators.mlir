// RUN: flambeau-opt %s -p sink-operators | filecheck %s

ml_program.global private @a(dense<1> : tensor<8xi8>) : tensor<8xi8>

// Weights become floats where they are read, with the operators before them.
// CHECK-LABEL: func.func @weights
// CHECK:         %[[A:.*]] = edge._to_copy(%a)
// CHECK-NEXT:    %[[X:.*]] = edge.mul.Tensor(%x, %[[A]])
// CHECK-NEXT:    %[[B:.*]] = edge._to_copy(%a)
// CHECK-NEXT:    %[[N:.*]] = edge.neg(%[[B]])
// CHECK-NEXT:    %[[Y:.*]] = edge.mul.Tensor(%[[X]], %[[N]])
// CHECK-NEXT:    %[[C:.*]] = edge._to_copy(%a)
// CHECK-NEXT:    edge.mul.Tensor(%[[Y]], %[[C]])
func.func @weights(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = ml_program.global_load_const @a : tensor<8xi8>
  %0 = edge._to_copy(%a) {dtype = f32} : (tensor<8xi8>) -> tensor<8xf32>
  %1 = edge._to_copy(%a) {dtype = f32} : (tensor<8xi8>) -> tensor<8xf32>
  %n = edge.neg(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = edge._to_copy(%a) {dtype = f32} : (tensor<8xi8>) -> tensor<8xf32>
  %3 = edge.mul.Tensor(%x, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = edge.mul.Tensor(%3, %n) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = edge.mul.Tensor(%4, %2) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %5 : tensor<8xf32>
}

// An operator whose operand would live longer stays.
// CHECK-LABEL: func.func @longer
// CHECK:         edge.neg(%x)
// CHECK-NEXT:    edge.mul.Tensor(%y, %y)
func.func @longer(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = edge.neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = edge.mul.Tensor(%y, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = edge.mul.Tensor(%1, %1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = edge.mul.Tensor(%2, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %3 : tensor<8xf32>
}

// So does one whose move does not lower the peak.
// CHECK-LABEL: func.func @as_many
// CHECK:         edge._to_copy(%a)
// CHECK-NEXT:    edge.mul.Tensor(%x, %x)
func.func @as_many(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = ml_program.global_load_const @a : tensor<8xi8>
  %0 = edge._to_copy(%a) {dtype = f32} : (tensor<8xi8>) -> tensor<8xf32>
  %1 = edge.mul.Tensor(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = edge.mul.Tensor(%1, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %2 : tensor<8xf32>
}

// Operands that are read later as well live no longer; readers may be in branches.
// CHECK-LABEL: func.func @branches
// CHECK:         edge.mul.Tensor(%x, %x)
// CHECK:         %[[L:.*]] = edge.sum
// CHECK:         edge.neg(%x)
// CHECK-NEXT:    scf.if
func.func @branches(%c: i1, %x: tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>) {
  %0 = edge.neg(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = edge.mul.Tensor(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = edge.mul.Tensor(%1, %1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = edge.sum.dim_IntList(%2) {dim = [0]} : (tensor<8xf32>) -> tensor<f32>
  %4 = scf.if %c -> (tensor<8xf32>) {
    scf.yield %0 : tensor<8xf32>
  } else {
    scf.yield %x : tensor<8xf32>
  }
  func.return %4, %3 : tensor<8xf32>, tensor<f32>
}

// What several operators read that move to one place stays before all of them.
// CHECK-LABEL: func.func @readers_that_move
func.func @readers_that_move(%x: tensor<2xf32>, %large: tensor<64xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<64xf32>, tensor<2xf32>) {
  // CHECK-NEXT: %0 = edge.exp(%x)
  // CHECK-NEXT: %1 = edge.abs(%0)
  // CHECK-NEXT: %2 = edge.exp(%large)
  // CHECK-NEXT: %3 = edge.neg(%2)
  // CHECK-NEXT: %4 = edge.neg(%0)
  // CHECK-NEXT: %5 = edge.sqrt(%1)
  // CHECK-NEXT: func.return %4, %1, %5, %0, %3, %x
  %0 = edge.exp(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = edge.abs(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = edge.neg(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %3 = edge.sqrt(%1) : (tensor<2xf32>) -> tensor<2xf32>
  %4 = edge.exp(%large) : (tensor<64xf32>) -> tensor<64xf32>
  %5 = edge.neg(%4) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %2, %1, %3, %0, %5, %x : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<64xf32>, tensor<2xf32>
}
