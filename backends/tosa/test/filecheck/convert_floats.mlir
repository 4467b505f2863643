// RUN: flambeau-opt %s -p 'partition{backends=tosa{profile=fp}},convert-partitions,cse' | filecheck %s

// A square is a product, a quotient one with a reciprocal.
// CHECK-LABEL: delegate.partition @activation_tosa_0
// CHECK:         tosa.greater(%x, %{{.*}}) : (tensor<2x3xf32>, tensor<1x1xf32>) -> tensor<2x3xi1>
// CHECK:         [[slope:%.*]] = tosa.mul(%x, %{{.*}})
// CHECK-NEXT:    [[x:%.*]] = tosa.select(%{{.*}}, %x, [[slope]])
// CHECK-NEXT:    tosa.mul([[x]], [[x]])
// CHECK-NEXT:    tosa.reciprocal(%x)
// CHECK-NEXT:    tosa.mul
// CHECK-NEXT:    delegate.return
func.func @activation(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.leaky_relu(%x) {negative_slope = 0.5} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.pow.Tensor_Scalar(%0) {exponent = 2} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = edge.div.Tensor(%1, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

// Fractions are cut off before, because TOSA rounds.
// CHECK-LABEL: delegate.partition @conversion_tosa_0
// CHECK:         [[size:%.*]] = tosa.abs(%x)
// CHECK-NEXT:    tosa.greater(%{{.*}}, [[size]])
// CHECK:         tosa.floor(%x)
// CHECK-NEXT:    tosa.ceil(%x)
// CHECK-NEXT:    tosa.select
// CHECK:         tosa.select
// CHECK-NEXT:    tosa.cast(%{{.*}}) {dtype = i32}
func.func @conversion(%x: tensor<2x3xf32>) -> tensor<2x3xi32> {
  %0 = edge._to_copy(%x) {dtype = i32} : (tensor<2x3xf32>) -> tensor<2x3xi32>
  func.return %0 : tensor<2x3xi32>
}

// What may be negative is raised to few powers.
// CHECK-LABEL: func.func @power
// CHECK-NEXT:    edge.pow.Tensor_Scalar
func.func @power(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = edge.pow.Tensor_Scalar(%x) {exponent = 1.5} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// Pads that take away all elements stay: TOSA has no empty tensors.
// CHECK-LABEL: func.func @nothing_left
// CHECK: edge.constant_pad_nd
func.func @nothing_left(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  %0 = edge.constant_pad_nd(%x) {pad = [-3, 2], value = 1.5} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}

// A number has no dimension along which it may be normalised or reversed.
// CHECK-LABEL: func.func @number
// CHECK-NEXT:    edge._softmax
// CHECK-NEXT:    edge._log_softmax
// CHECK-NEXT:    edge.flip
func.func @number(%x: tensor<f32>) -> tensor<f32> {
  %0 = edge._softmax(%x) {dim = 0, half_to_float = false} : (tensor<f32>) -> tensor<f32>
  %1 = edge._log_softmax(%0) {dim = 0, half_to_float = false} : (tensor<f32>) -> tensor<f32>
  %2 = edge.flip(%1) {dims = [0]} : (tensor<f32>) -> tensor<f32>
  func.return %2 : tensor<f32>
}
