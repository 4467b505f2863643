// RUN: flambeau-opt %s -p fold-constants,delegate{backends=xnnpack},disassemble-payloads | filecheck %s

// What it loads gets a name that nothing else has.
// CHECK:       ml_program.global private @forward_xnnpack_0__value_1(#flambeau.blob<"forward_xnnpack_0__value_1", "{{.*}}">) : tensor<4xf32>
// CHECK-NEXT:  delegate.partition @forward_xnnpack_0 backend "XnnpackBackend" (%0: tensor<4xf32>) -> (tensor<4xf32>) {
// CHECK-NEXT:    %1 = ml_program.global_load_const @forward_xnnpack_0__value_1 : tensor<4xf32>
// CHECK-NEXT:    %2 = xnnpack.add(%0, %1) {output_min = 0.0}
// CHECK-NEXT:    delegate.return %2 : tensor<4xf32>
// CHECK:       delegate.call @forward_xnnpack_0(%x)
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.full() {size = [4], fill_value = 2.5} : () -> tensor<4xf32>
  %1 = edge.add.Tensor(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.relu(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
func.func @forward_xnnpack_0_value_1() {
  func.return
}
