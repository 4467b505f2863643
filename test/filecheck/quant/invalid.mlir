// RUN: flambeau-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: error: quant.quantize_per_tensor: result types must be (tensor<2x3xi8>), got (tensor<2x3xi16>)
func.func @type(%x: tensor<2x3xf32>) -> tensor<2x3xi16> {
  %0 = quant.quantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi16>
  func.return %0 : tensor<2x3xi16>
}

// -----

// CHECK: error: quant.quantize_per_tensor needs the attribute 'zero_point'
func.func @missing(%x: tensor<2x3xf32>) -> tensor<2x3xi8> {
  %0 = quant.quantize_per_tensor(%x) {scale = 0.5, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %0 : tensor<2x3xi8>
}
