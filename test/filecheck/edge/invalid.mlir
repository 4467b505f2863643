// RUN: flambeau-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: error: {{.*}}edge.view
func.func @view(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = edge.view(%x) {size = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %0 : tensor<6xf32>
}

// -----

// CHECK: error: a dim order must be a permutation of 0..1, got [0, 0]
func.func @order(%x: tensor<2x3xf32, #edge.layout<[0, 0]>>) {
  func.return
}

// -----

// CHECK: error: bounds must have 2 entries, got 1
func.func @bounds(%x: tensor<?x3xf32, #edge.layout<[0, 1], max = [8]>>) {
  func.return
}

// -----

// CHECK: error: edge.relu: its operands and results are laid out differently
func.func @layouts(%x: tensor<2x3x4xf32, #edge.layout<[0, 2, 1]>>) -> tensor<2x3x4xf32> {
  %0 = edge.relu(%x) : (tensor<2x3x4xf32, #edge.layout<[0, 2, 1]>>) -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}

// -----

// CHECK: error: edge.add.Tensor: operands of f32 and i64 must be of the type it computes in, f32: cast them
func.func @types(%x: tensor<2xf32>, %y: tensor<2xi64>) -> tensor<2xf32> {
  %0 = edge.add.Tensor(%x, %y) : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// CHECK: error: edge.relu: tensor<?xf32> has a dynamic dimension without a bound
func.func @unbounded(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = edge.relu(%x) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
