// flambeau-opt -p 'coalesce-slots'
exec.method @forward {} {
  %x = exec.tensor : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  %none = exec.none
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::clone.out"(%a, %none) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// -----

exec.method @forward {} {
  %x = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  exec.call "aten::relu.out"(%x) outs(%y)
  exec.return inputs(%x) outputs(%y)
}
