// RUN: flambeau-opt %s -p 'partition{backends=ethos_u},convert-partitions,cse' | filecheck %s

// What stands between integers is a partition of TOSA's operators, which Vela gets.
// CHECK-LABEL: delegate.partition @pool_ethos_u_0 backend "EthosUBackend" (%x: tensor<1x2x4x4xi8>) -> (tensor<1x2x2x2xi8>)
// CHECK-NEXT:    tosa.transpose(%x)
// CHECK-NEXT:    tosa.max_pool2d(%{{.*}}) {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0]}
// CHECK-NEXT:    tosa.transpose(%{{.*}})
// CHECK-NEXT:    delegate.return
func.func @pool(%x: tensor<1x2x4x4xi8>) -> tensor<1x2x2x2xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32>
  %1, %2 = edge.max_pool2d_with_indices(%0) {kernel_size = [2, 2]} : (tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xi64>)
  %3 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xi8>
  func.return %3 : tensor<1x2x2x2xi8>
}

// Floats stay.
// CHECK-LABEL: func.func @floats
// CHECK: edge.add.Tensor
func.func @floats(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.add.Tensor(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// An operator beyond the limits of Ethos-U55 stays, whether or not Vela is here.
// CHECK-LABEL: func.func @steps
// CHECK: edge.max_pool2d_with_indices
func.func @steps(%x: tensor<1x2x17x17xi8>) -> tensor<1x2x5x5xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x17x17xi8>) -> tensor<1x2x17x17xf32>
  %1, %2 = edge.max_pool2d_with_indices(%0) {kernel_size = [3, 3], stride = [4, 4], padding = [1, 1]} : (tensor<1x2x17x17xf32>) -> (tensor<1x2x5x5xf32>, tensor<1x2x5x5xi64>)
  %3 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xi8>
  func.return %3 : tensor<1x2x5x5xi8>
}
