// RUN: flambeau-opt %s --verify-diagnostics -p reuse-storage
// RUN: flambeau-opt %s --verify-diagnostics -p elide-views
// RUN: flambeau-opt %s --verify-diagnostics -p place-concat
// RUN: flambeau-opt %s -p plan-memory,verify-plan

// What changes lifetimes would leave a plan that is wrong.
// expected-error @+1 {{the memory of @m is planned already; run this before plan-memory}}
exec.method @m {arenas = [48]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %y = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  exec.call "aten::relu.out"(%x) outs(%y)
  exec.return inputs(%x) outputs(%y)
}
