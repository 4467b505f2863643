// RUN: flambeau-opt %s --verify-diagnostics --split-input-file

func.func @limits(%x: tensor<2xf32>) {
  // expected-error @+1 {{vulkan.clamp: the result is limited to [1.0, 0.0], which holds nothing}}
  %0 = vulkan.clamp(%x) {low = 1.0, high = 0.0} : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @integers(%x: tensor<2xi32>) {
  // expected-error @+1 {{vulkan.relu is not defined for int32 tensors; it is for float16, float32}}
  %0 = vulkan.relu(%x) : (tensor<2xi32>) -> tensor<2xi32>
  func.return
}

// -----

func.func @mixed(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error @+1 {{vulkan.add: its tensors have the same elements, not f32 and f16}}
  %0 = vulkan.add(%x, %y) : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  func.return
}

// -----

func.func @outside(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{vulkan.strided: it reads elements 1 to 6 of 6}}
  %0 = vulkan.strided(%x) {sizes = [6], strides = [1], offset = 1} : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return
}

// -----

func.func @factors(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{vulkan.gemm: factors [2, 3] and [2, 3] do not fit each other}}
  %0 = vulkan.gemm(%x, %x, none, none) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @function(%x: tensor<2x2xf32>) {
  // expected-error @+1 {{vulkan.gemm: there is no function 'add'}}
  %0 = vulkan.gemm(%x, %x, none, none) {function = "add"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @neighbours(%x: tensor<2x3x4xf32>) {
  // expected-error @+1 {{vulkan.reduce_max: axes [0, 2] are no neighbours of [2, 3, 4]}}
  %0 = vulkan.reduce_max(%x) {axes = [0, 2]} : (tensor<2x3x4xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @unscaled(%x: tensor<2x3xf32>, %w: tensor<3x4xi8>) {
  // expected-error @+1 {{vulkan.gemm: a weight of i8, and no other, has scales, which are of f32; this one is of i8}}
  %0 = vulkan.gemm(%x, %w, none, none) : (tensor<2x3xf32>, tensor<3x4xi8>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @scales(%x: tensor<2x3xi8>, %s: tensor<2xf32>) {
  // expected-error @+1 {{vulkan.dequantize: the scales [2] are not one for each entry of [2, 3] in dimension 1}}
  %0 = vulkan.dequantize(%x, %s) {axis = 1} : (tensor<2x3xi8>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @unknown(%x: tensor<2xf32>) {
  // expected-error @+1 {{vulkan.chain: 'round 0' is no function with the numbers of what it reads, and its parameters}}
  %0 = vulkan.chain([%x]) {steps = "exp 0; round 0"} : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @early(%x: tensor<2xf32>) {
  // expected-error @+1 {{vulkan.chain: 'add 0 1' reads what is not there before it}}
  %0 = vulkan.chain([%x]) {steps = "add 0 1; exp 1"} : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
