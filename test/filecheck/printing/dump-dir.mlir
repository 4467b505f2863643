// The folder holds the stages that differ; each is a module that another run starts from.
// RUN: flambeau-opt %s -p 'canonicalize,cse,remove-dead-code,convert-core-to-edge' --dump-dir %t.dir > %t
// RUN: filecheck %s --input-file %t.dir/00_input.mlir --check-prefix INPUT
// RUN: filecheck %s --input-file %t.dir/02_cse.mlir --check-prefix CSE
// RUN: filecheck %s --input-file %t.dir/index.json --check-prefix INDEX
// RUN: flambeau-opt %t.dir/02_cse.mlir -p 'remove-dead-code,convert-core-to-edge' | filecheck %s

// INPUT:     %1 = core.relu
// CSE-NOT:   %1 = core.relu
// CSE:       core.add.Tensor(%0, %0){{.*}} loc(

// INDEX:      "step": 0, "pass": null
// INDEX:      "step": 1, "pass": "canonicalize"{{.*}}"changed": false, "operations": 5, "file": "00_input.mlir", "rest": "builtin.module(cse,remove-dead-code,convert-core-to-edge)"
// INDEX:      "step": 2, "pass": "cse"{{.*}}"changed": true{{.*}}"file": "02_cse.mlir"
// INDEX:      "step": 3, "pass": "remove-dead-code"{{.*}}"changed": false{{.*}}"file": "02_cse.mlir"
// INDEX:      "step": 4, "pass": "convert-core-to-edge"{{.*}}"file": "04_convert-core-to-edge.mlir", "rest": "builtin.module()"

// CHECK:      edge.relu
// CHECK-NEXT: edge.add.Tensor
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = core.add.Tensor(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
