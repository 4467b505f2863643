// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p 'convert-exec-to-emitc{program=net blob=true}' | filecheck %s

// A loop is a function of pointers, and one of a vector of elements, in which rows are vectors and single elements are splats. Loops that compute the
// same are one function. The application gives the weights: their tensors get addresses, which loops read from these.
// CHECK:      emitc.include "net.h"
// CHECK-NEXT: emitc.include "flambeau/kernels/lanes.h"
// CHECK-NEXT: emitc.global static @net_weights : !emitc.ptr<!emitc.opaque<"const uint8_t">> {flambeau.blob = [#flambeau.blob<"w", "0123456789abcdef">]}
// CHECK:      emitc.func @loop_0_vector(%x: !emitc.ptr<!emitc.opaque<"const float">>, %x_1: !emitc.ptr<!emitc.opaque<"const float">>, %x_2: !emitc.ptr<!emitc.opaque<"const float">>, %r: !emitc.ptr<!emitc.opaque<"float">>, %n: index) attributes {specifiers = ["FL_INLINE"]} {
// CHECK-NEXT:   %0 = emitc.call_opaque "fl_load_lanes"(%x, %n)
// CHECK-NEXT:   %1 = emitc.call_opaque "fl_load_lanes"(%x_1, %n)
// CHECK-NEXT:   %2 = emitc.call_opaque "fl_load_splat"(%x_2)
// CHECK-NEXT:   %3 = emitc.call_opaque "fl_mul_lanes"(%0, %1)
// CHECK-NEXT:   %4 = emitc.call_opaque "fl_add_lanes"(%3, %2)
// CHECK-NEXT:   %5 = emitc.call_opaque "fl_mul_lanes"(%4) {args = [0 : index, #emitc.opaque<"fl_set((float)0.5)">]}
// CHECK-NEXT:   emitc.call_opaque "fl_store_lanes"(%r, %5, %n)
// CHECK-NEXT:   emitc.return
// CHECK-NEXT: }
// CHECK-NEXT: emitc.func @loop_0(%{{.*}}) attributes {specifiers = ["static"]} {
// CHECK:        emitc.for %i = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:          emitc.for %i_1 = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:            emitc.call_opaque "loop_0_vector"({{.*}}) {args = [0 : index, 1 : index, 2 : index, 3 : index, #emitc.opaque<"FL_LANES">]}
// CHECK-NEXT:     }
// CHECK:          emitc.call_opaque "loop_0_vector"({{.*}}) {args = [0 : index, 1 : index, 2 : index, 3 : index, #emitc.opaque<"5 % FL_LANES">]}
// CHECK-NEXT:   }
// CHECK-NOT:  emitc.func @loop_1
// CHECK:      emitc.func @net_forward()
// CHECK:        emitc.call_opaque "loop_0"() {args = [#emitc.opaque<"FL_CONST_FLOATS_AT(arena_1)">, #emitc.opaque<"FL_CONST_FLOATS_AT(v_w.as.tensor->data)">, #emitc.opaque<"FL_CONST_FLOATS_AT(arena_1 + 64)">, #emitc.opaque<"FL_FLOATS_AT(arena_1 + 128)">]}
// CHECK:        emitc.call_opaque "loop_0"() {args = [#emitc.opaque<"FL_CONST_FLOATS_AT(arena_1 + 128)">, #emitc.opaque<"FL_CONST_FLOATS_AT(v_w.as.tensor->data)">, #emitc.opaque<"FL_CONST_FLOATS_AT(arena_1 + 64)">, #emitc.opaque<"FL_FLOATS_AT(arena_1)">]}
// CHECK:      emitc.func @net_weights_in(%weights: !emitc.ptr<!emitc.opaque<"const void">>) {
// CHECK-NEXT:   emitc.call_opaque "FL_POINT"(%weights) {args = [#emitc.opaque<"net_weights">, 0 : index]}
// CHECK-NEXT:   emitc.call_opaque "FL_PLACE"() {args = [#emitc.opaque<"t_w">, #emitc.opaque<"net_weights + 0">]}
// CHECK-NEXT:   emitc.return
// CHECK-NEXT: }
ml_program.global private @w(#flambeau.blob<"w", "0123456789abcdef">) : tensor<5xf32>
exec.method @forward {arenas = [192]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<3x5xf32>
  %w = exec.constant @w : tensor<5xf32>
  %column = exec.tensor {arena = 1, offset = 64} : tensor<3x1xf32>
  %one = exec.int 1
  %half = exec.double 0.5
  %r = exec.tensor {arena = 1, offset = 128} : tensor<3x5xf32>
  %s = exec.reuse %x : tensor<3x5xf32>
  cpu.loop(%x, %w, %column, %one, %half) outs(%r) do {
  ^bb0(%a : tensor<3x5xf32>, %b : tensor<5xf32>, %c : tensor<3x1xf32>, %d : !exec.int, %e : !exec.double):
    %0 = cpu.element "aten::mul.out"(%a, %b) : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
    %1 = cpu.element "aten::add.out"(%0, %c, %d) : (tensor<3x5xf32>, tensor<3x1xf32>, !exec.int) -> tensor<3x5xf32>
    %2 = cpu.element "aten::mul.Scalar_out"(%1, %e) : (tensor<3x5xf32>, !exec.double) -> tensor<3x5xf32>
    cpu.yield %2 : tensor<3x5xf32>
  }
  cpu.loop(%r, %w, %column, %one, %half) outs(%s) do {
  ^bb0(%a : tensor<3x5xf32>, %b : tensor<5xf32>, %c : tensor<3x1xf32>, %d : !exec.int, %e : !exec.double):
    %0 = cpu.element "aten::mul.out"(%a, %b) : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
    %1 = cpu.element "aten::add.out"(%0, %c, %d) : (tensor<3x5xf32>, tensor<3x1xf32>, !exec.int) -> tensor<3x5xf32>
    %2 = cpu.element "aten::mul.Scalar_out"(%1, %e) : (tensor<3x5xf32>, !exec.double) -> tensor<3x5xf32>
    cpu.yield %2 : tensor<3x5xf32>
  }
  exec.return inputs(%x, %column) outputs(%s)
}

// -----

exec.method @sizes {arenas = [64]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<3x5xf32, #edge.layout<[1, 0]>>
  %y = exec.tensor {arena = 1, offset = 0} : tensor<3x5xf32>
  // expected-error @+1 {{a loop of C goes through tensors of static sizes whose innermost elements follow each other}}
  cpu.loop(%x) outs(%y) do {
  ^bb0(%a : tensor<3x5xf32, #edge.layout<[1, 0]>>):
    %0 = cpu.element "aten::neg.out"(%a) : (tensor<3x5xf32, #edge.layout<[1, 0]>>) -> tensor<3x5xf32>
    cpu.yield %0 : tensor<3x5xf32>
  }
  exec.return inputs(%x) outputs(%y)
}

// -----

exec.method @types {arenas = [64]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xi32>
  cpu.loop(%x) outs(%x) do {
  ^bb0(%a : tensor<4xi32>):
    // expected-error @+1 {{no loop of C computes aten::neg.out of these operands}}
    %0 = cpu.element "aten::neg.out"(%a) : (tensor<4xi32>) -> tensor<4xi32>
    cpu.yield %0 : tensor<4xi32>
  }
  exec.return inputs(%x) outputs(%x)
}
