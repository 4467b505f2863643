// RUN: flambeau-opt %s -p strip-debuginfo --print-debuginfo | filecheck %s
// RUN: flambeau-opt %s -p 'func.func(strip-debuginfo)' --print-debuginfo | filecheck %s --check-prefix=NESTED

// CHECK-LABEL: func.func @f
// CHECK-NOT:   {{loc\("|\.py}}
// NESTED:      ml_program.global {{.*}} loc("w"("m.py":1:1))
// NESTED-NOT:  {{loc\("x|loc\("relu}}
ml_program.global private @w(dense<1.0> : tensor<2xf32>) : tensor<2xf32> loc("w"("m.py":1:1))
func.func @f(%x: tensor<2xf32> loc("x"("m.py":2:1))) -> tensor<2xf32> {
  %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("relu"("m.py":3:1))
  func.return %0 : tensor<2xf32>
}
