// RUN: flambeau-opt %s --verify-diagnostics --split-input-file

func.func @limits(%x: tensor<2xf32>) {
  // expected-error @+1 {{vulkan.clamp: the result is limited to [1.0, 0.0], which holds nothing}}
  %0 = vulkan.clamp(%x) {low = 1.0, high = 0.0} : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @integers(%x: tensor<2xi32>) {
  // expected-error @+1 {{vulkan.relu is not defined for int32 tensors; it is for float32}}
  %0 = vulkan.relu(%x) : (tensor<2xi32>) -> tensor<2xi32>
  func.return
}

// -----

func.func @mixed(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error @+1 {{vulkan.add: its tensors are of f32, not of f16}}
  %0 = vulkan.add(%x, %y) : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  func.return
}
