// RUN: flambeau-opt %s -p 'cse,remove-dead-code' --print-changed -o %t 2>&1 | filecheck %s --check-prefix FULL
// RUN: flambeau-opt %s -p 'cse,remove-dead-code' --print-changed=quiet -o %t 2>&1 | filecheck %s --check-prefix QUIET
// RUN: flambeau-opt %s -p 'cse,remove-dead-code' --print-changed=diff -o %t 2>&1 | filecheck %s --check-prefix DIFF --match-full-lines
// RUN: not flambeau-opt %s -p cse --print-changed=loud 2>&1 | filecheck %s --check-prefix LOUD
// RUN: flambeau-opt -p cse --print-changed=diff %s | filecheck %s

// FULL:      // -----// IR Dump At Start //----- //
// FULL:      // -----// IR Dump After CsePass (cse) //----- //
// FULL-NEXT: builtin.module {
// FULL:      // -----// IR Dump After RemoveDeadCodePass (remove-dead-code) //----- // [no change]
// FULL-NOT:  builtin.module

// QUIET-NOT: At Start
// QUIET:     // -----// IR Dump After CsePass (cse) //----- //
// QUIET-NOT: no change

// Values have their names in the result, and the value that is gone has another one.
// DIFF:      // -----// IR Diff After CsePass (cse) //----- //
// DIFF-NEXT: @@ -1,8 +1,7 @@
// DIFF-NEXT:  builtin.module {
// DIFF-NEXT:    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
// DIFF-NEXT:      %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
// DIFF-NEXT: -    %2 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
// DIFF-NEXT: -    %1 = core.add.Tensor(%0, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// DIFF-NEXT: +    %1 = core.add.Tensor(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// DIFF-NEXT:      func.return %1 : tensor<4xf32>
// DIFF-NEXT:    }
// DIFF-NEXT:  }
// DIFF:      // -----// IR Diff After RemoveDeadCodePass (remove-dead-code) //----- // [no change]

// LOUD:      error: argument --print-changed: invalid choice: 'loud'

// CHECK-NOT: IR Diff
// CHECK:     builtin.module
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = core.add.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
