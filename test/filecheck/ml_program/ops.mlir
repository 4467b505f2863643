// RUN: flambeau-opt %s | filecheck %s
// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt | filecheck %s

// CHECK: ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<4xf32>
ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<4xf32>
// CHECK-NEXT: ml_program.global public mutable @"a cache"(dense<0.000000e+00> : tensor<2xf32>) : tensor<2xf32> {note = 1 : i64}
ml_program.global public mutable @"a cache"(dense<0.0> : tensor<2xf32>) : tensor<2xf32> {note = 1 : i64}
// CHECK-NEXT: ml_program.global private mutable @layers.0.state : tensor<2xbf16>
ml_program.global mutable @layers.0.state : tensor<2xbf16>
func.func @forward() {
  // CHECK: %0 = ml_program.global_load_const @w {handle = 1 : i64} : tensor<4xf32>
  %0 = ml_program.global_load_const @w {handle = 1 : i64} : tensor<4xf32>
  // CHECK-NEXT: %1 = ml_program.global_load @"a cache" : tensor<2xf32>
  %1 = ml_program.global_load @"a cache" : tensor<2xf32>
  // CHECK-NEXT: ml_program.global_store @"a cache" = %1 {handle = 2 : i64} : tensor<2xf32>
  ml_program.global_store @"a cache" = %1 {handle = 2 : i64} : tensor<2xf32>
  // CHECK-NEXT: ml_program.global_load @layers.0.state : tensor<2xbf16>
  %2 = ml_program.global_load @layers.0.state : tensor<2xbf16>
  func.return
}
