// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p convert-core-to-edge | filecheck %s

// Operands are cast to the type that is computed in.
// CHECK-LABEL: func.func @promotion
// CHECK-NEXT:    %[[I:.*]] = edge._to_copy(%i) {dtype = f32} : (tensor<2xi64>) -> tensor<2xf32>
// CHECK-NEXT:    edge.add.Tensor(%x, %[[I]]) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:    %[[J:.*]] = edge._to_copy(%i) {dtype = f32}
// CHECK-NEXT:    edge.lt.Tensor(%x, %[[J]]) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
// CHECK-NEXT:    %[[K:.*]] = edge._to_copy(%i) {dtype = f32}
// CHECK-NEXT:    edge.sigmoid(%[[K]])
func.func @promotion(%x: tensor<2xf32>, %i: tensor<2xi64>) -> (tensor<2xf32>, tensor<2xi1>, tensor<2xf32>) {
  %0 = core.add.Tensor(%x, %i) : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
  %1 = core.lt.Tensor(%x, %i) : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xi1>
  %2 = core.sigmoid(%i) : (tensor<2xi64>) -> tensor<2xf32>
  func.return %0, %1, %2 : tensor<2xf32>, tensor<2xi1>, tensor<2xf32>
}

// -----

// Numbers are written in the type that is computed in; a condition stays a condition.
// CHECK-LABEL: func.func @scalars
// CHECK-NEXT:    edge.mul.Scalar(%x) {other = 2.0}
// CHECK-NEXT:    %[[I:.*]] = edge._to_copy(%i) {dtype = f32}
// CHECK-NEXT:    edge.where.self(%c, %x, %[[I]]) : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
func.func @scalars(%x: tensor<2xf32>, %i: tensor<2xi64>, %c: tensor<2xi1>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = core.mul.Scalar(%x) {other = 2} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = core.where.self(%c, %x, %i) : (tensor<2xi1>, tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// -----

// Views are copies.
// CHECK-LABEL: func.func @views
// CHECK-NEXT:    edge.view_copy(%x) {size = [6]}
// CHECK-NEXT:    edge.slice_copy.Tensor(%x) {dim = 1, start = 1}
func.func @views(%x: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<2x2xf32>) {
  %0 = core.view(%x) {size = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = core.slice.Tensor(%x) {dim = 1, start = 1} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return %0, %1 : tensor<6xf32>, tensor<2x2xf32>
}

// -----

func.func @early(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{convert-core-to-edge: 1 operation cannot be converted to the edge level: aten.relu: it does not belong to the edge level; run aten-to-core first}}
  %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @without_bound(%x: tensor<2x3xf32>) -> tensor<?x2xi64> {
  // expected-error @+1 {{core.nonzero: it has no form at the edge level; ToEdgePattern declined: tensor<?x2xi64> has a dynamic dimension without a bound}}
  %0 = core.nonzero(%x) : (tensor<2x3xf32>) -> tensor<?x2xi64>
  func.return %0 : tensor<?x2xi64>
}
