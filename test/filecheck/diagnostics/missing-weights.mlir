// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p fold-constants
// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(fold-constants)'

// A pass that needs weights that are not there points at the global that names them.
// expected-error @below {{fold-constants: there are no weights under 'w': the .safetensors file that belongs to this module was not opened}}
ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<2xf32>
func.func @f() -> tensor<2xf32> {
  %0 = ml_program.global_load_const @w : tensor<2xf32>
  %1 = core.neg(%0) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
