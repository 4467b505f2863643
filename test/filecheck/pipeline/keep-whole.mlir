// RUN: flambeau-opt %s -p 'aten-to-core,core-to-edge,delegate{backends=xnnpack}' --mlir-print-ir-after=convert-partitions 2>&1 | filecheck %s --check-prefix TAKEN
// RUN: flambeau-opt %s -p 'aten-to-core,core-to-edge' | filecheck %s --check-prefix WHOLE
// RUN: flambeau-opt %s -p 'aten-to-core,core-to-edge,delegate{backends=xnnpack no-delegate=layers.1},legalize' | filecheck %s --check-prefix LEFT
// RUN: flambeau-opt %s -p 'aten-to-core,core-to-edge,legalize' | filecheck %s --check-prefix WITHOUT

// XNNPACK takes hardswish whole, of float32 only. What it does not take is decomposed for a target without a kernel of it.
// TAKEN-LABEL: delegate.partition
// TAKEN-NEXT:    xnnpack.hardswish
// TAKEN-NEXT:    xnnpack.hardswish
// WHOLE-COUNT-3: edge.hardswish
// WHOLE-NOT:    edge.hardswish
// LEFT:         delegate.call
// LEFT-NOT:     edge.hardswish
// LEFT:         edge.add.Scalar(%{{.*}}) {other = 3.0} : (tensor<3xf32>)
// LEFT:         edge.hardtanh
// LEFT:         edge.add.Scalar(%{{.*}}) {other = 3.0} : (tensor<3xf64>)
// LEFT:         edge.hardtanh
// LEFT-NOT:     aten.
// LEFT-NOT:     core.
// WITHOUT-NOT:  edge.hardswish
func.func @forward(%x: tensor<3xf32>, %y: tensor<3xf64>) -> (tensor<3xf32>, tensor<3xf64>) {
  %0 = aten.hardswish(%x) : (tensor<3xf32>) -> tensor<3xf32> loc("layers.0"("m.py":1:1))
  %1 = aten.hardswish(%0) : (tensor<3xf32>) -> tensor<3xf32> loc("layers.1"("m.py":2:1))
  %2 = aten.hardswish(%y) : (tensor<3xf64>) -> tensor<3xf64> loc("layers.2"("m.py":3:1))
  func.return %1, %2 : tensor<3xf32>, tensor<3xf64>
}
