// RUN: flambeau-opt %s -p 'partition{backends=vulkan}' | filecheck %s

// A layer whose bias has a number for each output is taken.
// CHECK-LABEL: func.func @layer
// CHECK-NEXT:    delegate.call
func.func @layer(%x: tensor<5x2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>) -> tensor<5x2x4xf32> {
  %0 = edge.linear(%x, %w, %b) : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
  func.return %0 : tensor<5x2x4xf32>
}

// Rows of the input are rows of one product there, to which a bias with dimensions of its own does not belong.
// CHECK-LABEL: func.func @bias_of_batches
// CHECK-NEXT:    edge.linear
func.func @bias_of_batches(%x: tensor<5x2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<5x1x4xf32>) -> tensor<5x2x4xf32> {
  %0 = edge.linear(%x, %w, %b) : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<5x1x4xf32>) -> tensor<5x2x4xf32>
  func.return %0 : tensor<5x2x4xf32>
}
// CHECK-LABEL: func.func @bias_of_rows
// CHECK-NEXT:    edge.linear
func.func @bias_of_rows(%x: tensor<5x2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<2x4xf32>) -> tensor<5x2x4xf32> {
  %0 = edge.linear(%x, %w, %b) : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<2x4xf32>) -> tensor<5x2x4xf32>
  func.return %0 : tensor<5x2x4xf32>
}
