// RUN: flambeau-opt %s -p canonicalize | filecheck %s

// What gives back its operand disappears.
// CHECK-LABEL: func.func @identities
// CHECK-NEXT:    func.return %x : tensor<2x3xf32>
func.func @identities(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = core.view(%x) {size = [2, 3]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = core.expand(%0) {size = [2, 3]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = core.clone(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = core.permute(%2) {dims = [0, 1]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = core.cat([%3]) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = core._to_copy(%4) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = core.mul.Scalar(%5) {other = 1.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %6 : tensor<2x3xf32>
}

// Reshapes are views, and two of them are one.
// CHECK-LABEL: func.func @reshapes
// CHECK-NEXT:    %[[V:.*]] = core.view(%x) {size = [3, 1, 2]} : (tensor<2x3xf32>) -> tensor<3x1x2xf32>
// CHECK-NEXT:    func.return %[[V]]
func.func @reshapes(%x: tensor<2x3xf32>) -> tensor<3x1x2xf32> {
  %0 = core.unsqueeze(%x) {dim = 0} : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  %1 = core.squeeze.dim(%0) {dim = 0} : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
  %2 = core.view(%1) {size = [-1, 1, 2]} : (tensor<2x3xf32>) -> tensor<3x1x2xf32>
  func.return %2 : tensor<3x1x2xf32>
}

// A permutation that only moves a dimension of size 1 is a view; one that undoes another is nothing.
// CHECK-LABEL: func.func @permutations
// CHECK-NEXT:    %[[V:.*]] = core.view(%x) {size = [2, 1, 3]}
// CHECK-NEXT:    func.return %[[V]], %y
func.func @permutations(%x: tensor<1x2x3xf32>, %y: tensor<2x3x4xf32>) -> (tensor<2x1x3xf32>, tensor<2x3x4xf32>) {
  %0 = core.permute(%x) {dims = [1, 0, 2]} : (tensor<1x2x3xf32>) -> tensor<2x1x3xf32>
  %1 = core.permute(%y) {dims = [1, 2, 0]} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %2 = core.permute(%1) {dims = [2, 0, 1]} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  func.return %0, %2 : tensor<2x1x3xf32>, tensor<2x3x4xf32>
}

// An operator that broadcasts needs no expanded operand, unless the expansion gives the result its shape.
// CHECK-LABEL: func.func @broadcasts
// CHECK-NEXT:    %[[SUM:.*]] = core.add.Tensor(%x, %y) : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %[[WIDE:.*]] = core.expand(%x)
// CHECK-NEXT:    core.mul.Tensor(%[[WIDE]], %x)
func.func @broadcasts(%x: tensor<1x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<4x3xf32>) {
  %0 = core.expand(%x) {size = [2, 3]} : (tensor<1x3xf32>) -> tensor<2x3xf32>
  %1 = core.add.Tensor(%0, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = core.expand(%x) {size = [4, 3]} : (tensor<1x3xf32>) -> tensor<4x3xf32>
  %3 = core.mul.Tensor(%2, %x) : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
  func.return %1, %3 : tensor<2x3xf32>, tensor<4x3xf32>
}

// Empty operands contribute nothing; a cast or a view to another shape stays.
// CHECK-LABEL: func.func @stays
// CHECK:         core.cat([%x, %x])
// CHECK:         core._to_copy(%x) {dtype = f64}
// CHECK:         core.view(%x) {size = [3, 2]}
func.func @stays(%x: tensor<2x3xf32>, %e: tensor<0x3xf32>) -> (tensor<4x3xf32>, tensor<2x3xf64>, tensor<3x2xf32>) {
  %0 = core.cat([%x, %e, %x]) : (tensor<2x3xf32>, tensor<0x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %1 = core._to_copy(%x) {dtype = f64} : (tensor<2x3xf32>) -> tensor<2x3xf64>
  %2 = core.view(%x) {size = [3, 2]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %0, %1, %2 : tensor<4x3xf32>, tensor<2x3xf64>, tensor<3x2xf32>
}

// Between equal types, a slice or reshape of a dynamic dimension may still change its extent.
// CHECK-LABEL: func.func @dynamic
// CHECK-NEXT:    core.slice.Tensor(%x) {start = 1}
// CHECK-NEXT:    core.expand(%x) {size = [3, -1]}
// CHECK-NEXT:    func.return %{{.*}}, %{{.*}}, %x : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
func.func @dynamic(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %0 = core.slice.Tensor(%x) {dim = 0, start = 1} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = core.expand(%x) {size = [3, -1]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = core.slice.Tensor(%x) {dim = 0, start = 0, end = 9223372036854775807} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %3 = core.view(%2) {size = [-1, 4]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %4 = core.expand(%3) {size = [-1, 4]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %0, %1, %4 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}
// CHECK-LABEL: func.func @views_of_unknown
// CHECK-NEXT:    core.view(%x) {size = [-1, 3]}
func.func @views_of_unknown(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = core.view(%x) {size = [-1, 3]} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @widening
// CHECK-NEXT:    core.expand(%x) {size = [3, -1]}
func.func @widening(%x: tensor<1x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = core.expand(%x) {size = [3, -1]} : (tensor<1x4xf32>) -> tensor<3x4xf32>
  %1 = core.add.Tensor(%0, %y) : (tensor<3x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %1 : tensor<?x4xf32>
}

// An empty operand may decide the type.
// CHECK-LABEL: func.func @empty_decides
// CHECK-NEXT:    aten.cat([%a, %b])
func.func @empty_decides(%a: tensor<0x3xf32>, %b: tensor<2x3xf16>) -> tensor<2x3xf32> {
  %0 = aten.cat([%a, %b]) : (tensor<0x3xf32>, tensor<2x3xf16>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// Complex numbers need not be made where only their parts are used.
// CHECK-LABEL: func.func @parts
// CHECK-NEXT:    func.return %x
func.func @parts(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = aten.view_as_complex(%x) : (tensor<3x2xf32>) -> tensor<3xcomplex<f32>>
  %1 = aten.view_as_real(%0) : (tensor<3xcomplex<f32>>) -> tensor<3x2xf32>
  func.return %1 : tensor<3x2xf32>
}

// Of a table with scales for groups, the rows that are read become floats; no kernel reads zero points in integers.
// CHECK-LABEL: func.func @table_of_groups
// CHECK-NEXT:    %[[ZEROS:.*]] = core._to_copy(%z) {dtype = f32}
// CHECK-NEXT:    %[[ROWS:.*]] = quantized_decomposed.embedding_byte(%x, %s, %[[ZEROS]], %i) {weight_quant_min = -8, weight_quant_max = 7}
// CHECK-NEXT:    func.return %[[ROWS]]
func.func @table_of_groups(%x: tensor<9x8xi8>, %s: tensor<9x2xf32>, %z: tensor<9x2xi32>, %i: tensor<3xi64>) -> tensor<3x8xf32> {
  %0 = quantized_decomposed.dequantize_per_channel_group(%x, %s, %z) {quant_min = -8, quant_max = 7, dtype = i8, group_size = 4, output_dtype = f32} : (tensor<9x8xi8>, tensor<9x2xf32>, tensor<9x2xi32>) -> tensor<9x8xf32>
  %1 = core.embedding(%0, %i) : (tensor<9x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  func.return %1 : tensor<3x8xf32>
}

// So they do of a table with a scale for each row, but not of one with a scale for each column.
// CHECK-LABEL: func.func @table_of_rows
// CHECK:         quantized_decomposed.embedding_byte(%x, %s, %{{.*}}, %i) {weight_quant_min = -127, weight_quant_max = 127}
// CHECK:         core.embedding
func.func @table_of_rows(%x: tensor<9x8xi8>, %s: tensor<9xf32>, %z: tensor<9xi64>, %t: tensor<8xf32>, %y: tensor<8xi64>, %i: tensor<3xi64>) -> (tensor<3x8xf32>, tensor<3x8xf32>) {
  %0 = quantized_decomposed.dequantize_per_channel(%x, %s, %z) {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<9x8xi8>, tensor<9xf32>, tensor<9xi64>) -> tensor<9x8xf32>
  %1 = core.embedding(%0, %i) : (tensor<9x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  %2 = quantized_decomposed.dequantize_per_channel(%x, %t, %y) {axis = 1, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<9x8xi8>, tensor<8xf32>, tensor<8xi64>) -> tensor<9x8xf32>
  %3 = core.embedding(%2, %i) : (tensor<9x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  func.return %1, %3 : tensor<3x8xf32>, tensor<3x8xf32>
}

// Its floats are of another type than the scales.
// CHECK-LABEL: func.func @table_of_half
// CHECK:         core.embedding
func.func @table_of_half(%x: tensor<9x8xi8>, %s: tensor<9x2xf32>, %z: tensor<9x2xi32>, %i: tensor<3xi64>) -> tensor<3x8xf16> {
  %0 = quantized_decomposed.dequantize_per_channel_group(%x, %s, %z) {quant_min = -8, quant_max = 7, dtype = i8, group_size = 4, output_dtype = f16} : (tensor<9x8xi8>, tensor<9x2xf32>, tensor<9x2xi32>) -> tensor<9x8xf16>
  %1 = core.embedding(%0, %i) : (tensor<9x8xf16>, tensor<3xi64>) -> tensor<3x8xf16>
  func.return %1 : tensor<3x8xf16>
}

// A backend took what its table says, and not what that might become.
// CHECK-LABEL: delegate.partition @taken
// CHECK:         edge.unsqueeze_copy
delegate.partition @taken backend "OpenvinoBackend" (%x: tensor<3xf32>) -> (tensor<1x3xf32>) {
  %0 = edge.unsqueeze_copy(%x) {dim = 0} : (tensor<3xf32>) -> tensor<1x3xf32>
  delegate.return %0 : tensor<1x3xf32>
}
