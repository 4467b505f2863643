// RUN: flambeau-opt %s --verify-diagnostics --split-input-file

func.func @windows(%x: tensor<1x8x8x3xi8>) {
  // expected-error @+1 {{tosa.max_pool2d: windows of 3 in steps of 2 do not end where 8 elements and 0 of padding do}}
  %0 = tosa.max_pool2d(%x) {kernel = [3, 3], stride = [2, 2], pad = [0, 0, 0, 0]} : (tensor<1x8x8x3xi8>) -> tensor<1x3x3x3xi8>
  func.return
}

// -----

func.func @bias(%x: tensor<1x8x8x3xi8>, %w: tensor<4x1x1x3xi8>, %b: tensor<3xi32>) {
  // expected-error @+1 {{tosa.conv2d: [1, 8, 8, 3], the weight [4, 1, 1, 3] and the bias [3] do not fit}}
  %0 = tosa.conv2d(%x, %w, %b) {pad = [0, 0, 0, 0], stride = [1, 1], dilation = [1, 1]} : (tensor<1x8x8x3xi8>, tensor<4x1x1x3xi8>, tensor<3xi32>) -> tensor<1x8x8x4xi32>
  func.return
}

// -----

func.func @ranks(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{tosa.add: operands tensor<2x3xf32> and tensor<3xf32> are not of one type and rank}}
  %0 = tosa.add(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @order(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{tosa.transpose: [0, 0] is no order of the dimensions of tensor<2x3xf32>}}
  %0 = tosa.transpose(%x) {perms = [0, 0]} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @table(%x: tensor<2xi8>) {
  // expected-error @+1 {{tosa.table: a table of i8 has 256 numbers of that type, got 2}}
  %0 = tosa.table(%x) {table = [1, 2]} : (tensor<2xi8>) -> tensor<2xi8>
  func.return
}

// -----

func.func @part(%x: tensor<2x3xi8>) {
  // expected-error @+1 {{tosa.slice: there are no 2 entries from 2 on among 3}}
  %0 = tosa.slice(%x) {start = [0, 2], size = [2, 2]} : (tensor<2x3xi8>) -> tensor<2x2xi8>
  func.return
}

// -----

func.func @parts(%x: tensor<2x3xi8>) {
  // expected-error @+1 {{tosa.slice: a part of 1 dimensions, of a tensor of 2}}
  %0 = tosa.slice(%x) {start = [0], size = [2]} : (tensor<2x3xi8>) -> tensor<2xi8>
  func.return
}

// -----

func.func @padding(%x: tensor<2xi8>) {
  // expected-error @+1 {{tosa.pad: the padding [1, -1] is not a pair of numbers from 0 on for each dimension}}
  %0 = tosa.pad(%x) {padding = [1, -1], pad_const = 0} : (tensor<2xi8>) -> tensor<2xi8>
  func.return
}

// -----

func.func @tile(%x: tensor<2xi8>) {
  // expected-error @+1 {{tosa.tile: a tensor is not there 0 times}}
  %0 = tosa.tile(%x) {multiples = [0]} : (tensor<2xi8>) -> tensor<0xi8>
  func.return
}

// -----

func.func @reverse(%x: tensor<2xi8>) {
  // expected-error @+1 {{tosa.reverse: tensor<2xi8> has no dimension 1}}
  %0 = tosa.reverse(%x) {axis = 1} : (tensor<2xi8>) -> tensor<2xi8>
  func.return
}

// -----

func.func @gather(%x: tensor<2x3x4xi8>, %i: tensor<1x2xi32>) {
  // expected-error @+1 {{tosa.gather: values tensor<2x3x4xi8> and indices tensor<1x2xi32> are not [batch, entries, numbers] and int32 [batch, count]}}
  %0 = tosa.gather(%x, %i) : (tensor<2x3x4xi8>, tensor<1x2xi32>) -> tensor<1x2x4xi8>
  func.return
}

// -----

func.func @outward(%x: tensor<1x2x2x1xi8>, %w: tensor<1x2x2x1xi8>, %b: tensor<1xi32>) {
  // expected-error @+1 {{tosa.transpose_conv2d: steps [1, 1] are from 1 on, and [-2, 0, 0, 0] leaves something of each window of [2, 2]}}
  %0 = tosa.transpose_conv2d(%x, %w, %b) {out_pad = [-2, 0, 0, 0], stride = [1, 1]} : (tensor<1x2x2x1xi8>, tensor<1x2x2x1xi8>, tensor<1xi32>) -> tensor<1x1x3x1xi32>
  func.return
}

// -----

func.func @mode(%x: tensor<1x2x2x1xf32>) {
  // expected-error @+1 {{tosa.resize: an image [1, 2, 2, 1] is not resized by [1, 1, 1, 1], [0, 0], [0, 0], 'cubic'}}
  %0 = tosa.resize(%x) {scale = [1, 1, 1, 1], offset = [0, 0], border = [0, 0], mode = "cubic"} : (tensor<1x2x2x1xf32>) -> tensor<1x2x2x1xf32>
  func.return
}

// -----

func.func @scale(%x: tensor<1x2x2x1xf32>) {
  // expected-error @+1 {{tosa.resize: the scale 1/16 is not from 1/16 to 256, with a numerator of up to 2048}}
  %0 = tosa.resize(%x) {scale = [1, 16, 1, 1], offset = [0, 0], border = [0, 0], mode = "nearest"} : (tensor<1x2x2x1xf32>) -> tensor<1x1x2x1xf32>
  func.return
}

// -----

func.func @border(%x: tensor<1x2x2x1xf32>) {
  // expected-error @+1 {{tosa.resize: the offset 0 and the border 2 are too large for the scale 2/1}}
  %0 = tosa.resize(%x) {scale = [2, 1, 2, 1], offset = [0, 0], border = [2, 0], mode = "nearest"} : (tensor<1x2x2x1xf32>) -> tensor<1x5x3x1xf32>
  func.return
}

// -----

func.func @end(%x: tensor<1x3x2x1xf32>) {
  // expected-error @+1 {{tosa.resize: with the offset 0 and the border 0, 3 pixels do not become 2}}
  %0 = tosa.resize(%x) {scale = [2, 3, 1, 1], offset = [0, 0], border = [0, 0], mode = "nearest"} : (tensor<1x3x2x1xf32>) -> tensor<1x2x2x1xf32>
  func.return
}

// -----

func.func @logic(%x: tensor<2xf32>) {
  // expected-error @+1 {{tosa.logical_not is not defined for float32 tensors; it is for bool}}
  %0 = tosa.logical_not(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @select(%c: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<1x2xf32>) {
  // expected-error @+1 {{tosa.select: operands tensor<2xi1>, tensor<2xf32> and tensor<1x2xf32> are not of one rank, or the last two not of one type}}
  %0 = tosa.select(%c, %x, %y) : (tensor<2xi1>, tensor<2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return
}

// -----

func.func @cast(%x: tensor<2xi8>) {
  // expected-error @+1 {{tosa.cast: i8 does not become i32: one of them is a float, and they differ}}
  %0 = tosa.cast(%x) {dtype = i32} : (tensor<2xi8>) -> tensor<2xi32>
  func.return
}
