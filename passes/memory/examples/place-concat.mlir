// flambeau-opt -p 'place-concat'
exec.method @forward {} {
  %x = exec.tensor : tensor<2x4xf32>
  %a = exec.tensor : tensor<2x4xf32>
  %b = exec.tensor : tensor<2x4xf32>
  %list = exec.tensor_list [%a, %b]
  %zero = exec.int 0
  %y = exec.tensor : tensor<4x4xf32>
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%x) outs(%b)
  exec.call "aten::cat.out"(%list, %zero) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// -----

exec.method @forward {} {
  %x = exec.tensor : tensor<2x4xf32>
  %y = exec.tensor : tensor<4x4xf32>
  %a = exec.view %y : tensor<2x4xf32>
  %b = exec.view %y {offset = 32} : tensor<2x4xf32>
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%x) outs(%b)
  exec.return inputs(%x) outputs(%y)
}
