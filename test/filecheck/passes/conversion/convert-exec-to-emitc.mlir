// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p 'convert-exec-to-emitc{program=net}' | filecheck %s

// Constants are declared once for each content; a call has its arguments as a table; a tensor of fixed sizes is a constant.
// CHECK:      emitc.include "net.h"
// CHECK-NEXT: emitc.func private @fl_add_out(!emitc.ptr<!emitc.opaque<"fl_context">>, !emitc.ptr<!emitc.opaque<"fl_value *const">>, !emitc.opaque<"size_t">) -> !emitc.opaque<"fl_status"> attributes {specifiers = ["extern"]}
// CHECK-NEXT: emitc.func private @fl_relu_out
// CHECK-NEXT: emitc.global extern const @net_w : !emitc.array<8x!emitc.opaque<"FL_ALIGNED(16) uint8_t">> {flambeau.blob = #flambeau.blob<"w", "0123456789abcdef">}
// CHECK-NEXT: emitc.global static @arena_1 : !emitc.array<32x!emitc.opaque<"FL_ALIGNED(64) uint8_t">>
// CHECK-NEXT: emitc.global @net_forward_run : !emitc.opaque<"fl_emitted"> = #emitc.opaque<"FL_EMITTED(NULL, 0)">
// CHECK-NEXT: emitc.global static const @order_0 : !emitc.array<1x!emitc.opaque<"uint8_t">> = #emitc.opaque<"{0}">
// CHECK-NEXT: emitc.global static const @sizes_2 : !emitc.array<1x!emitc.opaque<"int32_t">> = #emitc.opaque<"{2}">
// CHECK-NEXT: emitc.global static const @strides_1 : !emitc.array<1x!emitc.opaque<"int32_t">> = #emitc.opaque<"{1}">
// CHECK-NEXT: emitc.global static const @t_x : !emitc.opaque<"fl_tensor"> = #emitc.opaque<"FL_FIXED_TENSOR(arena_1, sizes_2, strides_1, order_0, 8, 1, FL_FLOAT32)">
// CHECK-NEXT: emitc.global static const @v_x : !emitc.opaque<"fl_value"> = #emitc.opaque<"FL_TENSOR_VALUE(&t_x)">
// CHECK-NEXT: emitc.global static const @t_weight : !emitc.opaque<"fl_tensor"> = #emitc.opaque<"FL_FIXED_TENSOR(net_w, sizes_2, strides_1, order_0, 8, 1, FL_FLOAT32)">
// CHECK-NEXT: emitc.global static const @v_weight : !emitc.opaque<"fl_value"> = #emitc.opaque<"FL_TENSOR_VALUE(&t_weight)">
// CHECK-NEXT: emitc.global static const @v_int_1 : !emitc.opaque<"fl_value"> = #emitc.opaque<"FL_INT_VALUE(1)">
// CHECK-NEXT: emitc.global static const @t_sum : !emitc.opaque<"fl_tensor"> = #emitc.opaque<"FL_FIXED_TENSOR(arena_1 + 16, sizes_2, strides_1, order_0, 8, 1, FL_FLOAT32)">
// CHECK-NEXT: emitc.global static const @v_sum : !emitc.opaque<"fl_value"> = #emitc.opaque<"FL_TENSOR_VALUE(&t_sum)">
// CHECK-NEXT: emitc.global static @args_0 : !emitc.array<5x!emitc.opaque<"fl_value *const">> = #emitc.opaque<"{FL_CONSTANT(v_x), FL_CONSTANT(v_weight), FL_CONSTANT(v_int_1), FL_CONSTANT(v_sum), FL_CONSTANT(v_sum)}">
// CHECK-NEXT: emitc.global static @args_1 : !emitc.array<3x!emitc.opaque<"fl_value *const">> = #emitc.opaque<"{FL_CONSTANT(v_sum), FL_CONSTANT(v_sum), FL_CONSTANT(v_sum)}">
// CHECK-NEXT: emitc.func @net_forward() -> !emitc.opaque<"fl_status"> {
// CHECK-NEXT:   emitc.verbatim "/* encoder (net.py:3) */"
// CHECK-NEXT:   %0 = emitc.get_global @args_0 : !emitc.array<5x!emitc.opaque<"fl_value *const">>
// CHECK-NEXT:   emitc.call_opaque "FL_CALL"(%0) {args = [#emitc.opaque<"net_forward_run">, 0 : i32, #emitc.opaque<"fl_add_out">, 0 : index]} : (!emitc.array<5x!emitc.opaque<"fl_value *const">>) -> ()
// CHECK-NEXT:   %1 = emitc.get_global @args_1
// CHECK-NEXT:   emitc.call_opaque "FL_CALL"(%1)
// CHECK-NEXT:   %2 = "emitc.constant"() <{value = #emitc.opaque<"FL_OK">}> : () -> !emitc.opaque<"fl_status">
// CHECK-NEXT:   emitc.return %2 : !emitc.opaque<"fl_status">
// CHECK-NEXT: }
// CHECK-NEXT: emitc.global @net_forward_inputs : !emitc.array<1x!emitc.opaque<"fl_value *const">> = #emitc.opaque<"{FL_CONSTANT(v_x)}">
// CHECK-NEXT: emitc.global @net_forward_outputs : !emitc.array<1x!emitc.opaque<"fl_value *const">> = #emitc.opaque<"{FL_CONSTANT(v_sum)}">
// CHECK-NEXT: emitc.func @net_init() {
// CHECK-NEXT:   emitc.call_opaque "FL_RESET"() {args = [#emitc.opaque<"net_forward_run">]} : () -> ()
// CHECK-NEXT:   emitc.return
// CHECK-NEXT: }
ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<2xf32>
exec.method @forward {arenas = [32]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<2xf32>
  %weight = exec.constant @w : tensor<2xf32>
  %one = exec.int 1
  %sum = exec.tensor {arena = 1, offset = 16} : tensor<2xf32>
  %y = exec.reuse %sum : tensor<2xf32>
  exec.call "aten::add.out"(%x, %weight, %one) outs(%sum) loc("encoder"("net.py":3:0))
  exec.call "aten::relu.out"(%sum) outs(%y) loc("encoder"("net.py":3:0))
  exec.return inputs(%x) outputs(%y)
}

