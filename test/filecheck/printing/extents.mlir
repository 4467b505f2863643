// RUN: flambeau-opt %s | filecheck %s
// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --mlir-print-op-generic | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --mlir-print-op-generic | filecheck %s --check-prefix GENERIC

// The range of a symbol stands where the text names it first.
// CHECK: func.func @named(%x: tensor<?x4xf32, #edge.layout<sizes = [s0 in [1, 512], 4]>>) -> tensor<?xf32, #edge.layout<sizes = [s0 * 4]>> {
// CHECK-NEXT: aten.view(%x) {size = [s0 * 4]} : (tensor<?x4xf32, #edge.layout<sizes = [s0, 4]>>)
// GENERIC: "aten.view"(%x) <{size = [#flambeau.extent<(s0 in [1, 512]) * 4>]}>
func.func @named(%x: tensor<?x4xf32, #edge.layout<sizes = [s0 in [1, 512], 4]>>) -> tensor<?xf32, #edge.layout<sizes = [4 * s0]>> {
  %0 = aten.view(%x) {size = [2 * (s0 + s0)]} : (tensor<?x4xf32, #edge.layout<sizes = [s0, 4]>>) -> tensor<?xf32, #edge.layout<sizes = [s0 * 4]>>
  func.return %0 : tensor<?xf32, #edge.layout<sizes = [s0 * 4]>>
}

// The same name with another range is another symbol from there on.
// CHECK: func.func @other(%x: tensor<?xf32, #edge.layout<sizes = [s0 in [2, ?]]>>) {
// CHECK-NEXT: aten.relu(%x) : (tensor<?xf32, #edge.layout<sizes = [s0]>>)
func.func @other(%x: tensor<?xf32, #edge.layout<sizes = [s0 in [2, ?]]>>) {
  %0 = aten.relu(%x) : (tensor<?xf32, #edge.layout<sizes = [s0]>>) -> tensor<?xf32, #edge.layout<sizes = [s0]>>
  func.return
}

// CHECK: func.func @forms(
// CHECK-SAME: #edge.layout<sizes = [(a in [0, 9]) * (b in [1, 4]) + a - 1, min(a, b) mod 3, (a + 7) floordiv b, ? in [0, 8]]>>
// CHECK-SAME: tensor<?x3xf32, #edge.layout<[1, 0], sizes = [max(a, b), 3]>>
func.func @forms(%x: tensor<?x?x?x?xf32, #edge.layout<sizes = [(a in [0, 9]) * (b in [1, 4]) + a - 1, min(b, a) mod 3, (7 + a) floordiv b, ? in [0, 8]]>>,
                 %y: tensor<?x3xf32, #edge.layout<[1, 0], sizes = [max(a, b), 3]>>) {
  func.return
}

// What the ranges decide is written in its simplest form.
// CHECK: func.func @decided(%x: tensor<?x?x5x?xf32, #edge.layout<sizes = [c in [6, 9], c + 1, 5, c]>>) {
func.func @decided(%x: tensor<?x?x5x?xf32, #edge.layout<sizes = [c in [6, 9], (c * 4 + 6) floordiv 4, min(c, 5), c mod 12]>>) {
  func.return
}
