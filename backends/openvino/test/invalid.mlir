// RUN: flambeau-opt %s --verify-diagnostics --split-input-file

func.func @pads(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{openvino.Convolution: pads must not be negative, and strides and dilations must be positive}}
  %0 = openvino.Convolution(%x, %w) {strides = [1, 1], pads_begin = [0, -1], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  func.return
}

// -----

func.func @padding(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{openvino.Convolution: auto_pad is 'same_upper', and 'explicit' is supported here}}
  %0 = openvino.Convolution(%x, %w) {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1], auto_pad = "same_upper"} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  func.return
}

// -----

func.func @pattern(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{openvino.Reshape: [2, 3] cannot have the shape [4, -1]}}
  %0 = openvino.Reshape(%x) {pattern = [4, -1]} : (tensor<2x3xf32>) -> tensor<4x1xf32>
  func.return
}

// -----

func.func @choice(%x: tensor<2xf32>) {
  // expected-error @+1 {{openvino.Select is not defined for float32 tensors; it is for bool}}
  %0 = openvino.Select(%x, %x, %x) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}
