// RUN: flambeau-opt %s | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt - | filecheck %s

// Absent tensors are `none`, lists stand in brackets, and what equals its default is not written.
// CHECK-LABEL: func.func @syntax
// CHECK-NEXT:    aten.conv2d(%x, %w, none) {padding = [1, 1]} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
// CHECK-NEXT:    aten.cat([%x, %x]) {dim = 1} :
// CHECK-NEXT:    aten.index.Tensor(%x, [none, %i]) :
// CHECK-NEXT:    aten.add.Tensor(%x, %x) {alpha = 2} :
// CHECK-NEXT:    aten.add.Tensor(%x, %x) :
// CHECK-NEXT:    aten.to.dtype(%x) {dtype = f64} :
// CHECK-NEXT:    aten.gelu(%x) {approximate = "tanh"} :
// CHECK-NEXT:    aten.clamp(%x) {min = "-inf", max = 1.0e+30} :
// CHECK-NEXT:    %{{.*}}, %{{.*}} = aten.max.dim(%x) {dim = -1, keepdim = true} :
func.func @syntax(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %i: tensor<2xi64>) {
  %0 = aten.conv2d(%x, %w, none) {stride = [1, 1], padding = [1, 1]} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  %1 = aten.cat([%x, %x]) {dim = 1} : (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x6x8x8xf32>
  %2 = aten.index.Tensor(%x, [none, %i]) : (tensor<1x3x8x8xf32>, tensor<2xi64>) -> tensor<1x2x8x8xf32>
  %3 = aten.add.Tensor(%x, %x) {alpha = 2} : (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %4 = aten.add.Tensor(%x, %x) {alpha = 1} : (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %5 = aten.to.dtype(%x) {dtype = f64} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf64>
  %6 = aten.gelu(%x) {approximate = "tanh"} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %7 = aten.clamp(%x) {min = "-inf", max = 1.0e+30} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %8, %9 = aten.max.dim(%x) {dim = -1, keepdim = true} : (tensor<1x3x8x8xf32>) -> (tensor<1x3x8x1xf32>, tensor<1x3x8x1xi64>)
  func.return
}

// An overload without a row is known by its schema.
// CHECK-LABEL: func.func @no_row
// CHECK-NEXT:    aten.cholesky(%x) {upper = true} : (tensor<2x2xf32>) -> tensor<2x2xf32>
func.func @no_row(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = aten.cholesky(%x) {upper = true} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}

// Attributes of anyone else are kept.
// CHECK-LABEL: func.func @discardable
// CHECK-NEXT:    aten.relu(%x) {my.note = "here"} :
func.func @discardable(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.relu(%x) {my.note = "here"} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// A dictionary may be empty.
// CHECK-LABEL: func.func @empty_dictionary
// CHECK-NEXT:    aten.relu(%x) : (
func.func @empty_dictionary(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.relu(%x) {} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
