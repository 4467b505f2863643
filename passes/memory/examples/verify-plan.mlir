// flambeau-opt -p 'verify-plan'
exec.method @forward {arenas = [48]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %z = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  %a = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %y = exec.tensor {arena = 1, offset = 32} : tensor<4xf32>
  exec.call "aten::exp.out"(%z) outs(%a)
  exec.call "aten::mul.out"(%x, %a) outs(%y)
  exec.return inputs(%x, %z) outputs(%y)
}

// -----

// error: verify-plan: method @forward: instruction 1 (aten::mul.out) reads %x, over whose bytes instruction 0 (aten::exp.out) wrote through %a
//   instruction 0 (aten::exp.out) is this one
