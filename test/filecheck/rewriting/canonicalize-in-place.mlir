// RUN: flambeau-opt %s -p canonicalize | filecheck %s

// Where something is written in place, a copy stays a copy; views go.
// CHECK-LABEL: func.func @in_place
// CHECK-NEXT:    %[[C:.*]] = aten.clone(%a)
// CHECK-NEXT:    aten.add_.Tensor(%[[C]], %a)
// CHECK-NEXT:    func.return
func.func @in_place(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %c = aten.clone(%a) : (tensor<2xf32>) -> tensor<2xf32>
  %v = aten.view(%c) {size = [2]} : (tensor<2xf32>) -> tensor<2xf32>
  %r = aten.add_.Tensor(%v, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %r, %a : tensor<2xf32>, tensor<2xf32>
}
