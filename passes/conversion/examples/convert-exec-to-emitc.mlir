// flambeau-opt -p 'convert-exec-to-emitc{program=net}'
exec.method @forward {arenas = [32]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<2xf32>
  %y = exec.tensor {arena = 1, offset = 16} : tensor<2xf32>
  exec.call "aten::relu.out"(%x) outs(%y) loc(unknown)
  exec.return inputs(%x) outputs(%y)
}

// -----

emitc.include "net.h"
emitc.func private @fl_relu_out(!emitc.ptr<!emitc.opaque<"fl_context">>, !emitc.ptr<!emitc.opaque<"fl_value *const">>, !emitc.opaque<"size_t">) -> !emitc.opaque<"fl_status"> attributes {specifiers = ["extern"]}
emitc.global static @arena_1 : !emitc.array<32x!emitc.opaque<"FL_ALIGNED(64) uint8_t">>
emitc.global @net_forward_run : !emitc.opaque<"fl_emitted"> = #emitc.opaque<"FL_EMITTED(NULL, 0)">
emitc.global static const @order_0 : !emitc.array<1x!emitc.opaque<"uint8_t">> = #emitc.opaque<"{0}">
emitc.global static const @sizes_2 : !emitc.array<1x!emitc.opaque<"int32_t">> = #emitc.opaque<"{2}">
emitc.global static const @strides_1 : !emitc.array<1x!emitc.opaque<"int32_t">> = #emitc.opaque<"{1}">
emitc.global static const @t_x : !emitc.opaque<"fl_tensor"> = #emitc.opaque<"FL_FIXED_TENSOR(arena_1, sizes_2, strides_1, order_0, 8, 1, FL_FLOAT32)">
emitc.global static const @v_x : !emitc.opaque<"fl_value"> = #emitc.opaque<"FL_TENSOR_VALUE(&t_x)">
emitc.global static const @t_y : !emitc.opaque<"fl_tensor"> = #emitc.opaque<"FL_FIXED_TENSOR(arena_1 + 16, sizes_2, strides_1, order_0, 8, 1, FL_FLOAT32)">
emitc.global static const @v_y : !emitc.opaque<"fl_value"> = #emitc.opaque<"FL_TENSOR_VALUE(&t_y)">
emitc.global static @args_0 : !emitc.array<3x!emitc.opaque<"fl_value *const">> = #emitc.opaque<"{FL_CONSTANT(v_x), FL_CONSTANT(v_y), FL_CONSTANT(v_y)}">
emitc.func @net_forward() -> !emitc.opaque<"fl_status"> {
  %0 = emitc.get_global @args_0 : !emitc.array<3x!emitc.opaque<"fl_value *const">>
  emitc.call_opaque "FL_CALL"(%0) {args = [#emitc.opaque<"net_forward_run">, 0 : i32, #emitc.opaque<"fl_relu_out">, 0 : index]} : (!emitc.array<3x!emitc.opaque<"fl_value *const">>) -> ()
  %1 = "emitc.constant"() <{value = #emitc.opaque<"FL_OK">}> : () -> !emitc.opaque<"fl_status">
  emitc.return %1 : !emitc.opaque<"fl_status">
}
emitc.global @net_forward_inputs : !emitc.array<1x!emitc.opaque<"fl_value *const">> = #emitc.opaque<"{FL_CONSTANT(v_x)}">
emitc.global @net_forward_outputs : !emitc.array<1x!emitc.opaque<"fl_value *const">> = #emitc.opaque<"{FL_CONSTANT(v_y)}">
emitc.func @net_init() {
  emitc.call_opaque "FL_RESET"() {args = [#emitc.opaque<"net_forward_run">]} : () -> ()
  emitc.return
}
