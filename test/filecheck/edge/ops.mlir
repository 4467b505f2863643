// RUN: flambeau-opt %s | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt - | filecheck %s

// Views are copies, and a type may name its layout: a dim order, and bounds of dynamic dimensions.
// CHECK-LABEL: func.func @edge
// CHECK-NEXT:    edge.view_copy(%x) {size = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
// CHECK-NEXT:    edge.relu(%y) : (tensor<1x2x3x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x2x3x4xf32, #edge.layout<[0, 2, 3, 1]>>
// CHECK-NEXT:    edge._to_dim_order_copy(%y) {dim_order = [0, 1, 2, 3]} : (tensor<1x2x3x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x2x3x4xf32>
// CHECK-NEXT:    edge.neg(%z) : (tensor<?x3xf32, #edge.layout<sizes = [? in [0, 8], 3]>>)
func.func @edge(%x: tensor<2x3xf32>, %y: tensor<1x2x3x4xf32, #edge.layout<[0, 2, 3, 1]>>, %z: tensor<?x3xf32, #edge.layout<sizes = [? in [0, 8], 3]>>) {
  %0 = edge.view_copy(%x) {size = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = edge.relu(%y) : (tensor<1x2x3x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x2x3x4xf32, #edge.layout<[0, 2, 3, 1]>>
  %2 = edge._to_dim_order_copy(%y) {dim_order = [0, 1, 2, 3]} : (tensor<1x2x3x4xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<1x2x3x4xf32>
  %3 = edge.neg(%z) : (tensor<?x3xf32, #edge.layout<sizes = [? in [0, 8], 3]>>) -> tensor<?x3xf32, #edge.layout<sizes = [? in [0, 8], 3]>>
  func.return
}

// Operands whose extents only the run tells apart.
// CHECK: edge.mul.Tensor(%y, %x) :
func.func @heads(%x: tensor<?x4xf32, #edge.layout<sizes = [s0 in [2, 64], 4]>>, %y: tensor<4x4xf32>) -> tensor<?x4xf32, #edge.layout<sizes = [s0, 4]>> {
  %0 = edge.mul.Tensor(%y, %x) : (tensor<4x4xf32>, tensor<?x4xf32, #edge.layout<sizes = [s0, 4]>>) -> tensor<?x4xf32, #edge.layout<sizes = [s0, 4]>>
  func.return %0 : tensor<?x4xf32, #edge.layout<sizes = [s0, 4]>>
}
