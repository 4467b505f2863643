// RUN: flambeau-opt %s -p lower-complex | filecheck %s
// RUN: flambeau-opt %s -p 'aten-to-core{target=flambeau}' | filecheck %s --check-prefix=CORE

// Chains of operators compute on parts; complex tensors are made of them at the end.
// CHECK-LABEL: func.func @product
// CHECK:         %[[P:.*]] = aten.view_as_real(%x)
// CHECK:         aten.select.int(%[[P]]) {dim = -1, index = 0}
// CHECK-NOT:     complex<f32>>, tensor<2xcomplex<f32>>
// CHECK:         %[[R:.*]] = aten.complex(
// CHECK-NEXT:    func.return %[[R]]
// CORE-LABEL:  func.func @product
// CORE-NOT:      core.mul.Tensor({{.*}}complex
// CORE:          core.stack(
// CORE-NEXT:     core.view_as_complex
func.func @product(%x: tensor<2xcomplex<f32>>, %y: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %0 = aten.mul.Tensor(%x, %y) : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %1 = aten.exp(%0) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  func.return %1 : tensor<2xcomplex<f32>>
}

// A real operand has no imaginary part to multiply.
// CHECK-LABEL: func.func @scaled
// CHECK-COUNT-2: aten.mul.Tensor(
// CHECK-NOT:     aten.mul.Tensor(
// CHECK:         aten.complex
func.func @scaled(%x: tensor<2xcomplex<f32>>, %y: tensor<2xf32>) -> tensor<2xcomplex<f32>> {
  %0 = aten.mul.Tensor(%x, %y) : (tensor<2xcomplex<f32>>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
  func.return %0 : tensor<2xcomplex<f32>>
}

// The parts of numbers in double precision are double too; real results need no complex tensor.
// CHECK-LABEL: func.func @size
// CHECK:         tensor<2xf64>
// CHECK-NOT:     aten.complex
func.func @size(%x: tensor<2xcomplex<f64>>) -> tensor<2xf64> {
  %0 = aten.conj_physical(%x) : (tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %1 = aten.abs(%0) : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
  func.return %1 : tensor<2xf64>
}

// Operators without complex tensors stay, and so do the bytes of complex ones.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT:    aten.view_as_complex(%x)
// CHECK-NEXT:    func.return
func.func @stays(%x: tensor<3x2xf32>) -> tensor<3xcomplex<f32>> {
  %0 = aten.view_as_complex(%x) : (tensor<3x2xf32>) -> tensor<3xcomplex<f32>>
  func.return %0 : tensor<3xcomplex<f32>>
}

// An operator that decomposes is its decomposition on complex tensors too; where there is nothing to move, nothing is computed. The transforms
// have kernels that take complex tensors.
// CHECK-LABEL: func.func @decomposed
// CHECK-NEXT:    %[[F:.*]] = aten._fft_c2c(%x)
// CHECK-NEXT:    func.return %[[F]]
func.func @decomposed(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = aten.detach(%x) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %1 = aten.t(%0) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %2 = aten._fft_c2c(%1) {dim = [0], normalization = 0, forward = true} : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  func.return %2 : tensor<4xcomplex<f32>>
}
