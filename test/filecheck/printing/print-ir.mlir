// RUN: flambeau-opt %s -p 'cse,remove-dead-code' --print-ir-before=cse -o %t 2>&1 | filecheck %s --check-prefix BEFORE
// RUN: flambeau-opt %s -p 'cse,remove-dead-code' --print-ir-after=remove-dead-code,cse -o %t 2>&1 | filecheck %s --check-prefix AFTER
// RUN: flambeau-opt %s -p 'cse,remove-dead-code' --print-ir-before-all -o %t 2>&1 | filecheck %s --check-prefix BEFORE-ALL
// RUN: flambeau-opt %s -p 'cse,remove-dead-code' --mlir-print-ir-after-all -o %t 2>&1 | filecheck %s --check-prefix AFTER-ALL
// RUN: flambeau-opt %s -p 'cse,remove-dead-code' --print-ir-after-change -o %t 2>&1 | filecheck %s --check-prefix CHANGE
// RUN: flambeau-opt %s -p 'cse,remove-dead-code' --print-ir-after=remove-dead-code --mlir-print-ir-after-change -o %t 2>&1 | filecheck %s --check-prefix UNCHANGED --allow-empty
// RUN: flambeau-opt %s -p 'func.func(cse)' --print-ir-after-all -o %t 2>&1 | filecheck %s --check-prefix NESTED
// RUN: flambeau-opt %s -p 'func.func(cse)' --print-ir-after-all --print-ir-module-scope -o %t 2>&1 | filecheck %s --check-prefix SCOPE
// RUN: not flambeau-opt %s -p "cse,partition" --print-ir-after-failure --no-reproducer 2>&1 | filecheck %s --check-prefix FAILURE
// RUN: flambeau-opt %s -p cse --print-ir-after-failure -o %t 2>&1 | filecheck %s --check-prefix UNCHANGED --allow-empty
// RUN: not flambeau-opt %s -p cse --print-ir-after=canonicalize 2>&1 | filecheck %s --check-prefix ABSENT
// RUN: not flambeau-opt %s -p cse --print-ir-before=csee 2>&1 | filecheck %s --check-prefix NEAR
// RUN: flambeau-opt %s -p cse --print-ir-before-all --print-ir-after-all | filecheck %s

// BEFORE:      // -----// IR Dump Before CsePass (cse) //----- //
// BEFORE-NEXT: builtin.module {
// BEFORE:      %1 = core.relu
// BEFORE-NOT:  IR Dump

// AFTER:      // -----// IR Dump After CsePass (cse) //----- //
// AFTER-NOT:  core.relu{{.*core.relu}}
// AFTER:      // -----// IR Dump After RemoveDeadCodePass (remove-dead-code) //----- //

// BEFORE-ALL:      IR Dump Before CsePass (cse)
// BEFORE-ALL:      IR Dump Before RemoveDeadCodePass (remove-dead-code)
// BEFORE-ALL-NOT:  IR Dump

// AFTER-ALL:      IR Dump After CsePass (cse)
// AFTER-ALL:      IR Dump After RemoveDeadCodePass (remove-dead-code)
// AFTER-ALL-NOT:  IR Dump

// CHANGE:      IR Dump After CsePass (cse)
// CHANGE-NOT:  IR Dump

// UNCHANGED-NOT: IR Dump

// NESTED:      // -----// IR Dump After CsePass (cse) ('func.func' operation: @f) //----- //
// NESTED-NEXT: func.func @f
// NESTED:      // -----// IR Dump After CsePass (cse) ('func.func' operation: @g) //----- //
// NESTED-NEXT: func.func @g

// SCOPE:      // -----// IR Dump After CsePass (cse) ('func.func' operation: @f) //----- //
// SCOPE-NEXT: builtin.module
// SCOPE:      func.func @g

// FAILURE-NOT: IR Dump After CsePass
// FAILURE:     // -----// IR Dump After PartitionPass Failed (partition) //----- //
// FAILURE:     error: partition: no backend is named

// ABSENT:     error: --print-ir-after names 'canonicalize', but the pipeline has no such pass; it has cse
// NEAR:       error: --print-ir-before names 'csee', but the pipeline has no such pass; did you mean 'cse'?

// CHECK-NOT:  IR Dump
// CHECK:      func.func @f
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = core.add.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
