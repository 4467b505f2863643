// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p convert-core-to-edge | filecheck %s
// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p convert-core-to-edge{target=executorch} | filecheck %s --check-prefix=TARGET

// Operands are cast to the type that is computed in.
// CHECK-LABEL: func.func @promotion
// CHECK-NEXT:    %[[I:.*]] = edge._to_copy(%i) {dtype = f32} : (tensor<2xi64>) -> tensor<2xf32>
// CHECK-NEXT:    edge.add.Tensor(%x, %[[I]]) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:    %[[J:.*]] = edge._to_copy(%i) {dtype = f32}
// CHECK-NEXT:    edge.lt.Tensor(%x, %[[J]]) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
// CHECK-NEXT:    %[[K:.*]] = edge._to_copy(%i) {dtype = f32}
// CHECK-NEXT:    edge.sigmoid(%[[K]])
func.func @promotion(%x: tensor<2xf32>, %i: tensor<2xi64>) -> (tensor<2xf32>, tensor<2xi1>, tensor<2xf32>) {
  %0 = core.add.Tensor(%x, %i) : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
  %1 = core.lt.Tensor(%x, %i) : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xi1>
  %2 = core.sigmoid(%i) : (tensor<2xi64>) -> tensor<2xf32>
  func.return %0, %1, %2 : tensor<2xf32>, tensor<2xi1>, tensor<2xf32>
}

// -----

// Numbers are written in the type that is computed in; a condition stays a condition.
// CHECK-LABEL: func.func @scalars
// CHECK-NEXT:    edge.mul.Scalar(%x) {other = 2.0}
// CHECK-NEXT:    %[[I:.*]] = edge._to_copy(%i) {dtype = f32}
// CHECK-NEXT:    edge.where.self(%c, %x, %[[I]]) : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
func.func @scalars(%x: tensor<2xf32>, %i: tensor<2xi64>, %c: tensor<2xi1>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = core.mul.Scalar(%x) {other = 2} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = core.where.self(%c, %x, %i) : (tensor<2xi1>, tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// -----

// Views are copies.
// CHECK-LABEL: func.func @views
// CHECK-NEXT:    edge.view_copy(%x) {size = [6]}
// CHECK-NEXT:    edge.slice_copy.Tensor(%x) {dim = 1, start = 1}
func.func @views(%x: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<2x2xf32>) {
  %0 = core.view(%x) {size = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = core.slice.Tensor(%x) {dim = 1, start = 1} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return %0, %1 : tensor<6xf32>, tensor<2x2xf32>
}

// -----

// What reads an input in another layout reads a row-major copy; results are row-major.
// CHECK-LABEL: func.func @layouts
// CHECK-SAME:    tensor<2x3x4x5xf32, #edge.layout<[0, 2, 3, 1]>>
// CHECK-NEXT:    %[[X:.*]] = edge._to_dim_order_copy(%x) {dim_order = [0, 1, 2, 3]} : ({{.*}}) -> tensor<2x3x4x5xf32>
// CHECK-NEXT:    edge.relu(%[[X]]) : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
func.func @layouts(%x: tensor<2x3x4x5xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<2x3x4x5xf32> {
  %0 = core.relu(%x) : (tensor<2x3x4x5xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<2x3x4x5xf32>
  func.return %0 : tensor<2x3x4x5xf32>
}

// -----

// Callers of the target give row-major tensors and channels-last images: other inputs become row-major.
// CHECK-LABEL: func.func @inputs(%x: tensor<2x3x4x5xf32, #edge.layout<[0, 2, 3, 1]>>, %y: tensor<3x4xf32, #edge.layout<[1, 0]>>)
// CHECK:         edge._to_dim_order_copy(%x)
// CHECK:         edge._to_dim_order_copy(%y)
// TARGET-LABEL: func.func @inputs(%x: tensor<2x3x4x5xf32, #edge.layout<[0, 2, 3, 1]>>, %y: tensor<3x4xf32>)
// TARGET:         edge._to_dim_order_copy(%x)
// TARGET:         edge.relu(%y) : (tensor<3x4xf32>) -> tensor<3x4xf32>
func.func @inputs(%x: tensor<2x3x4x5xf32, #edge.layout<[0, 2, 3, 1]>>, %y: tensor<3x4xf32, #edge.layout<[1, 0]>>)
    -> (tensor<2x3x4x5xf32>, tensor<3x4xf32>) {
  %0 = core.relu(%x) : (tensor<2x3x4x5xf32, #edge.layout<[0, 2, 3, 1]>>) -> tensor<2x3x4x5xf32>
  %1 = core.relu(%y) : (tensor<3x4xf32, #edge.layout<[1, 0]>>) -> tensor<3x4xf32>
  func.return %0, %1 : tensor<2x3x4x5xf32>, tensor<3x4xf32>
}

// -----

// What functions of the module give to each other stays.
// TARGET-LABEL: func.func @part(%y: tensor<3x4xf32, #edge.layout<[1, 0]>>)
// TARGET:         edge._to_dim_order_copy(%y)
func.func @part(%y: tensor<3x4xf32, #edge.layout<[1, 0]>>) -> tensor<3x4xf32> {
  %0 = core.relu(%y) : (tensor<3x4xf32, #edge.layout<[1, 0]>>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
// TARGET-LABEL: func.func @whole(%y: tensor<3x4xf32, #edge.layout<[1, 0]>>)
func.func @whole(%y: tensor<3x4xf32, #edge.layout<[1, 0]>>) -> tensor<3x4xf32> {
  %0 = func.call @part(%y) : (tensor<3x4xf32, #edge.layout<[1, 0]>>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}

// -----

func.func @early(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{convert-core-to-edge: 1 operation cannot be converted to the edge level: aten.relu: it does not belong to the edge level; run aten-to-core first}}
  %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @without_bound(%x: tensor<2x3xf32>) -> tensor<?x2xi64> {
  // expected-error @+1 {{core.nonzero: it has no form at the edge level; dimension 0 of tensor<?x2xi64> has no maximum}}
  %0 = core.nonzero(%x) : (tensor<2x3xf32>) -> tensor<?x2xi64>
  func.return %0 : tensor<?x2xi64>
}

// -----

// An input that is not a tensor stays.
// CHECK-LABEL: func.func @number
// TARGET-LABEL: func.func @number(%n: i32,
func.func @number(%n: i32, %x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// -----

// A row of another dialect reads row-major tensors too.
// CHECK-LABEL: func.func @quantized
// CHECK:         [[ROWS:%.*]] = edge._to_dim_order_copy(%x) {dim_order = [0, 1]}
// CHECK-NEXT:    quantized_decomposed.quantize_per_tensor([[ROWS]])
// TARGET-LABEL: func.func @quantized(%x: tensor<3x4xf32>)
func.func @quantized(%x: tensor<3x4xf32, #edge.layout<[1, 0]>>) -> tensor<3x4xi8> {
  %0 = quantized_decomposed.quantize_per_tensor(%x) {scale = 0.5, zero_point = 3, quant_min = -128, quant_max = 127, dtype = i8} : (tensor<3x4xf32, #edge.layout<[1, 0]>>) -> tensor<3x4xi8>
  func.return %0 : tensor<3x4xi8>
}
