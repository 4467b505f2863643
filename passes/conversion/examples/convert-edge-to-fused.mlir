// flambeau-opt -p 'convert-edge-to-fused'
ml_program.global private @w(#flambeau.blob<"w", "24ae2dfe8df57c1b">) : tensor<2x3xf32>
func.func @forward(%x: tensor<5x3xf32>) -> tensor<5x2xf32> {
  %w = ml_program.global_load_const @w : tensor<2x3xf32>
  %0 = edge.linear(%x, %w, none) : (tensor<5x3xf32>, tensor<2x3xf32>) -> tensor<5x2xf32>
  func.return %0 : tensor<5x2xf32>
}

// -----

ml_program.global private @w(#flambeau.blob<"w", "24ae2dfe8df57c1b">) : tensor<2x3xf32>
ml_program.global private @w.packed(#flambeau.blob<"w.packed", "df63c3f14b5bbecd">) : tensor<1x3x16xf32>
func.func @forward(%x: tensor<5x3xf32>) -> tensor<5x2xf32> {
  %0 = ml_program.global_load_const @w.packed : tensor<1x3x16xf32>
  %1 = fused.linear(%x, %0, none, none) {out_features = 2} : (tensor<5x3xf32>, tensor<1x3x16xf32>) -> tensor<5x2xf32>
  func.return %1 : tensor<5x2xf32>
}
