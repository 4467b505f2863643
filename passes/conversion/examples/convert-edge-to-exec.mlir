// flambeau-opt -p 'convert-edge-to-exec'
func.func @forward(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.add.Tensor(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = edge.relu(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

exec.method @forward {input_names = ["input_0", "input_1"], output_names = ["output_0"]} {
  %x = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  %0 = exec.int 1
  %1 = exec.tensor : tensor<4xf32>
  %2 = exec.tensor : tensor<4xf32>
  exec.call "aten::add.out"(%x, %y, %0) outs(%1)
  exec.call "aten::relu.out"(%1) outs(%2)
  exec.return inputs(%x, %y) outputs(%2)
}
