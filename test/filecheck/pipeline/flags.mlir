// Passes and pipelines are options too; they run in the order in which they stand.
// RUN: flambeau-opt %s --cse --canonicalize --dump-pass-pipeline -o %t 2>&1 | filecheck %s --check-prefix ORDER
// RUN: flambeau-opt --canonicalize %s --cse --dump-pass-pipeline -o %t 2>&1 | filecheck %s --check-prefix REVERSED
// RUN: flambeau-opt %s '--plan-memory=alignment=64 arena=2' --plan --dump-pass-pipeline -o %t 2>&1 | filecheck %s --check-prefix OPTIONS
// RUN: flambeau-opt %s --cse | filecheck %s
// RUN: flambeau-opt %s -cse -plan-memory=alignment=64 -partition=backends=elementwise -dump-pass-pipeline -o %t 2>&1 | filecheck %s --check-prefix DASH
// RUN: flambeau-opt %s -pcse,plan -dump-pass-pipeline=true -o%t 2>&1 | filecheck %s --check-prefix JOINED
// RUN: flambeau-opt %s -pass-pipeline='any(cse)' -dump-pass-pipeline=true -mlir-timing=false -mlir-disable-threading -o %t 2>&1 | filecheck %s --check-prefix ANY
// RUN: not flambeau-opt %s -canonicalise 2>&1 | filecheck %s --check-prefix NEAR
// RUN: not flambeau-opt %s -mlir-print-ir-tre-dir 2>&1 | filecheck %s --check-prefix ALIAS
// RUN: not flambeau-opt %s -emit-bytecode 2>&1 | filecheck %s --check-prefix HINT
// RUN: not flambeau-opt %s --cse -p canonicalize 2>&1 | filecheck %s --check-prefix BOTH
// RUN: not flambeau-opt %s --canonicalise 2>&1 | filecheck %s --check-prefix NEAR
// RUN: not flambeau-opt %s --print-ir-after-al 2>&1 | filecheck %s --check-prefix OPTION
// RUN: not flambeau-opt %s --cse %s 2>&1 | filecheck %s --check-prefix TWICE
// RUN: not flambeau-opt %s -q 2>&1 | filecheck %s --check-prefix SHORT
// RUN: not flambeau-opt %s --cse=x=1 2>&1 | filecheck %s --check-prefix REFUSED

// ORDER:    {{^}}builtin.module(cse,canonicalize){{$}}
// REVERSED: {{^}}builtin.module(canonicalize,cse){{$}}
// OPTIONS:  {{^}}builtin.module(plan-memory{alignment=64 arena=2},plan-memory,verify-plan){{$}}
// BOTH:     error: passes are named by --passes or by options of their own, not by both: --cse
// DASH:     {{^}}builtin.module(cse,plan-memory{alignment=64},partition{backends=elementwise}){{$}}
// JOINED:   {{^}}builtin.module(cse,plan-memory,verify-plan){{$}}
// ANY-NOT:  total
// ANY:      {{^}}builtin.module(cse){{$}}
// ANY-NOT:  total
// ALIAS:    error: there is no option or pass 'mlir-print-ir-tre-dir'; did you mean '--mlir-print-ir-tree-dir'?
// HINT:     error: there is no option 'emit-bytecode'; flambeau-opt has no bytecode; flambeau compile writes programs
// NEAR:     error: there is no option or pass 'canonicalise'; did you mean '--canonicalize'?
// OPTION:   error: there is no option or pass 'print-ir-after-al'; did you mean '--print-ir-after-all'?
// TWICE:    error: there is one input already: '{{.*}}flags.mlir' is too many
// SHORT:    error: there is no option or pass 'q'
// REFUSED:  <pipeline>:1:5: error: pass 'cse' has no option 'x'; it has none

// CHECK:      core.relu
// CHECK-NEXT: core.add.Tensor(%0, %0)
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = core.add.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
