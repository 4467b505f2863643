// RUN: flambeau-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: error: global @w is neither mutable nor has a value: a constant needs one
ml_program.global private @w : tensor<4xf32>

// -----

// CHECK: error: the digest of blob 'w' must be 16 lower-case hexadecimal digits, not 'xyz'
ml_program.global private @w(#ml_program.blob<"w", "xyz">) : tensor<4xf32>

// -----

// CHECK: error: the key of a blob must not be empty
ml_program.global private @w(#ml_program.blob<"", "0123456789abcdef">) : tensor<4xf32>

// -----

// CHECK: error: @w names no ml_program.global of the module
func.func @f() {
  %0 = ml_program.global_load_const @w : tensor<4xf32>
  func.return
}

// -----

// CHECK: error: loads tensor<3xf32>, but global @w is tensor<4xf32>
ml_program.global private @w(#ml_program.blob<"w", "0123456789abcdef">) : tensor<4xf32>
func.func @f() {
  %0 = ml_program.global_load_const @w : tensor<3xf32>
  func.return
}

// -----

// CHECK: error: global @w is mutable: load it with ml_program.global_load
ml_program.global private mutable @w : tensor<4xf32>
func.func @f() {
  %0 = ml_program.global_load_const @w : tensor<4xf32>
  func.return
}

// -----

// CHECK: error: global @w is a constant: only a mutable global can be stored to
ml_program.global private @w(#ml_program.blob<"w", "0123456789abcdef">) : tensor<4xf32>
func.func @f(%a: tensor<4xf32>) {
  ml_program.global_store @w = %a : tensor<4xf32>
  func.return
}

// -----

// CHECK: error: stores tensor<3xf32>, but global @w is tensor<4xf32>
ml_program.global private mutable @w : tensor<4xf32>
func.func @f(%a: tensor<3xf32>) {
  ml_program.global_store @w = %a : tensor<3xf32>
  func.return
}
