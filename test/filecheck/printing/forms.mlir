// RUN: flambeau-opt %s | filecheck %s --check-prefix PLAIN
// RUN: flambeau-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC
// RUN: flambeau-opt %s --mlir-print-op-generic --mlir-print-local-scope | flambeau-opt | filecheck %s --check-prefix PLAIN
// RUN: flambeau-opt %s --print-debuginfo | filecheck %s --check-prefix LOCATIONS
// RUN: flambeau-opt %s --mlir-print-debuginfo | flambeau-opt --print-debuginfo | filecheck %s --check-prefix LOCATIONS
// RUN: flambeau-opt %s -p cse --print-ir-after-all --print-debuginfo --print-op-generic -o %t 2>&1 | filecheck %s --check-prefix BOTH

// PLAIN-NOT:   loc(
// PLAIN:       func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
// PLAIN-NEXT:    %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>

// GENERIC:     "func.func"() <{{.*}}sym_name = "f"
// GENERIC:       %0 = "core.relu"(%x)

// LOCATIONS:      func.func @f(%x: tensor<4xf32> loc("model.py":7:8)) -> tensor<4xf32> {
// LOCATIONS-NEXT:   %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("layers.0"("model.py":12:3))

// LOCATIONS:        %2 = scf.while (%3 = %1) : (i1) -> i1 {
// LOCATIONS-NEXT:     scf.condition(%3) %3 : i1 loc(
// LOCATIONS-NEXT:   } do {
// LOCATIONS-NEXT:   ^bb0(%4: i1 loc(
// LOCATIONS-NEXT:     scf.yield %4 : i1 loc(
// LOCATIONS-NEXT:   } loc("model.py":14:3)

// BOTH:        "func.func"
// BOTH:        ^bb0(%x: tensor<4xf32> loc("model.py":7:8)):
// BOTH:        "core.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("layers.0"("model.py":12:3))
func.func @f(%x: tensor<4xf32> loc("model.py":7:8)) -> tensor<4xf32> {
  %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("layers.0"("model.py":12:3))
  %1 = arith.constant true
  %2 = scf.while (%3 = %1) : (i1) -> i1 {
    scf.condition(%3) %3 : i1
  } do {
  ^bb0(%4: i1):
    scf.yield %4 : i1
  } loc("model.py":14:3)
  func.return %0 : tensor<4xf32>
}
