// RUN: flambeau-opt %s -p 'partition{backends=coreml},convert-partitions,cse' | filecheck %s

// Between inputs and outputs, all is of float16. A number that it does not have keeps its operator in float32.
// CHECK-LABEL: delegate.partition @gate_coreml_0 backend "CoreMLBackend"
// CHECK-NEXT:    %[[X:.*]] = coreml.cast(%x) {dtype = "fp16"}
// CHECK-NEXT:    %[[NUMBER:.*]] = ml_program.global_load_const @number.f16
// CHECK-NEXT:    %[[SUM:.*]] = coreml.add(%[[X]], %[[NUMBER]])
// CHECK-NEXT:    %[[HARD:.*]] = coreml.sigmoid_hard(%[[SUM]]) {alpha = 0.1666259765625, beta = 0.5}
// CHECK-NEXT:    %[[GATE:.*]] = coreml.mul(%[[SUM]], %[[HARD]])
// CHECK-NEXT:    %[[LARGE:.*]] = ml_program.global_load_const @number_1
// CHECK-NEXT:    %[[WIDE:.*]] = coreml.cast(%[[GATE]]) {dtype = "fp32"}
// CHECK-NEXT:    coreml.minimum(%[[WIDE]], %[[LARGE]])
func.func @gate(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.add.Scalar(%x) {other = 3} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.hardswish(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.clamp(%1) {max = 100000} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}
