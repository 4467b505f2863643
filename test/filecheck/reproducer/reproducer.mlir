// RUN: not flambeau-opt %s -p 'builtin.module(cse,func.func(canonicalize),convert-core-to-edge,cse)' --crash-reproducer=%t.mlir 2>&1 | filecheck %s --check-prefix=FIRST
// RUN: filecheck %s --check-prefix=FILE < %t.mlir
// RUN: not flambeau-opt --run-reproducer %t.mlir --no-reproducer 2>&1 | filecheck %s --check-prefix=AGAIN

// FIRST: reproducer.mlir:{{[0-9]+}}:3: error: convert-core-to-edge:
// FIRST: note: the IR before the pass is in {{.*}}.mlir; flambeau-opt --run-reproducer {{.*}}.mlir runs it again

// FILE:      // flambeau reproducer, version 1; flambeau-opt --run-reproducer FILE
// FILE-NEXT: // pipeline: "builtin.module(convert-core-to-edge,cse)"
// FILE-NEXT: // error: "convert-core-to-edge: {{.*}} aten.relu: it does not belong to the edge level
// FILE-NEXT: // versions: {"flambeau": "{{.*}}", "xdsl": "{{.*}}", "python": "{{.*}}"}
// FILE:      // | Traceback (most recent call last):
// FILE:      // end of the header
// FILE-NEXT: builtin.module {
// FILE:        aten.relu(%x) : {{.*}} loc("model.py":3:1)

// AGAIN: .mlir:{{[0-9]+}}:{{[0-9]+}}: error: convert-core-to-edge: 1 operation cannot be converted to the edge level
// AGAIN: aten.relu 1 {{.*}} it does not belong to the edge level
// AGAIN-NOT: note: the IR
func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("model.py":3:1)
  func.return %0 : tensor<2x3xf32>
}
