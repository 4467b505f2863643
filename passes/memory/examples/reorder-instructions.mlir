// flambeau-opt -p 'reorder-instructions'
exec.method @forward {} {
  %x = exec.tensor : tensor<4xf32>
  %a = exec.tensor : tensor<64xf32>
  %b = exec.tensor : tensor<64xf32>
  %c = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  exec.call "aten::neg.out"(%x) outs(%a)
  exec.call "aten::abs.out"(%x) outs(%b)
  exec.call "aten::relu.out"(%a) outs(%c)
  exec.call "aten::relu.out"(%b) outs(%y)
  exec.return inputs(%x) outputs(%c, %y)
}

// -----

exec.method @forward {} {
  %x = exec.tensor : tensor<4xf32>
  %a = exec.tensor : tensor<64xf32>
  %b = exec.tensor : tensor<64xf32>
  %c = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  exec.call "aten::neg.out"(%x) outs(%a)
  exec.call "aten::relu.out"(%a) outs(%c)
  exec.call "aten::abs.out"(%x) outs(%b)
  exec.call "aten::relu.out"(%b) outs(%y)
  exec.return inputs(%x) outputs(%c, %y)
}
