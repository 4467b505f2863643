// flambeau-opt -p 'reuse-storage'
exec.method @forward {} {
  %x = exec.tensor : tensor<4xf32>
  %a = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%a) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// -----

exec.method @forward {} {
  %x = exec.tensor : tensor<4xf32>
  %a = exec.reuse %x : tensor<4xf32>
  %y = exec.reuse %a : tensor<4xf32>
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%a) outs(%y)
  exec.return inputs(%x) outputs(%y)
}
