// flambeau-opt -p 'elide-views'
exec.method @forward {} {
  %x = exec.tensor : tensor<2x4xf32>
  %a = exec.tensor : tensor<2x4xf32>
  %four = exec.int 4
  %two = exec.int 2
  %size = exec.int_list [%four, %two]
  %b = exec.tensor : tensor<4x2xf32>
  %y = exec.tensor : tensor<4x2xf32>
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::view_copy.out"(%a, %size) outs(%b)
  exec.call "aten::neg.out"(%b) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// -----

exec.method @forward {} {
  %x = exec.tensor : tensor<2x4xf32>
  %a = exec.tensor : tensor<2x4xf32>
  %b = exec.view %a : tensor<4x2xf32>
  %y = exec.tensor : tensor<4x2xf32>
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%b) outs(%y)
  exec.return inputs(%x) outputs(%y)
}
