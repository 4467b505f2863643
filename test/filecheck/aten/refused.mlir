// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// What PyTorch refuses to compute, and what kernels do not compute, is refused with its place.

func.func @threshold_overflow(%x: tensor<1xi8>) -> tensor<1xi8> {
  // expected-error @+1 {{aten.threshold: 10000000000.0 is not a number that int8 holds}}
  %0 = aten.threshold(%x) {threshold = 1.0e10, value = 0.0} : (tensor<1xi8>) -> tensor<1xi8>
  func.return %0 : tensor<1xi8>
}

// -----

func.func @threshold_nan(%x: tensor<1xui8>) -> tensor<1xui8> {
  // expected-error @+1 {{aten.threshold: nan is not a number that uint8 holds}}
  %0 = aten.threshold(%x) {threshold = "nan", value = 2} : (tensor<1xui8>) -> tensor<1xui8>
  func.return %0 : tensor<1xui8>
}

// -----

func.func @hardtanh_bool(%x: tensor<1xi1>) -> tensor<1xi1> {
  // expected-error @+1 {{aten.hardtanh: hardtanh is not defined for bool tensors}}
  %0 = aten.hardtanh(%x) : (tensor<1xi1>) -> tensor<1xi1>
  func.return %0 : tensor<1xi1>
}

// -----

func.func @hardtanh_unsigned(%x: tensor<1xui8>) -> tensor<1xui8> {
  // expected-error @+1 {{aten.hardtanh: the limits of uint8 must not be negative, got -1}}
  %0 = aten.hardtanh(%x) : (tensor<1xui8>) -> tensor<1xui8>
  func.return %0 : tensor<1xui8>
}

// -----

func.func @scatter(%x: tensor<1xi16>, %i: tensor<4xi64>) -> tensor<1xi16> {
  // expected-error @+1 {{aten.scatter.value: 10000000000.0 is not a number that int16 holds}}
  %0 = aten.scatter.value(%x, %i) {dim = 0, value = 1.0e10} : (tensor<1xi16>, tensor<4xi64>) -> tensor<1xi16>
  func.return %0 : tensor<1xi16>
}

// -----

func.func @alpha(%x: tensor<1xi16>) -> tensor<1xi16> {
  // expected-error @+1 {{aten.add.Scalar: alpha must be an integer when the operands are, got 0.5}}
  %0 = aten.add.Scalar(%x) {other = 1, alpha = 0.5} : (tensor<1xi16>) -> tensor<1xi16>
  func.return %0 : tensor<1xi16>
}

// -----

func.func @addcmul(%x: tensor<1xi1>) -> tensor<1xi1> {
  // expected-error @+1 {{aten.addcmul: addcmul is not defined for bool tensors}}
  %0 = aten.addcmul(%x, %x, %x) : (tensor<1xi1>, tensor<1xi1>, tensor<1xi1>) -> tensor<1xi1>
  func.return %0 : tensor<1xi1>
}

// -----

func.func @remainder(%x: tensor<1xi1>) -> tensor<1xi1> {
  // expected-error @+1 {{aten.remainder.Tensor: division with a rounding mode is not defined for bool tensors}}
  %0 = aten.remainder.Tensor(%x, %x) : (tensor<1xi1>, tensor<1xi1>) -> tensor<1xi1>
  func.return %0 : tensor<1xi1>
}

// -----

func.func @any(%x: tensor<3x3xf32>) -> tensor<i1> {
  // expected-error @+1 {{aten.any.dims: result types must be (tensor<3x3xi1>), got (tensor<i1>)}}
  %0 = aten.any.dims(%x) {dim = []} : (tensor<3x3xf32>) -> tensor<i1>
  func.return %0 : tensor<i1>
}

// -----

func.func @distance(%x: tensor<1x3xf32>) -> tensor<1x1xf32> {
  // expected-error @+1 {{aten._cdist_forward: p must not be negative, got nan}}
  %0 = aten._cdist_forward(%x, %x) {p = "nan"} : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x1xf32>
  func.return %0 : tensor<1x1xf32>
}