// -----

// Jumps are branches between blocks; what a run changes is a variable, which gets its value back after a failure.
// CHECK:      emitc.include "net.h"
// CHECK:      emitc.global static @v_more : !emitc.opaque<"fl_value"> = #emitc.opaque<"FL_BOOLEAN_VALUE(1)">
// CHECK:      emitc.func @steps() -> !emitc.opaque<"fl_status"> attributes {specifiers = ["static"]} {
// CHECK-NEXT:   cf.br ^again
// CHECK-NEXT: ^again:
// CHECK-NEXT:   %0 = emitc.get_global @args_0
// CHECK-NEXT:   emitc.call_opaque "FL_CALL"(%0)
// CHECK-NEXT:   %1 = emitc.call_opaque "fl_emitted_is_false"() {args = [#emitc.opaque<"&v_more">]} : () -> i1
// CHECK-NEXT:   cf.cond_br %1, ^again, ^bb2
// CHECK-NEXT: ^bb2:
// CHECK-NEXT:   emitc.call_opaque "FL_MOVE"() {args = [#emitc.opaque<"v_int_5">, #emitc.opaque<"v_n">]} : () -> ()
// CHECK:      emitc.func @restore() attributes {specifiers = ["static"]} {
// CHECK-NEXT:   emitc.call_opaque "FL_MOVE"() {args = [#emitc.opaque<"v_n_at_init">, #emitc.opaque<"v_n">]} : () -> ()
// CHECK-NEXT:   emitc.call_opaque "FL_MOVE"() {args = [#emitc.opaque<"v_more_at_init">, #emitc.opaque<"v_more">]} : () -> ()
// CHECK:      emitc.func @net_forward() -> !emitc.opaque<"fl_status"> {
// CHECK-NEXT:   %0 = emitc.call_opaque "steps"() {args = []} : () -> !emitc.opaque<"fl_status">
// CHECK-NEXT:   %1 = emitc.call_opaque "FL_FAILED"(%0)
// CHECK-NEXT:   cf.cond_br %1, ^bb1, ^bb2
// CHECK:      emitc.func @net_init() {
// CHECK-NEXT:   emitc.call_opaque "FL_RESET"()
// CHECK-NEXT:   emitc.call_opaque "restore"()
exec.method @forward {arenas = []} {
  %n = exec.int 0
  %five = exec.int 5
  %more = exec.bool true
  exec.label @again
  exec.call "executorch_prim::le.Scalar"(%n, %five) returns(%more) loc(unknown)
  exec.jump_false %more, @again loc(unknown)
  exec.move %five, %n loc(unknown)
  exec.return inputs(%n) outputs(%n)
}

// -----

// expected-error @+1 {{method @forward is not planned: run plan-memory first}}
exec.method @forward {} {
  exec.return
}

// -----

exec.method @forward {arenas = [8]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<2xf32>
  // expected-error @+2 {{cannot be converted to C}}
  // expected-note @+1 {{exec.call: Flambeau's runtime has no kernel of mine::add.out}}
  exec.call "mine::add.out"(%x) outs(%x)
  // expected-note @+1 {{exec.call: Flambeau's runtime has no kernel of mine::sub.out}}
  exec.call "mine::sub.out"(%x) outs(%x)
  exec.return inputs(%x) outputs(%x)
}

// -----

// expected-error @+1 {{func.func cannot be in a C program: it holds planned methods and their globals}}
func.func private @f()
exec.method @forward {arenas = []} {
  exec.return
}
