// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt | filecheck %s

// What the operations of other dialects carry that is ours.

// CHECK: ml_program.global private @w(#flambeau.blob<"w \22quoted\22", "0123456789abcdef">) : tensor<4xf32>
ml_program.global private @w(#flambeau.blob<"w \22quoted\22", "0123456789abcdef">) : tensor<4xf32>

// CHECK: "test.op"() {blob = #flambeau.blob<"b", "00000000000000aa">} : () -> ()
"test.op"() {blob = #flambeau.blob<"b", "00000000000000aa">} : () -> ()

// Operations on symbols.

// CHECK: func.func @symbols(%x: tensor<?x4xf32, #edge.layout<sizes = [s0 in [1, 512], 4]>>, %n: tensor<i64>, %m: i64) -> i64 {
// CHECK-NEXT: flambeau.define_symbol %n as u0 in [0, 16] : tensor<i64>
// CHECK-NEXT: flambeau.define_symbol %m as u1 in [?, 3] {note = 1 : i64} : i64
// CHECK-NEXT: flambeau.assert s0 mod 2 eq 0, "the batch is even"
// CHECK-NEXT: flambeau.assert u0 le s0
// CHECK-NEXT: flambeau.assert u0 lt s0 + 1
// CHECK-NEXT: flambeau.assert u1 ne 2
// CHECK-NEXT: %0 = flambeau.value s0 + u0 * 2 : i64
func.func @symbols(%x: tensor<?x4xf32, #edge.layout<sizes = [s0 in [1, 512], 4]>>, %n: tensor<i64>, %m: i64) -> i64 {
  flambeau.define_symbol %n as u0 in [0, 16] : tensor<i64>
  flambeau.define_symbol %m as u1 in [?, 3] {note = 1 : i64} : i64
  flambeau.assert s0 mod 2 eq 0, "the batch is even"
  flambeau.assert u0 le s0
  flambeau.assert u0 lt s0 + 1
  flambeau.assert u1 ne 2
  %0 = flambeau.value s0 + u0 * 2 : i64
  func.return %0 : i64
}
