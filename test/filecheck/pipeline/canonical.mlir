// Both grammars, with options out of order, spaces and named pipelines, in canonical form on stderr; the IR alone is on stdout.
// RUN: flambeau-opt %s --dump-pass-pipeline -o %t 2>&1 | filecheck %s --check-prefix NONE
// RUN: flambeau-opt %s -p cse,canonicalize --dump-pass-pipeline -o %t 2>&1 | filecheck %s --check-prefix FLAT
// RUN: flambeau-opt %s --pass-pipeline 'builtin.module( func.func( cse , canonicalize ) , plan )' --dump-pass-pipeline -o %t 2>&1 | filecheck %s --check-prefix NESTED
// RUN: flambeau-opt %s --passes 'plan-memory{ arena=2  alignment=64 effort=4000000 }' --dump-pass-pipeline -o %t 2>&1 | filecheck %s --check-prefix OPTIONS
// RUN: flambeau-opt %s -p 'legalize{preserve=silu,gelu}' --dump-pass-pipeline -o %t 2>&1 | filecheck %s --check-prefix NAMED
// RUN: flambeau-opt %s -p 'func.func(func.func())' --dump-pass-pipeline -o %t 2>&1 | filecheck %s --check-prefix EMPTY
// RUN: flambeau-opt %s -p cse --dump-pass-pipeline | filecheck %s

// NONE:    {{^}}builtin.module(){{$}}
// FLAT:    {{^}}builtin.module(cse,canonicalize){{$}}
// NESTED:  {{^}}builtin.module(func.func(cse,canonicalize),plan-memory,verify-plan){{$}}
// OPTIONS: {{^}}builtin.module(plan-memory{alignment=64 arena=2}){{$}}
// NAMED:   {{^}}builtin.module(legalize-operators{preserve=silu,gelu},fold-constants,canonicalize,cse,remove-dead-code){{$}}
// EMPTY:   {{^}}builtin.module(func.func(func.func())){{$}}

// CHECK-NOT:   builtin.module(
// CHECK:       builtin.module {
// CHECK:       func.func @f
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
