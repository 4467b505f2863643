// flambeau-opt -p 'fold-constants,remove-dead-code'
ml_program.global private @w(#flambeau.blob<"w", "24ae2dfe8df57c1b">) : tensor<2x3xf32>
func.func @forward(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = ml_program.global_load_const @w : tensor<2x3xf32>
  %0 = core.permute(%w) {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = core.neg(%0) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = core.add.Tensor(%x, %1) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %2 : tensor<3x2xf32>
}

// -----

ml_program.global private @w.neg(#flambeau.blob<"w.neg", "fd2472e9537c8b8d">) : tensor<3x2xf32>
func.func @forward(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = ml_program.global_load_const @w.neg : tensor<3x2xf32>
  %1 = core.add.Tensor(%x, %0) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %1 : tensor<3x2xf32>
}
