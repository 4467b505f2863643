// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

func.func @type(%x: tensor<2x3xf32>) -> tensor<2x3xi16> {
  // expected-error @+1 {{quant.quantize_per_tensor: result types must be (tensor<2x3xi8>), got (tensor<2x3xi16>)}}
  %0 = quant.quantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi16>
  func.return %0 : tensor<2x3xi16>
}

// -----

func.func @missing(%x: tensor<2x3xf32>) -> tensor<2x3xi8> {
  // expected-error @+1 {{quant.quantize_per_tensor needs the attribute 'zero_point'}}
  %0 = quant.quantize_per_tensor(%x) {scale = 0.5, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  func.return %0 : tensor<2x3xi8>
}
