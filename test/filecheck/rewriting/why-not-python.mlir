// A pattern in Python that gives no reason is said to give none, once for several passes.
// RUN: flambeau-opt %s -p canonicalize,canonicalize --why-not IdentityPattern@why-not-python.mlir:9 -o /dev/null 2>&1 | filecheck %s

// CHECK:      why-not-python.mlir:9:3: note: canonicalize: IdentityPattern did not apply: it is Python code that gave no reason here;
// CHECK-SAME: patterns that declare a graph always give one
// CHECK-NOT:  note

func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
