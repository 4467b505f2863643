// RUN: flambeau-opt %s -p 'legalize-operators{backends=tosa{profile=fp}},partition{backends=tosa{profile=fp}},convert-partitions,cse' | filecheck %s

// One operator of TOSA computes in float16; several compute in float32, and the result is rounded once.
// CHECK-LABEL: delegate.partition @steps_tosa_0
// CHECK-NEXT:    %0 = tosa.exp(%x) : (tensor<2x3xf16>) -> tensor<2x3xf16>
// CHECK-NEXT:    %1 = tosa.cast(%0) {dtype = f32} : (tensor<2x3xf16>) -> tensor<2x3xf32>
// CHECK-NEXT:    %2 = tosa.sigmoid(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %3 = tosa.mul(%1, %2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %4 = tosa.cast(%3) {dtype = f16} : (tensor<2x3xf32>) -> tensor<2x3xf16>
// CHECK-NEXT:    delegate.return %4
func.func @steps(%x: tensor<2x3xf16>) -> tensor<2x3xf16> {
  %0 = edge.exp(%x) : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %1 = edge.silu(%0) : (tensor<2x3xf16>) -> tensor<2x3xf16>
  func.return %1 : tensor<2x3xf16>
}

// Sums of products of matrices are of float32, and the bias is added to them.
// CHECK-LABEL: delegate.partition @sums_tosa_0
// CHECK:         tosa.matmul({{.*}}) : (tensor<1x2x3xf16>, tensor<1x3x4xf16>) -> tensor<1x2x4xf32>
// CHECK:         tosa.cast({{.*}}) {dtype = f32} : (tensor<1x4xf16>) -> tensor<1x4xf32>
// CHECK-NEXT:    tosa.add({{.*}}) : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:    tosa.cast({{.*}}) {dtype = f16} : (tensor<2x4xf32>) -> tensor<2x4xf16>
func.func @sums(%b: tensor<4xf16>, %x: tensor<2x3xf16>, %y: tensor<3x4xf16>) -> tensor<2x4xf16> {
  %0 = edge.addmm(%b, %x, %y) : (tensor<4xf16>, tensor<2x3xf16>, tensor<3x4xf16>) -> tensor<2x4xf16>
  func.return %0 : tensor<2x4xf16>
}

// Numbers of float16 become those of other types by way of float32.
// CHECK-LABEL: delegate.partition @types_tosa_0
// CHECK:         tosa.cast(%x) {dtype = f32} : (tensor<2xf16>) -> tensor<2xf32>
// CHECK:         tosa.cast({{.*}}) {dtype = i32} : (tensor<2xf32>) -> tensor<2xi32>
func.func @types(%x: tensor<2xf16>) -> tensor<2xi32> {
  %0 = edge._to_copy(%x) {dtype = i32} : (tensor<2xf16>) -> tensor<2xi32>
  func.return %0 : tensor<2xi32>
}
