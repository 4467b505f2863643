// RUN: flambeau-opt %s -p 'func.func(view-op-graph)' -o /dev/null 2>&1 | filecheck %s
// RUN: flambeau-opt %s -p 'view-op-graph{attributes types=false max-label-len=12}' -o /dev/null 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: flambeau-opt %s -p 'view-op-graph{file=%t.dot}' -o /dev/null
// RUN: filecheck %s --check-prefix=FILE --input-file %t.dot
// RUN: not flambeau-opt %s -p 'view-op-graph{file=graph.png}' 2>&1 | filecheck %s --check-prefix=WRONG

// FILE:       digraph G {
// FILE:         subgraph cluster_n0_0 {
// FILE-NEXT:      label = "builtin.module";
// WRONG:      graph.png is not the name of a drawing: it ends in .dot or .svg

// CHECK:      digraph G {
// CHECK:        subgraph cluster_n0_0 {
// CHECK-NEXT:     label = "func.func @f";
// CHECK-NEXT:     n0 [shape = point, label = ""];
// CHECK-NEXT:     n1 [shape = ellipse, label = "%x"];
// CHECK-NEXT:     n2 [shape = ellipse, label = "%c"];
// CHECK-NEXT:     n3 [label = "core.relu"];
// CHECK:          subgraph cluster_n{{.*}}_0 {
// CHECK-NEXT:       label = "scf.if";
// CHECK:          subgraph cluster_n{{.*}}_1 {
// CHECK:        n1 -> n3 [label = "tensor<2xf32>"];
// CHECK:        n3 -> n7 [label = "0: tensor<2xf32>"];
// CHECK-NEXT:   n4 -> n7 [label = "1: tensor<2xf32>"];

// OTHER:      core.add.Tensor\lalpha = 2 :
// OTHER:      [label = "%x"]
func.func @f(%x: tensor<2xf32>, %c: i1) -> tensor<2xf32> {
  %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = scf.if %c -> (tensor<2xf32>) {
    scf.yield %0 : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  %2 = core.add.Tensor(%0, %1) {alpha = 2} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
