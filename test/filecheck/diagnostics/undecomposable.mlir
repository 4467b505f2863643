// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p decompose-aten

// Operators that have no form in terms of others for just these operands.
func.func @classes(%x: tensor<2xi64>) -> tensor<2x?xi64> {
  // expected-error @+1 {{decompose-aten: aten.one_hot cannot be decomposed: one_hot needs num_classes: without it the shape depends on the content}}
  %0 = aten.one_hot(%x) : (tensor<2xi64>) -> tensor<2x?xi64>
  func.return %0 : tensor<2x?xi64>
}

// -----

func.func @dynamic(%x: tensor<1x3x?x7xf32>) -> tensor<1x3x2x2xf32> {
  // expected-error @+1 {{decompose-aten: aten.adaptive_max_pool2d cannot be decomposed: it depends on the extent of a dimension that is known only when the program runs}}
  %0, %1 = aten.adaptive_max_pool2d(%x) {output_size = [2, 2]} : (tensor<1x3x?x7xf32>) -> (tensor<1x3x2x2xf32>, tensor<1x3x2x2xi64>)
  func.return %0 : tensor<1x3x2x2xf32>
}

// -----

func.func @diagonal(%x: tensor<?xf32>) -> tensor<?x?xf32> {
  // expected-error @+1 {{decompose-aten: aten.diag_embed cannot be decomposed: it depends on the extent of a dimension that is known only when the program runs}}
  %0 = aten.diag(%x) : (tensor<?xf32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

// -----

func.func @equation(%x: tensor<2x?x?xf32>, %y: tensor<?x3xf32>) -> tensor<2x?x3xf32> {
  // expected-error @+1 {{decompose-aten: aten.einsum cannot be decomposed: aten.view: size [-1, -1] may have one -1 and no other negative number}}
  %0 = aten.einsum([%x, %y]) {equation = "bij,jk->bik"} : (tensor<2x?x?xf32>, tensor<?x3xf32>) -> tensor<2x?x3xf32>
  func.return %0 : tensor<2x?x3xf32>
}
