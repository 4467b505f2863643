// RUN: flambeau-opt %s -p 'partition{backends=coreml{target=iOS18}},convert-partitions,lower-partitions' | filecheck %s --check-prefix=TAKEN
// RUN: flambeau-opt %s -p 'partition{backends=coreml},convert-partitions,lower-partitions' | filecheck %s --check-prefix=LEFT

// A state that one partition alone reads and writes is in its payload, from iOS18 on.
// TAKEN-NOT:     private mutable
// TAKEN:         delegate.payload @sum_coreml_0 backend "CoreMLBackend"{{.*}} : (tensor<2xf32>) -> tensor<2xf32> attributes {{{.*}}delegate.states = ["total"]
// TAKEN-LABEL:   func.func @sum
// TAKEN-NEXT:      %[[TWICE:.*]] = delegate.call @sum_coreml_0(%x) {delegate.states = ["total"]} : (tensor<2xf32>) -> tensor<2xf32>
// TAKEN-NEXT:      func.return %[[TWICE]]

// LEFT:          ml_program.global private mutable @total
// LEFT-LABEL:    func.func @sum
// LEFT-NEXT:       ml_program.global_load @total
// LEFT-NEXT:       delegate.call @sum_coreml_0({{.*}}) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
// LEFT-NEXT:       ml_program.global_store @total
ml_program.global private mutable @total(dense<0.0> : tensor<2xf32>) : tensor<2xf32>
func.func @sum(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = ml_program.global_load @total : tensor<2xf32>
  %1 = edge.add.Tensor(%0, %x) {} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = edge.mul.Scalar(%1) {other = 2} : (tensor<2xf32>) -> tensor<2xf32>
  ml_program.global_store @total = %1 : tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
