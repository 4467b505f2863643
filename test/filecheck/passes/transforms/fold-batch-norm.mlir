// RUN: flambeau-opt %s -p fold-batch-norm,remove-dead-code | filecheck %s

ml_program.global private @w(#flambeau.blob<"w", "80b8fd6d60fa85fd">) : tensor<2x1x1x1xf32>
ml_program.global private @scale(#flambeau.blob<"scale", "703303c93f1dce84">) : tensor<2xf32>
ml_program.global private @shift(#flambeau.blob<"shift", "80b8fd6d60fa85fd">) : tensor<2xf32>
ml_program.global private @mean(#flambeau.blob<"mean", "22b6f43bd8d27738">) : tensor<2xf32>
ml_program.global private @var(#flambeau.blob<"var", "0db37f16bad89729">) : tensor<2xf32>

// With eps 1 the factors are scale / 2 and scale / 4 = [1, 1], and the offsets shift - mean * factor = [1, 0].
// CHECK-LABEL: func.func @folded
// CHECK:         %[[W:.*]] = ml_program.global_load_const @w.batch_norm : tensor<2x1x1x1xf32>
// CHECK-NEXT:    %[[B:.*]] = ml_program.global_load_const @w.batch_norm_bias : tensor<2xf32>
// CHECK-NEXT:    %[[Y:.*]] = core.convolution(%x, %[[W]], %[[B]])
// CHECK-NEXT:    func.return %[[Y]]
func.func @folded(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = ml_program.global_load_const @w : tensor<2x1x1x1xf32>
  %scale = ml_program.global_load_const @scale : tensor<2xf32>
  %shift = ml_program.global_load_const @shift : tensor<2xf32>
  %mean = ml_program.global_load_const @mean : tensor<2xf32>
  %var = ml_program.global_load_const @var : tensor<2xf32>
  %0 = core.convolution(%x, %w, none) {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1, %2, %3 = core._native_batch_norm_legit_no_training(%0, %scale, %shift, %mean, %var) {momentum = 0.1, eps = 1.0} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4x4xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %1 : tensor<1x2x4x4xf32>
}

// Somebody else reads the convolution's result, or the weights are no constants: nothing can be folded.
// CHECK-LABEL: func.func @shared
// CHECK:         core._native_batch_norm_legit_no_training
// CHECK-LABEL: func.func @not_constant
// CHECK:         core._native_batch_norm_legit_no_training
func.func @shared(%x: tensor<1x1x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %w = ml_program.global_load_const @w : tensor<2x1x1x1xf32>
  %scale = ml_program.global_load_const @scale : tensor<2xf32>
  %shift = ml_program.global_load_const @shift : tensor<2xf32>
  %mean = ml_program.global_load_const @mean : tensor<2xf32>
  %var = ml_program.global_load_const @var : tensor<2xf32>
  %0 = core.convolution(%x, %w, none) {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1, %2, %3 = core._native_batch_norm_legit_no_training(%0, %scale, %shift, %mean, %var) {momentum = 0.1, eps = 1.0} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4x4xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %0, %1 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}
func.func @not_constant(%x: tensor<1x1x4x4xf32>, %w: tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %scale = ml_program.global_load_const @scale : tensor<2xf32>
  %shift = ml_program.global_load_const @shift : tensor<2xf32>
  %mean = ml_program.global_load_const @mean : tensor<2xf32>
  %var = ml_program.global_load_const @var : tensor<2xf32>
  %0 = core.convolution(%x, %w, none) {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1, %2, %3 = core._native_batch_norm_legit_no_training(%0, %scale, %shift, %mean, %var) {momentum = 0.1, eps = 1.0} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4x4xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return %1 : tensor<1x2x4x4xf32>
}
