// RUN: flambeau-opt %s | filecheck %s
// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC

ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<3x3xf32>
ml_program.global private mutable @counter(#flambeau.blob<"counter", "00000000000000ff">) : tensor<1xi64>
ml_program.global private mutable @scratch : tensor<4xui8>
delegate.payload @delegate0 backend "XnnpackBackend" {"mode" = "fast"} (#flambeau.blob<"delegate0", "aaaaaaaaaaaaaaaa">)

exec.named_data "extra" = #flambeau.blob<"extra", "0123456789abcdef"> {note = "x"}

// CHECK-LABEL: exec.method @slots {arenas = [4096, 64], input_names = ["x"], output_names = ["y", "n"], input_spec = "in", output_spec = "out"} {
exec.method @slots {arenas = [4096, 64], input_names = ["x"], output_names = ["y", "n"], input_spec = "in", output_spec = "out"} {
  // CHECK-NEXT: %x = exec.tensor {arena = 1, offset = 0} : tensor<1x3xf32>
  %x = exec.tensor {arena = 1, offset = 0} : tensor<1x3xf32>
  // CHECK-NEXT: %late = exec.tensor : tensor<?x3xf32, #edge.layout<sizes = [? in [0, 8], 3]>>
  %late = exec.tensor : tensor<?x3xf32, #edge.layout<sizes = [? in [0, 8], 3]>>
  // CHECK-NEXT: %w = exec.constant @w : tensor<3x3xf32>
  // GENERIC: "exec.constant"() <{global_name = @w}> : () -> tensor<3x3xf32>
  %w = exec.constant @w : tensor<3x3xf32>
  // CHECK-NEXT: %s = exec.state @counter {arena = 2, offset = 8, qualified_name = "model.counter"} : tensor<1xi64>
  // GENERIC: "exec.state"() <{arena = 2 : i64, offset = 8 : i64, qualified_name = "model.counter", global_name = @counter}> : () -> tensor<1xi64>
  %s = exec.state @counter {arena = 2, offset = 8, qualified_name = "model.counter"} : tensor<1xi64>
  // CHECK-NEXT: %q = exec.state @scratch : tensor<4xui8>
  %q = exec.state @scratch : tensor<4xui8>
  // CHECK-NEXT: %e = exec.external : tensor<4xf32>
  // GENERIC: "exec.external"() : () -> tensor<4xf32>
  %e = exec.external : tensor<4xf32>
  // CHECK-NEXT: %v = exec.view %x : tensor<3xf32>
  %v = exec.view %x {offset = 0} : tensor<3xf32>
  // CHECK-NEXT: %part = exec.view %x {offset = 4} : tensor<2xf32>
  %part = exec.view %x {offset = 4} : tensor<2xf32>
  // CHECK-NEXT: %r = exec.reuse %x : tensor<1x3xf32>
  %r = exec.reuse %x : tensor<1x3xf32>
  // CHECK-NEXT: %one = exec.int 1
  %one = exec.int 1
  // CHECK-NEXT: %least = exec.int -9223372036854775808
  %least = exec.int -9223372036854775808
  // CHECK-NEXT: %d = exec.double 1.0
  %d = exec.double 1.0
  // CHECK-NEXT: %tiny = exec.double 1.0e-300
  %tiny = exec.double 1.0e-300
  // CHECK-NEXT: %minus = exec.double -0.0
  %minus = exec.double -0.0
  // CHECK-NEXT: %inf = exec.double "-inf"
  %inf = exec.double "-inf"
  // CHECK-NEXT: %yes = exec.bool true {note = 1 : i64}
  %yes = exec.bool true {note = 1 : i64}
  // CHECK-NEXT: %text = exec.string "none \22quoted\22"
  %text = exec.string "none \22quoted\22"
  // CHECK-NEXT: %none = exec.none
  %none = exec.none
  // CHECK-NEXT: %ints = exec.int_list [%one, %least]
  %ints = exec.int_list [%one, %least]
  // CHECK-NEXT: %empty = exec.int_list []
  %empty = exec.int_list []
  // CHECK-NEXT: %bools = exec.bool_list [true, false]
  %bools = exec.bool_list [true, false]
  // CHECK-NEXT: %doubles = exec.double_list [1.0, "inf"]
  %doubles = exec.double_list [1.0, "inf"]
  // CHECK-NEXT: %tensors = exec.tensor_list [%x, %w]
  %tensors = exec.tensor_list [%x, %w]
  // CHECK-NEXT: %optional = exec.optional_tensor_list [%x, none, %none]
  // GENERIC: "exec.optional_tensor_list"(%{{.*}}, %{{.*}}) <{present = array<i1: true, false, true>}>
  %optional = exec.optional_tensor_list [%x, none, %none]
  // CHECK-NEXT: exec.return inputs(%x) outputs(%v, %none)
  exec.return inputs(%x) outputs(%v, %none)
}

// CHECK-LABEL: exec.method @instructions {} {
exec.method @instructions {} {
  %a = exec.tensor : tensor<2xf32>
  %b = exec.tensor : tensor<2xf32>
  %k = exec.tensor : tensor<2xi64>
  %c = exec.tensor : tensor<i1>
  %s = exec.state @counter : tensor<1xi64>
  %one = exec.int 1
  %no = exec.bool false
  %number = exec.tensor : tensor<1xf64>
  %l = exec.tensor_list [%b, %k]
  // CHECK: exec.call "aten::add.out"(%a, %a, %one) outs(%b)
  // GENERIC: "exec.call"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{operator = "aten::add.out", operandSegmentSizes = array<i32: 3, 1, 0, 0>}>
  exec.call "aten::add.out"(%a, %a, %one) outs(%b) returns(%b)
  // CHECK-NEXT: exec.call "aten::max.dim_max"(%a, %one, %no) outs(%b, %k) returns(%l) {handle = 3 : i64}
  exec.call "aten::max.dim_max"(%a, %one, %no) outs(%b, %k) returns(%l) {handle = 3 : i64}
  // CHECK-NEXT: exec.call "aten::copy_"(%s, %s, %no) returns(%s)
  exec.call "aten::copy_"(%s, %s, %no) returns(%s)
  // CHECK-NEXT: exec.label @loop
  exec.label @loop
  // CHECK-NEXT: exec.jump_false %c, @end
  exec.jump_false %c, @end
  // CHECK-NEXT: exec.move %a, %b
  exec.move %a, %b
  // CHECK-NEXT: exec.jump_false %no, @loop
  exec.jump_false %no, @loop
  // CHECK-NEXT: exec.label @end
  exec.label @end
  // CHECK-NEXT: exec.delegate_call @delegate0(%a) outs(%b, %k)
  exec.delegate_call @delegate0(%a) outs(%b, %k)
  // CHECK-NEXT: exec.fail "\22x\22 must be 2"(%number) {note = 1 : i64}
  // GENERIC: "exec.fail"(%{{.*}}) <{message = "\22x\22 must be 2"}> {note = 1 : i64} : (tensor<1xf64>) -> ()
  exec.fail "\22x\22 must be 2"(%number) {note = 1}
  // CHECK-NEXT: exec.free %a
  exec.free %a
  // CHECK-NEXT: exec.return outputs(%b)
  exec.return outputs(%b)
}

// CHECK-LABEL: exec.method @nothing {} {
// CHECK-NEXT:    exec.return
exec.method @nothing {} {
  exec.return
}