// -----

func.func @no_index(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  // expected-error @+1 {{aten.index.Tensor: there must be an index tensor}}
  %0 = aten.index.Tensor(%x, [none]) : (tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return %0 : tensor<3x3xf32>
}

// -----

func.func @too_many_values(%x: tensor<3xf32>, %i: tensor<4xi64>, %v: tensor<1x1xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{aten.index_put: values [1, 1] have more dimensions than what they replace, [4]}}
  %0 = aten.index_put(%x, [%i], %v) : (tensor<3xf32>, tensor<4xi64>, tensor<1x1xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

func.func @mean_of_truths(%x: tensor<3xi1>, %i: tensor<2xi64>, %v: tensor<2xi1>) -> tensor<3xi1> {
  // expected-error @+1 {{aten.scatter_reduce.two: a mean is not defined for bool tensors}}
  %0 = aten.scatter_reduce.two(%x, %i, %v) {dim = 0, reduce = "mean"} : (tensor<3xi1>, tensor<2xi64>, tensor<2xi1>) -> tensor<3xi1>
  func.return %0 : tensor<3xi1>
}

// -----

func.func @adaptive_max_of_truths(%x: tensor<1x1xi1>) -> tensor<1x1xi64> {
  // expected-error @+1 {{aten.adaptive_max_pool1d: an adaptive pool is not defined for bool tensors}}
  %0, %1 = aten.adaptive_max_pool1d(%x) {output_size = [1]} : (tensor<1x1xi1>) -> (tensor<1x1xi1>, tensor<1x1xi64>)
  func.return %1 : tensor<1x1xi64>
}

// -----

func.func @adaptive_average_of_integers(%x: tensor<1x5x3xi32>) -> tensor<1x1x2xi32> {
  // expected-error @+1 {{aten._adaptive_avg_pool2d: an adaptive pool is not defined for int32 tensors}}
  %0 = aten._adaptive_avg_pool2d(%x) {output_size = [1, 2]} : (tensor<1x5x3xi32>) -> tensor<1x1x2xi32>
  func.return %0 : tensor<1x1x2xi32>
}

// -----

func.func @adaptive_average_of_nothing(%x: tensor<1x3x3x0xf32>) -> tensor<1x1x1x1xf32> {
  // expected-error @+1 {{aten._adaptive_avg_pool3d: only the batch dimension may be empty, got shape [1, 3, 3, 0]}}
  %0 = aten._adaptive_avg_pool3d(%x) {output_size = [1, 1, 1]} : (tensor<1x3x3x0xf32>) -> tensor<1x1x1x1xf32>
  func.return %0 : tensor<1x1x1x1xf32>
}

// -----

func.func @adaptive_max_of_nothing(%x: tensor<1x0x3x3xf32>) -> tensor<1x1x1x1xf32> {
  // expected-error @+1 {{aten.adaptive_max_pool3d: only the batch dimension may be empty, got shape [1, 0, 3, 3]}}
  %0, %1 = aten.adaptive_max_pool3d(%x) {output_size = [1, 1, 1]} : (tensor<1x0x3x3xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1x1xi64>)
  func.return %0 : tensor<1x1x1x1xf32>
}

// -----

func.func @resampled_integers(%x: tensor<1x1x17xi32>) -> tensor<1x1x1xi32> {
  // expected-error @+1 {{aten.upsample_linear1d: resampling of the mode linear is not defined for int32 tensors}}
  %0 = aten.upsample_linear1d(%x) {output_size = [1], align_corners = true} : (tensor<1x1x17xi32>) -> tensor<1x1x1xi32>
  func.return %0 : tensor<1x1x1xi32>
}

// -----

func.func @resampled_half(%x: tensor<1x1x5x7xbf16>) -> tensor<1x1x3x3xbf16> {
  // expected-error @+1 {{aten._upsample_bilinear2d_aa: resampling of the mode linear-antialias is not defined for bfloat16 tensors}}
  %0 = aten._upsample_bilinear2d_aa(%x) {output_size = [3, 3], align_corners = false} : (tensor<1x1x5x7xbf16>) -> tensor<1x1x3x3xbf16>
  func.return %0 : tensor<1x1x3x3xbf16>
}

// -----

func.func @resampled_without_end(%x: tensor<1x1x5xf32>) -> tensor<1x1x5xf32> {
  // expected-error @+1 {{aten.upsample_nearest1d.vec: scale factors [inf] must be finite}}
  %0 = aten.upsample_nearest1d.vec(%x) {scale_factors = ["inf"]} : (tensor<1x1x5xf32>) -> tensor<1x1x5xf32>
  func.return %0 : tensor<1x1x5xf32>
}

// -----

func.func @two_masks(%x: tensor<3x3xf32>, %m: tensor<3xi1>, %v: tensor<1xf32>) -> tensor<3x3xf32> {
  // expected-error @+1 {{aten.index_put: there may be one mask, and beside it index tensors of one dimension at most: give `mask.nonzero(as_tuple=True)` instead}}
  %0 = aten.index_put(%x, [%m, %m], %v) : (tensor<3x3xf32>, tensor<3xi1>, tensor<3xi1>, tensor<1xf32>) -> tensor<3x3xf32>
  func.return %0 : tensor<3x3xf32>
}

// -----

func.func @float8_sum(%x: tensor<3xf8E4M3FN>) -> tensor<3xf8E4M3FN> {
  // expected-error @+1 {{aten.add.Tensor: not defined for float8_e4m3fn tensors: they are stored and moved; convert them to compute}}
  %0 = aten.add.Tensor(%x, %x) : (tensor<3xf8E4M3FN>, tensor<3xf8E4M3FN>) -> tensor<3xf8E4M3FN>
  func.return %0 : tensor<3xf8E4M3FN>
}

// -----

func.func @float8_random() -> tensor<3xf8E5M2> {
  // expected-error @+1 {{aten.rand: not defined for float8_e5m2 tensors}}
  %0 = aten.rand() {size = [3], dtype = f8E5M2} : () -> tensor<3xf8E5M2>
  func.return %0 : tensor<3xf8E5M2>
}

// -----

func.func @float8_largest(%x: tensor<3xf8E4M3FNUZ>) -> tensor<f8E4M3FNUZ> {
  // expected-error @+1 {{aten.amax is not defined for float8_e4m3fnuz tensors}}
  %0 = aten.amax(%x) : (tensor<3xf8E4M3FNUZ>) -> tensor<f8E4M3FNUZ>
  func.return %0 : tensor<f8E4M3FNUZ>
}

// -----

func.func @float8_promoted(%x: tensor<3xf8E4M3FN>, %y: tensor<3xf32>) -> tensor<6xf32> {
  // expected-error @+1 {{aten.cat: float8_e4m3fn and float32 have no common type}}
  %0 = aten.cat([%x, %y]) : (tensor<3xf8E4M3FN>, tensor<3xf32>) -> tensor<6xf32>
  func.return %0 : tensor<6xf32>
}

// -----

func.func @float8_added(%x: tensor<3xf8E4M3FN>, %i: tensor<1xi64>, %v: tensor<1xf8E4M3FN>) -> tensor<3xf8E4M3FN> {
  // expected-error @+1 {{aten.index_put: no sums are made in float8_e4m3fn: convert the tensors first}}
  %0 = aten.index_put(%x, [%i], %v) {accumulate = true} : (tensor<3xf8E4M3FN>, tensor<1xi64>, tensor<1xf8E4M3FN>) -> tensor<3xf8E4M3FN>
  func.return %0 : tensor<3xf8E4M3FN>
}
