// flambeau-opt -p 'lower-expressions'
exec.method @forward {} {
  %x = exec.tensor : tensor<?xf32, #edge.layout<sizes = [s0 in [2, 9]]>>
  %s0 = exec.int 0
  %zero = exec.int 0
  %n = exec.int 0
  %shape = exec.int_list [%n]
  %one = exec.double 1.0
  %y = exec.tensor : tensor<?xf32, #edge.layout<sizes = [s0 * 2 + 1]>>
  exec.call "aten::sym_size.int"(%x, %zero) returns(%s0)
  exec.evaluate ins(s0 = %s0) outs(s0 * 2 + 1 = %n)
  exec.call "aten::full.out"(%shape, %one) outs(%y)
  exec.return inputs(%x) outputs(%y)
}

// -----

exec.method @forward {} {
  %x = exec.tensor : tensor<?xf32, #edge.layout<sizes = [s0 in [2, 9]]>>
  %s0 = exec.int 0
  %zero = exec.int 0
  %0 = exec.int 2
  %1 = exec.int 0
  %2 = exec.int 1
  %n = exec.int 0
  %shape = exec.int_list [%n]
  %one = exec.double 1.0
  %y = exec.tensor : tensor<?xf32, #edge.layout<sizes = [s0 * 2 + 1]>>
  exec.call "aten::sym_size.int"(%x, %zero) returns(%s0)
  exec.call "executorch_prim::mul.Scalar"(%s0, %0) returns(%1)
  exec.call "executorch_prim::add.Scalar"(%1, %2) returns(%n)
  exec.call "aten::full.out"(%shape, %one) outs(%y)
  exec.return inputs(%x) outputs(%y)
}
