// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// Types that no program can hold.

func.func @bytes(%x: tensor<4611686018427387904x4xf32>) -> tensor<4611686018427387904x4xf32> {
  // expected-error @+1 {{aten.relu: tensor<4611686018427387904x4xf32> takes 73786976294838206464 bytes, more than the 2^63 - 1 that a program can address}}
  %0 = aten.relu(%x) : (tensor<4611686018427387904x4xf32>) -> tensor<4611686018427387904x4xf32>
  func.return %0 : tensor<4611686018427387904x4xf32>
}

// -----

exec.method @slot {} {
  // expected-error @+1 {{%x cannot be a slot: tensor<4611686018427387904x4xf32> has 18446744073709551616 elements, more than the 2^31 - 1 that a tensor of a program can have}}
  %x = exec.tensor : tensor<4611686018427387904x4xf32>
  exec.return
}

// -----

func.func @element(%x: tensor<2x3xindex>) -> tensor<i64> {
  // expected-error @+1 {{aten.count_nonzero: index is not an element type of a program's tensors}}
  %0 = aten.count_nonzero(%x) : (tensor<2x3xindex>) -> tensor<i64>
  func.return %0 : tensor<i64>
}

// -----

func.func @padding(%x: tensor<2x3x8x7xf32>, %w: tensor<4x3x3x2xf32>) -> tensor<2x4x4x6xf32> {
  // expected-error @+1 {{aten.convolution: dimension 2 of the result would have the size 9223372036854775810}}
  %0 = aten.convolution(%x, %w, none) {stride = [2, 1], padding = [9223372036854775807, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<2x3x8x7xf32>, tensor<4x3x3x2xf32>) -> tensor<2x4x4x6xf32>
  func.return %0 : tensor<2x4x4x6xf32>
}

// -----

func.func @negative() -> tensor<?xf32> {
  // expected-error @+1 {{aten.full: dimension 0 of the result would have the size -2}}
  %0 = aten.full() {size = [-2], fill_value = 1.0} : () -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

// -----

func.func @heads(%q: tensor<1x4x2x3xf32>, %k: tensor<1x0x2x3xf32>) -> tensor<1x4x2x3xf32> {
  // expected-error @+1 {{the heads of query [1, 4, 2, 3] are not a multiple of those of key [1, 0, 2, 3]}}
  %0 = aten.scaled_dot_product_attention(%q, %k, %k, none) {enable_gqa = true} : (tensor<1x4x2x3xf32>, tensor<1x0x2x3xf32>, tensor<1x0x2x3xf32>) -> tensor<1x4x2x3xf32>
  func.return %0 : tensor<1x4x2x3xf32>
}
