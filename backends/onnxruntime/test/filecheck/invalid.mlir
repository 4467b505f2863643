// RUN: flambeau-opt %s --verify-diagnostics --split-input-file

func.func @ends(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{onnxruntime.Conv: pads [0, 1, 0, 0] differ before and behind a dimension}}
  %0 = onnxruntime.Conv(%x, %w, none) {dilations = [1, 1], kernel_shape = [3, 3], pads = [0, 1, 0, 0], strides = [1, 1]} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x7xf32>
  func.return
}

// -----

func.func @window(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{onnxruntime.Conv: kernel_shape [2, 3] is not that of the weight [4, 3, 3, 3]}}
  %0 = onnxruntime.Conv(%x, %w, none) {dilations = [1, 1], kernel_shape = [2, 3], pads = [0, 0, 0, 0], strides = [1, 1]} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  func.return
}

// -----

func.func @types(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error @+1 {{onnxruntime.Add: its tensors are of f32 and f16, not of one type}}
  %0 = onnxruntime.Add(%x, %y) : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  func.return
}

// -----

func.func @shape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{onnxruntime.Reshape: [2, 3] cannot have the shape [4, -1]}}
  %0 = onnxruntime.Reshape(%x) {shape = [4, -1]} : (tensor<2x3xf32>) -> tensor<4x1xf32>
  func.return
}

// -----

func.func @scales(%x: tensor<2x4xi8>, %s: tensor<3xf32>, %z: tensor<3xi8>) {
  // expected-error @+1 {{onnxruntime.DequantizeLinear: scales of [3] do not fit [2, 4] along dimension 1}}
  %0 = onnxruntime.DequantizeLinear(%x, %s, %z) : (tensor<2x4xi8>, tensor<3xf32>, tensor<3xi8>) -> tensor<2x4xf32>
  func.return
}
