// RUN: flambeau-opt %s -p remove-dead-code | filecheck %s
// RUN: flambeau-opt %s -p canonicalize | filecheck %s

// CHECK:      func.func @used
// CHECK-NEXT:   %0 = core.nonzero(%x)
// CHECK-NEXT:   %1 = flambeau.value u0
func.func @used(%x: tensor<4xf32>) -> i64 {
  %0 = core.nonzero(%x) : (tensor<4xf32>) -> tensor<?x1xi64, #edge.layout<sizes = [u0 in [0, 4], 1]>>
  %1 = flambeau.value u0 : i64
  func.return %1 : i64
}

// CHECK:      func.func @unused
// CHECK-NEXT:   func.return
func.func @unused(%x: tensor<4xf32>) {
  %0 = core.nonzero(%x) : (tensor<4xf32>) -> tensor<?x1xi64, #edge.layout<sizes = [u0 in [0, 4], 1]>>
  %1 = core.add.Scalar(%0) {other = 1} : (tensor<?x1xi64, #edge.layout<sizes = [u0, 1]>>) -> tensor<?x1xi64, #edge.layout<sizes = [u0, 1]>>
  func.return
}

// CHECK:      func.func @of_an_input
// CHECK-NEXT:   %0 = flambeau.value b
func.func @of_an_input(%x: tensor<?xf32, #edge.layout<sizes = [b in [1, 4]]>>) -> i64 {
  %0 = core.relu(%x) : (tensor<?xf32, #edge.layout<sizes = [b]>>) -> tensor<?xf32, #edge.layout<sizes = [b]>>
  %1 = flambeau.value b : i64
  func.return %1 : i64
}
