// RUN: flambeau-opt %s --verify-roundtrip | filecheck %s

// The syntax is that of MLIR.
// CHECK:      emitc.include "model.h"
// CHECK-NEXT: emitc.include <"stdint.h">
emitc.include "model.h"
emitc.include <"stdint.h">

// CHECK-NEXT: emitc.global extern const @weight : !emitc.array<4x!emitc.opaque<"uint8_t">> {flambeau.blob = #flambeau.blob<"w", "0123456789abcdef">}
// CHECK-NEXT: emitc.global static @count : i32 = 3 : i32
// CHECK-NEXT: emitc.global static const @sizes : !emitc.array<2xi32> = #emitc.opaque<"{1, 2}">
emitc.global extern const @weight : !emitc.array<4x!emitc.opaque<"uint8_t">> {flambeau.blob = #flambeau.blob<"w", "0123456789abcdef">}
emitc.global static @count : i32 = 3 : i32
emitc.global static const @sizes : !emitc.array<2xi32> = #emitc.opaque<"{1, 2}">

// CHECK-NEXT: emitc.func private @kernel(!emitc.ptr<!emitc.opaque<"fl_context">>) -> i32 attributes {specifiers = ["extern"]}
emitc.func private @kernel(!emitc.ptr<!emitc.opaque<"fl_context">>) -> i32 attributes {specifiers = ["extern"]}

// CHECK-NEXT: emitc.func @run(%n: i32) -> i32 {
// CHECK-NEXT:   emitc.verbatim "/* encoder */"
// CHECK-NEXT:   %0 = emitc.get_global @sizes : !emitc.array<2xi32>
// CHECK-NEXT:   %1 = emitc.call_opaque "is_known"(%0, %n) : (!emitc.array<2xi32>, i32) -> i1
// CHECK-NEXT:   cf.cond_br %1, ^known, ^unknown
// CHECK-NEXT: ^known:
// CHECK-NEXT:   emitc.return %n : i32
// CHECK-NEXT: ^unknown:
// CHECK-NEXT:   %2 = "emitc.constant"() <{value = 0 : i32}> : () -> i32
// CHECK-NEXT:   emitc.return %2 : i32
// CHECK-NEXT: }
emitc.func @run(%n: i32) -> i32 {
  emitc.verbatim "/* encoder */"
  %0 = emitc.get_global @sizes : !emitc.array<2xi32>
  %1 = emitc.call_opaque "is_known"(%0, %n) : (!emitc.array<2xi32>, i32) -> i1
  cf.cond_br %1, ^known, ^unknown
^known:
  emitc.return %n : i32
^unknown:
  %2 = "emitc.constant"() <{value = 0 : i32}> : () -> i32
  emitc.return %2 : i32
}

// CHECK-NEXT: emitc.func @init() attributes {specifiers = ["static"]} {
// CHECK-NEXT:   emitc.return
// CHECK-NEXT: }
emitc.func @init() attributes {specifiers = ["static"]} {
  emitc.return
}

// CHECK-NEXT: emitc.func @clear(%p: !emitc.ptr<f32>) {
// CHECK-NEXT:   %[[ZERO:.*]] = "emitc.constant"() <{value = 0 : index}> : () -> index
// CHECK-NEXT:   %[[FOUR:.*]] = "emitc.constant"() <{value = 4 : index}> : () -> index
// CHECK-NEXT:   %[[ONE:.*]] = "emitc.constant"() <{value = 1 : index}> : () -> index
// CHECK-NEXT:   emitc.for %i = %[[ZERO]] to %[[FOUR]] step %[[ONE]] {
// CHECK-NEXT:     emitc.call_opaque "set"(%p, %i) : (!emitc.ptr<f32>, index) -> ()
// CHECK-NEXT:   }
// CHECK-NEXT:   emitc.return
// CHECK-NEXT: }
emitc.func @clear(%p: !emitc.ptr<f32>) {
  %0 = "emitc.constant"() <{value = 0 : index}> : () -> index
  %1 = "emitc.constant"() <{value = 4 : index}> : () -> index
  %2 = "emitc.constant"() <{value = 1 : index}> : () -> index
  emitc.for %i = %0 to %1 step %2 {
    emitc.call_opaque "set"(%p, %i) : (!emitc.ptr<f32>, index) -> ()
  }
  emitc.return
}
