// What MLIR's parser takes and xDSL's does not: a single type behind an arrow, and attributes of arguments that have no name.

// RUN: flambeau-opt %s | filecheck %s
// RUN: flambeau-opt %s | flambeau-opt | filecheck %s

// CHECK: %{{.*}} = scf.if %c -> (i32) {
func.func @f(%c: i1, %y: i32) -> i32 {
  %0 = scf.if %c -> i32 {
    scf.yield %y : i32
  } else {
    scf.yield %y : i32
  }
  func.return %0 : i32
}

// CHECK: "func.func"() <{sym_name = "p", function_type = (i32, f32) -> (), sym_visibility = "private", arg_attrs = [{x.y = 1 : i32}, {}]}>
func.func private @p(i32 {x.y = 1 : i32} loc("a"), f32)

// CHECK: "func.func"() <{sym_name = "a(b", function_type = (i32) -> f32, sym_visibility = "private", res_attrs = [{x.z = 2 : i32}], arg_attrs = [{x.y = "{"}]}>
func.func private @"a(b"(i32 {x.y = "{"}) -> (f32 {x.z = 2 : i32})

// CHECK: func.func private @r(i32) -> () attributes {x.y = "{"}
func.func private @r(i32) attributes {x.y = "{"}
