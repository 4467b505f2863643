// RUN: flambeau-opt %s -p print-op-stats -o /dev/null 2>&1 | filecheck %s
// RUN: flambeau-opt %s -p 'print-op-stats{json}' -o /dev/null 2>&1 | filecheck %s --check-prefix=JSON
// RUN: flambeau-opt %s -p 'func.func(print-op-stats)' | filecheck %s --check-prefix=SAME

// CHECK:      Operations encountered:
// CHECK-NEXT: -----------------------
// CHECK-NEXT:   builtin , module     , 1
// CHECK-NEXT:      core , add.Tensor , 1
// CHECK-NEXT:      core , relu       , 2
// CHECK-NEXT:      func , func       , 1
// CHECK-NEXT:      func , return     , 1
// CHECK-NOT:  {{.}}

// JSON:      {
// JSON-NEXT:   "builtin.module": 1,
// JSON-NEXT:   "core.add.Tensor": 1,
// JSON-NEXT:   "core.relu": 2,

// SAME: core.add.Tensor
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = core.relu(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = core.add.Tensor(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
