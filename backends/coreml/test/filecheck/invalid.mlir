// RUN: flambeau-opt %s --verify-diagnostics --split-input-file

func.func @limits(%x: tensor<2xf32>) {
  // expected-error @+1 {{coreml.clip: the result is limited to [1.0, 0.0], which holds nothing}}
  %0 = coreml.clip(%x) {alpha = 1.0, beta = 0.0} : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @elements(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error @+1 {{coreml.add: its tensors are of f32, not of f16}}
  %0 = coreml.add(%x, %y) : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  func.return
}

// -----

func.func @dimensions(%x: tensor<2x3x4xf32>) {
  // expected-error @+1 {{coreml.reshape: [1, 1, 1, 2, 3, 4] has 6 dimensions, and MIL has 5}}
  %0 = coreml.reshape(%x) {shape = [1, 1, 1, 2, 3, 4]} : (tensor<2x3x4xf32>) -> tensor<1x1x1x2x3x4xf32>
  func.return
}

// -----

func.func @window(%x: tensor<1x2x4x4xf32>) {
  // expected-error @+1 {{coreml.max_pool: pads [2, 0, 0, 0] are as large as the window [2, 2]: some windows hold nothing}}
  %0 = coreml.max_pool(%x) {kernel_sizes = [2, 2], strides = [1, 1], pad = [2, 0, 0, 0]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x5x3xf32>
  func.return
}
