// flambeau-opt -p 'fold-batch-norm,remove-dead-code'
ml_program.global private @k(#flambeau.blob<"k", "703303c93f1dce84">) : tensor<2x1x1x1xf32>
ml_program.global private @scale(#flambeau.blob<"scale", "703303c93f1dce84">) : tensor<2xf32>
ml_program.global private @shift(#flambeau.blob<"shift", "80b8fd6d60fa85fd">) : tensor<2xf32>
ml_program.global private @mean(#flambeau.blob<"mean", "22b6f43bd8d27738">) : tensor<2xf32>
ml_program.global private @var(#flambeau.blob<"var", "0db37f16bad89729">) : tensor<2xf32>
func.func @forward(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %k = ml_program.global_load_const @k : tensor<2x1x1x1xf32>
  %scale = ml_program.global_load_const @scale : tensor<2xf32>
  %shift = ml_program.global_load_const @shift : tensor<2xf32>
  %mean = ml_program.global_load_const @mean : tensor<2xf32>
  %var = ml_program.global_load_const @var : tensor<2xf32>
  %0 = core.convolution(%x, %k, none) {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1, %2, %3 = core._native_batch_norm_legit_no_training(%0, %scale, %shift, %mean, %var) {momentum = 0.1, eps = 1.0} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4x4xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %1 : tensor<1x2x4x4xf32>
}

// -----

ml_program.global private @k.batch_norm(#flambeau.blob<"k.batch_norm", "703303c93f1dce84">) : tensor<2x1x1x1xf32>
ml_program.global private @k.batch_norm_bias(#flambeau.blob<"k.batch_norm_bias", "434b26042aff3fb8">) : tensor<2xf32>
func.func @forward(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %0 = ml_program.global_load_const @k.batch_norm : tensor<2x1x1x1xf32>
  %1 = ml_program.global_load_const @k.batch_norm_bias : tensor<2xf32>
  %2 = core.convolution(%x, %0, %1) {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  func.return %2 : tensor<1x2x4x4xf32>
}
