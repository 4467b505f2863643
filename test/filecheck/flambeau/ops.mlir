// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt | filecheck %s

// What the operations of other dialects carry that is ours.

// CHECK: ml_program.global private @w(#flambeau.blob<"w \22quoted\22", "0123456789abcdef">) : tensor<4xf32>
ml_program.global private @w(#flambeau.blob<"w \22quoted\22", "0123456789abcdef">) : tensor<4xf32>

// CHECK: "test.op"() {blob = #flambeau.blob<"b", "00000000000000aa">} : () -> ()
"test.op"() {blob = #flambeau.blob<"b", "00000000000000aa">} : () -> ()
