// flambeau-opt -p lower-complex
func.func @forward(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.complex(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %1 = aten.mul.Tensor(%0, %0) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %2 = aten.real(%1) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// -----

func.func @forward(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.mul.Tensor(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.mul.Tensor(%b, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.sub.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
