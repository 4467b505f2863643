// RUN: flambeau compile %s -o %t.onnx 2>&1 | filecheck %s --check-prefix=WRITTEN
// RUN: not flambeau compile %s -o %t.left.onnx --no-delegate tanh 2>&1 | filecheck %s --check-prefix=LEFT
// RUN: not ls %t.left.onnx

// WRITTEN: onnx {{ *[0-9]+}}
// WRITTEN: .onnx: {{[0-9]+}} bytes

// LEFT: 1 operation cannot be converted to a .onnx file: edge.tanh: no-delegate 'tanh' keeps it
func.func @forward(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = aten.tanh(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
