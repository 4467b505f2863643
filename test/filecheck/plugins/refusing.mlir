// RUN: flambeau-opt %s --load-plugin %S/refusing.py -p 'delegate{backends=refusing}' --split-input-file --remarks --verify-diagnostics | filecheck %s
// RUN: flambeau-opt %s --load-plugin %S/refusing.py -p 'delegate{backends=refusing,elementwise{least=1}}' --split-input-file | filecheck %s
// RUN: not flambeau-opt %s --load-plugin %S/refusing.py -p 'delegate{backends=refusing{strict=true}}' 2>&1 | filecheck %s --check-prefix=STRICT

// The partition without the operator that the compiler refuses is compiled; a strict backend refuses the program.
// STRICT:      refusing.mlir:{{.*}}: error: lower-partitions: its compiler refuses edge.cos: there is no room for its table
// CHECK:       delegate.payload @forward_refusing_0 backend "Refusing" {flambeau.state = "compiled", flambeau.made_by = "npucc 1.0"}
// CHECK:       delegate.payload @forward_refusing_1 backend "Refusing"
// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    delegate.call @forward_refusing_0
// CHECK-NEXT:    edge.cos({{.*}}) {refused = {refusing = "there is no room for its table"}}
// CHECK-NEXT:    delegate.call @forward_refusing_1
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-remark @+1 {{backend 'refusing' leaves it: its compiler refuses it: there is no room for its table}}
  %1 = edge.cos(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.neg(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
