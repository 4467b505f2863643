// flambeau-opt -p 'simplify-jumps'
exec.method @forward {} {
  %c = exec.tensor : tensor<i1>
  %x = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  %false = exec.bool false
  exec.label @head
  exec.call "aten::relu.out"(%x) outs(%y)
  exec.jump_false %c, @edge
  exec.jump_false %false, @rest
  exec.label @edge
  exec.jump_false %false, @head
  exec.label @rest
  exec.return inputs(%c, %x) outputs(%y)
}

// -----

exec.method @forward {} {
  %c = exec.tensor : tensor<i1>
  %x = exec.tensor : tensor<4xf32>
  %y = exec.tensor : tensor<4xf32>
  exec.label @head
  exec.call "aten::relu.out"(%x) outs(%y)
  exec.jump_false %c, @head
  exec.return inputs(%c, %x) outputs(%y)
}
