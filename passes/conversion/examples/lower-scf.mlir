// flambeau-opt -p 'lower-scf'
func.func @forward(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = scf.if %c -> (tensor<4xf32>) {
    %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

func.func @forward(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  cf.br ^bb3(%0 : tensor<4xf32>)
^bb2:
  cf.br ^bb3(%x : tensor<4xf32>)
^bb3(%y: tensor<4xf32>):
  func.return %y : tensor<4xf32>
}
