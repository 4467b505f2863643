// RUN: flambeau-opt %s -p 'partition{backends=ethos_u{accelerator=ethos-u85-256}},convert-partitions' | filecheck %s
// RUN: flambeau-opt %s -p 'partition{backends=ethos_u{strict=true}},convert-partitions' --verify-diagnostics

// Ethos-U85 takes steps that Ethos-U55 refuses, which is an error with `strict`.
// CHECK: delegate.partition @steps_ethos_u_0
func.func @steps(%x: tensor<1x2x17x17xi8>) -> tensor<1x2x5x5xi8> {
  %0 = quantized_decomposed.dequantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x17x17xi8>) -> tensor<1x2x17x17xf32>
  %1, %2 = edge.max_pool2d_with_indices(%0) {kernel_size = [3, 3], stride = [4, 4], padding = [1, 1]} : (tensor<1x2x17x17xf32>) -> (tensor<1x2x5x5xf32>, tensor<1x2x5x5xi64>)
  // expected-error@+1 {{its compiler refuses tosa.max_pool2d: ethos-u55: kernel stride: 1 <= stride <= 3, and its stride is [4, 4]}}
  %3 = quantized_decomposed.quantize_per_tensor(%1) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xi8>
  func.return %3 : tensor<1x2x5x5xi8>
}
