// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{constant global @w needs a value: give it one, or make it mutable}}
ml_program.global private @w : tensor<4xf32>

// -----

func.func @f() {
  // expected-error @+1 {{the module has no ml_program.global @w}}
  %0 = ml_program.global_load_const @w : tensor<4xf32>
  func.return
}

// -----

ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<4xf32>
func.func @f() {
  // expected-error @+1 {{loads tensor<3xf32>, but global @w is tensor<4xf32>}}
  %0 = ml_program.global_load_const @w : tensor<3xf32>
  func.return
}

// -----

ml_program.global private mutable @w : tensor<4xf32>
func.func @f() {
  // expected-error @+1 {{global @w is mutable: load it with ml_program.global_load}}
  %0 = ml_program.global_load_const @w : tensor<4xf32>
  func.return
}

// -----

ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<4xf32>
func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{global @w is a constant: ml_program.global_store needs a mutable global}}
  ml_program.global_store @w = %a : tensor<4xf32>
  func.return
}

// -----

ml_program.global private mutable @w : tensor<4xf32>
func.func @f(%a: tensor<3xf32>) {
  // expected-error @+1 {{stores tensor<3xf32>, but global @w is tensor<4xf32>}}
  ml_program.global_store @w = %a : tensor<3xf32>
  func.return
}
