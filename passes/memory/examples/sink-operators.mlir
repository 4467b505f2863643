// flambeau-opt -p 'sink-operators'
ml_program.global private @a(dense<1> : tensor<8xi8>) : tensor<8xi8>
func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = ml_program.global_load_const @a : tensor<8xi8>
  %0 = edge._to_copy(%a) {dtype = f32} : (tensor<8xi8>) -> tensor<8xf32>
  %1 = edge._to_copy(%a) {dtype = f32} : (tensor<8xi8>) -> tensor<8xf32>
  %2 = edge._to_copy(%a) {dtype = f32} : (tensor<8xi8>) -> tensor<8xf32>
  %3 = edge.mul.Tensor(%x, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = edge.mul.Tensor(%3, %1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = edge.mul.Tensor(%4, %2) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %5 : tensor<8xf32>
}

// -----

ml_program.global private @a(dense<1> : tensor<8xi8>) : tensor<8xi8>
func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = ml_program.global_load_const @a : tensor<8xi8>
  %0 = edge._to_copy(%a) {dtype = f32} : (tensor<8xi8>) -> tensor<8xf32>
  %1 = edge.mul.Tensor(%x, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = edge._to_copy(%a) {dtype = f32} : (tensor<8xi8>) -> tensor<8xf32>
  %3 = edge.mul.Tensor(%1, %2) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = edge._to_copy(%a) {dtype = f32} : (tensor<8xi8>) -> tensor<8xf32>
  %5 = edge.mul.Tensor(%3, %4) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %5 : tensor<8xf32>
}
