// RUN: flambeau-opt %s -p 'partition{backends=tosa},convert-partitions,cse' | filecheck %s

// Products of int8 are sums in int32 until they get the scale of the result; a bias is in steps of these sums.
// CHECK-LABEL: delegate.partition @product_tosa_0 backend "TosaBackend" (%x: tensor<2x3xi8>, %y: tensor<3x2xi8>) -> (tensor<2x2xi8>)
// CHECK-NEXT:    %0 = tosa.reshape(%x) {shape = [1, 2, 3]}
// CHECK-NEXT:    %1 = tosa.reshape(%y) {shape = [1, 3, 2]}
// CHECK-NEXT:    %2 = tosa.matmul(%0, %1) {A_zp = 3} : (tensor<1x2x3xi8>, tensor<1x3x2xi8>) -> tensor<1x2x2xi32>
// CHECK:         tosa.rescale(%{{.*}}) {multiplier = [1073741824], shift = [31], input_zp = 0, output_zp = 7, dtype = i8}
func.func @product(%x: tensor<2x3xi8>, %y: tensor<3x2xi8>) -> tensor<2x2xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%y) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x2xi8>) -> tensor<3x2xf32>
  %2 = edge.mm(%0, %1) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %3 = quantized_decomposed.quantize_per_tensor(%2) {scale = 0.25, zero_point = 7, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x2xf32>) -> tensor<2x2xi8>
  func.return %3 : tensor<2x2xi8>
}

// A mean is a sum in int32, divided when it is rounded.
// CHECK-LABEL: delegate.partition @mean_tosa_0 backend "TosaBackend" (%x: tensor<4x8xi8>) -> (tensor<4xi8>)
// CHECK-NEXT:    %0 = tosa.rescale(%x) {multiplier = [1073741824], shift = [30], input_zp = 3, output_zp = 0, dtype = i32}
// CHECK-NEXT:    %1 = tosa.reduce_sum(%0) {axis = 1} : (tensor<4x8xi32>) -> tensor<4x1xi32>
// CHECK-NEXT:    %2 = tosa.rescale(%1) {multiplier = [1073741824], shift = [32], input_zp = 0, output_zp = 0, dtype = i8}
// CHECK-NEXT:    %3 = tosa.reshape(%2) {shape = [4]}
func.func @mean(%x: tensor<4x8xi8>) -> tensor<4xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x8xi8>) -> tensor<4x8xf32>
  %1 = edge.mean.dim(%0) {dim = [1]} : (tensor<4x8xf32>) -> tensor<4xf32>
  %2 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %2 : tensor<4xi8>
}

// The indices are read: it stays.
// CHECK-LABEL: func.func @indices
// CHECK:         edge.max.dim
func.func @indices(%x: tensor<4x8xi8>) -> (tensor<4xi8>, tensor<4xi64>) {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4x8xi8>) -> tensor<4x8xf32>
  %1, %2 = edge.max.dim(%0) {dim = 1} : (tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  %3 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %3, %2 : tensor<4xi8>, tensor<4xi64>
}

// CHECK-LABEL: func.func @rows
// CHECK-NEXT:    %0 = tosa.matmul(%x, %y) : (tensor<1x2x3xf32>, tensor<1x3x2xf32>) -> tensor<1x2x2xf32>
// CHECK-NEXT:    %1 = tosa.reduce_max(%0) {axis = 2} : (tensor<1x2x2xf32>) -> tensor<1x2x1xf32>
// CHECK-NEXT:    %2 = tosa.reduce_min(%0) {axis = 0} : (tensor<1x2x2xf32>) -> tensor<1x2x2xf32>
// CHECK-NEXT:    %3 = tosa.reduce_product(%0) {axis = 1} : (tensor<1x2x2xf32>) -> tensor<1x1x2xf32>
func.func @rows(%x: tensor<1x2x3xf32>, %y: tensor<1x3x2xf32>) -> (tensor<1x2x1xf32>, tensor<1x2x2xf32>, tensor<1x1x2xf32>) {
  %0 = tosa.matmul(%x, %y) : (tensor<1x2x3xf32>, tensor<1x3x2xf32>) -> tensor<1x2x2xf32>
  %1 = tosa.reduce_max(%0) {axis = 2} : (tensor<1x2x2xf32>) -> tensor<1x2x1xf32>
  %2 = tosa.reduce_min(%0) {axis = 0} : (tensor<1x2x2xf32>) -> tensor<1x2x2xf32>
  %3 = tosa.reduce_product(%0) {axis = 1} : (tensor<1x2x2xf32>) -> tensor<1x1x2xf32>
  func.return %1, %2, %3 : tensor<1x2x1xf32>, tensor<1x2x2xf32>, tensor<1x1x2xf32>
}

// Views between a product and its integers are views of integers.
// CHECK-LABEL: delegate.partition @heads_tosa_0 backend "TosaBackend" (%x: tensor<1x2x3xi8>, %y: tensor<1x3x2xi8>) -> (tensor<4xi8>)
// CHECK-NEXT:    tosa.matmul(%x, %y) {A_zp = 3}
// CHECK:         tosa.rescale(%{{.*}}) {multiplier = [1073741824], shift = [31], input_zp = 0, output_zp = 7, dtype = i8}
// CHECK-NEXT:    tosa.reshape(%{{.*}}) {shape = [4]} : (tensor<1x2x2xi8>) -> tensor<4xi8>
// CHECK:       func.func @heads
// CHECK-NEXT:    %0 = delegate.call @heads_tosa_0(%x, %y)
// CHECK-NEXT:    func.return
func.func @heads(%x: tensor<1x2x3xi8>, %y: tensor<1x3x2xi8>) -> tensor<4xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x3xi8>) -> tensor<1x2x3xf32>
  %1 = quantized_decomposed.dequantize_per_tensor(%y) {scale = 0.25, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x3x2xi8>) -> tensor<1x3x2xf32>
  %2 = edge.view_copy(%0) {size = [2, 3]} : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
  %3 = edge.view_copy(%1) {size = [3, 2]} : (tensor<1x3x2xf32>) -> tensor<3x2xf32>
  %4 = edge.mm(%2, %3) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %5 = edge.view_copy(%4) {size = [4]} : (tensor<2x2xf32>) -> tensor<4xf32>
  %6 = quantized_decomposed.quantize_per_tensor(%5) {scale = 0.25, zero_point = 7, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  func.return %6 : tensor<4xi8>
}

// Nothing here is an operator of the backend: the view stays as it was.
// CHECK-LABEL: func.func @alone
// CHECK-NEXT:    quantized_decomposed.dequantize_per_tensor
// CHECK-NEXT:    edge.view_copy
// CHECK-NEXT:    edge.cumsum
func.func @alone(%x: tensor<2x3xi8>) -> tensor<6xf32> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.view_copy(%0) {size = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = edge.cumsum(%1) {dim = 0} : (tensor<6xf32>) -> tensor<6xf32>
  func.return %2 : tensor<6xf32>
}

// A tanh that is not quantized stays, and the pair beside the view with it.
// CHECK-LABEL: func.func @floats
// CHECK-NEXT:    quantized_decomposed.dequantize_per_tensor
// CHECK-NEXT:    edge.view_copy
// CHECK-NEXT:    edge.tanh
// CHECK-NEXT:    func.return
func.func @floats(%x: tensor<2x3xi8>) -> tensor<6xf32> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = edge.view_copy(%0) {size = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = edge.tanh(%1) : (tensor<6xf32>) -> tensor<6xf32>
  func.return %2 : tensor<6xf32>
}
