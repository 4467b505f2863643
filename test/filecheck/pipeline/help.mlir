// RUN: flambeau-opt --help | filecheck %s
// RUN: flambeau-opt --help-pass plan-memory | filecheck %s --check-prefix PASS
// RUN: flambeau-opt --help-pass plan | filecheck %s --check-prefix PIPELINE
// RUN: flambeau-opt --help-pass scf-for-loop-unroll | filecheck %s --check-prefix XDSL
// RUN: not flambeau-opt --help-pass plan-memroy 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: flambeau-opt --list-passes | filecheck %s --check-prefix LIST
// RUN: flambeau-opt --show-dialects | filecheck %s --check-prefix DIALECTS
// RUN: flambeau-opt --list-targets | filecheck %s --check-prefix TARGETS

// CHECK:      usage: flambeau-opt
// CHECK:      {{^}}pipelines:
// CHECK:      {{^}}  compile {{ +}}The whole pipeline, from ATen operators
// CHECK:      {{^}}passes:
// CHECK:      {{^}}  cse {{ +}}computes equal operations on equal operands once
// CHECK:      {{^}}passes of xDSL
// CHECK:      scf-for-loop-unroll

// PASS:       {{^}}plan-memory{{$}}
// PASS:       Needs: `exec` methods
// PASS:       {{^}}options:
// PASS-NEXT:    alignment: an integer, default 16
// PASS-NEXT:      Of every offset and of the arena's size, in bytes.
// PASS:       {{^}}statistics:
// PASS-NEXT:    tensors placed
// PASS:       {{^}}example: flambeau-opt -p 'plan-memory{alignment=64}'
// PASS:         %x = exec.tensor : tensor<8xf32>
// PASS:       {{^}}becomes
// PASS:         %x = exec.tensor {arena = 1, offset = 0} : tensor<8xf32>

// PIPELINE:      {{^}}runs:
// PIPELINE-NEXT:   plan-memory
// PIPELINE-NEXT:   verify-plan
// PIPELINE:      {{^}}options:
// PIPELINE-NEXT:   target: a string, default executorch

// XDSL:       Fully unrolls all loops
// XDSL:       options: none

// UNKNOWN:    error: there is no pass or pipeline 'plan-memroy'; did you mean 'plan-memory'?

// LIST:       {{^}}Pipelines:
// LIST:       {{^}}  compile
// LIST:       {{^}}Flambeau's passes:
// LIST:       {{^}}  cse
// LIST:       {{^}}  partition
// LIST:       {{^}}xDSL's passes:
// LIST-NOT:   {{^}}  cse

// DIALECTS:      {{^}}aten{{$}}
// DIALECTS:      {{^}}core{{$}}
// DIALECTS:      {{^}}func{{$}}

// TARGETS:      {{^}}executorch
// TARGETS-NEXT: {{^}}flambeau
