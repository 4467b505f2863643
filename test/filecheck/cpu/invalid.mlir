// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

exec.method @operands {} {
  %x = exec.tensor : tensor<4xf32>
  // expected-error @+1 {{the arguments of the body are not of the types of the operands}}
  cpu.loop(%x) outs(%x) do {
  ^bb0(%a : tensor<3xf32>):
    cpu.yield %a : tensor<3xf32>
  }
  exec.return inputs(%x) outputs(%x)
}

// -----

exec.method @outs {} {
  %x = exec.tensor : tensor<4xf32>
  // expected-error @+1 {{the body does not yield a value of the type of each out}}
  cpu.loop(%x) outs(%x) do {
  ^bb0(%a : tensor<4xf32>):
    cpu.yield
  }
  exec.return inputs(%x) outputs(%x)
}

// -----

exec.method @body {} {
  %x = exec.tensor : tensor<4xf32>
  // expected-error @+1 {{the body has cpu.element operations, and ends with cpu.yield}}
  cpu.loop(%x) outs(%x) do {
  ^bb0(%a : tensor<4xf32>):
    exec.label @here
    cpu.yield %a : tensor<4xf32>
  }
  exec.return inputs(%x) outputs(%x)
}

// -----

exec.method @operator {} {
  %x = exec.tensor : tensor<4xf32>
  cpu.loop(%x) outs(%x) do {
  ^bb0(%a : tensor<4xf32>):
    // expected-error @+1 {{aten::mm.out is not an operator that loops compute}}
    %0 = cpu.element "aten::mm.out"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    cpu.yield %0 : tensor<4xf32>
  }
  exec.return inputs(%x) outputs(%x)
}
