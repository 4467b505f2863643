// flambeau-opt -p 'plan-memory{alignment=64}'
exec.method @forward {} {
  %x = exec.tensor : tensor<8xf32>
  %a = exec.tensor : tensor<8xf32>
  %b = exec.tensor : tensor<8xf32>
  %y = exec.tensor : tensor<8xf32>
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%a) outs(%b)
  exec.call "aten::exp.out"(%b) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// -----

exec.method @forward {arenas = [128], "flambeau.arena_lower_bound" = 128 : i64, "flambeau.arena_algorithm" = "first-fit by size"} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<8xf32>
  %a = exec.tensor {arena = 1, offset = 64} : tensor<8xf32>
  %b = exec.tensor {arena = 1, offset = 0} : tensor<8xf32>
  %y = exec.tensor {arena = 1, offset = 64} : tensor<8xf32>
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::neg.out"(%a) outs(%b)
  exec.call "aten::exp.out"(%b) outs(%y)
  exec.return inputs(%x) outputs(%y)
}
