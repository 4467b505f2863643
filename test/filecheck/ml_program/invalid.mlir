// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{global @w is neither mutable nor has a value: a constant needs one}}
ml_program.global private @w : tensor<4xf32>

// -----

func.func @f() {
  // expected-error @+1 {{@w names no ml_program.global of the module}}
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
  // expected-error @+1 {{global @w is a constant: only a mutable global can be stored to}}
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
