// RUN: flambeau compile %s -o %t.tflite 2>&1 | filecheck %s --check-prefix=WRITTEN
// RUN: not flambeau compile %s -o %t.left.tflite --no-delegate tanh 2>&1 | filecheck %s --check-prefix=LEFT
// RUN: not flambeau compile %s -o %t.left.tflite --backend 'litert{precision=int8}' 2>&1 | filecheck %s --check-prefix=FLOATS
// RUN: not flambeau compile %s -o %t.left.tflite --backend elementwise 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: not flambeau compile %s -o %t.left.tflite --external-constants weights 2>&1 | filecheck %s --check-prefix=WEIGHTS
// RUN: not ls %t.left.tflite

// WRITTEN: tflite {{ *[0-9]+}}
// WRITTEN: .tflite: {{[0-9]+}} bytes

// LEFT: 1 operation cannot be converted to a .tflite file: edge.tanh: no-delegate 'tanh' keeps it

// FLOATS: 2 operations cannot be converted to a .tflite file
// FLOATS-NOT: note:
// FLOATS: edge.relu 1 it is taken between integers only
// FLOATS: edge.tanh 1 it is taken between integers only

// OTHER: a .tflite file is the whole program, made by the backend 'litert', and not by elementwise

// WEIGHTS: --external-constants is for a .pte: a .tflite file has its weights in it
func.func @forward(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = aten.tanh(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
