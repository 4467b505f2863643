// RUN: flambeau-opt %s -p symbol-dce | filecheck %s
// RUN: flambeau-opt %s -p symbol-dce --debug-counter=symbol-dce-count=1 | filecheck %s --check-prefix=ONE

// What is reached from a public function stays, through other functions too.
// CHECK:     ml_program.global private @used
// CHECK-NOT: @unused
ml_program.global private @used(dense<1.0> : tensor<2xf32>) : tensor<2xf32>
ml_program.global private @unused(dense<2.0> : tensor<2xf32>) : tensor<2xf32>
ml_program.global public @offered(dense<3.0> : tensor<2xf32>) : tensor<2xf32>

// CHECK:     ml_program.global public @offered
// CHECK:     func.func private @inner
func.func private @inner() -> tensor<2xf32> {
  %0 = ml_program.global_load_const @used : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// Private functions that only call each other go; a caller goes before what it calls.
// CHECK-NOT: @ping
// CHECK-NOT: @pong
// CHECK-NOT: @caller
// ONE-NOT:   @caller
// ONE:       @ping
// ONE:       @pong
func.func private @caller(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @ping(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = ml_program.global_load_const @unused : tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
func.func private @ping(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @pong(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
func.func private @pong(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @ping(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// CHECK:     func.func @forward
func.func @forward() -> tensor<2xf32> {
  %0 = func.call @inner() : () -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
