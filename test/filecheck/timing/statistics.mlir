// RUN: flambeau-opt %s -p 'func.func(canonicalize,cse)' --pass-statistics 2>&1 | filecheck %s
// RUN: flambeau-opt %s -p cse --mlir-pass-statistics --pass-statistics-json=- 2>&1 | filecheck %s --check-prefix=JSON

// CHECK:      canonicalize on func.func, 2 runs
// CHECK-NEXT:   operations: 5 -> 4 (-1 core.permute)
// CHECK-NEXT:   rewrites: IdentityPattern 1 of 3
// CHECK:      cse on func.func, 2 runs
// CHECK-NEXT:   operations: 4 -> 3 (-1 core.relu)
// CHECK-NEXT:   rewrites: cse 1

// JSON: "pass": "cse",
// JSON: "operations": {
// JSON-NEXT: "before": 7,
// JSON-NEXT: "after": 6,
func.func @f(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = core.permute(%x) {dims = [0, 1]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = core.relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = core.relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
}
func.func @g() {
  func.return
}
