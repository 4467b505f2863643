// Attributes that the own syntax of an operation has no room for: the operation is printed in the generic form.
// RUN: flambeau-opt %s --verify-roundtrip | filecheck %s

// CHECK:       "func.func"() <{sym_name = "declared"
// CHECK-SAME:  res_attrs = [{x.y = 2 : i32}]
func.func private @declared(i32) -> (i32 {x.y = 2 : i32})

// CHECK:       func.func @f({{.*}}, %x: tensor<2xf32> {x.a = 1 : i64}) attributes {x.z = 3 : i64}
// CHECK-NEXT:    "arith.cmpi"(%a, %b) <{predicate = 2 : i64}> {x.y = 1 : i32}
// CHECK-NEXT:    core.relu(%x) {x.y = 4 : i64}
// CHECK-NEXT:    "scf.for"
// CHECK:           "scf.yield"() {x.w = 2 : i64}
// CHECK-NEXT:    }) {x.y = 3 : i64}
// CHECK-NEXT:    arith.cmpi slt, %a, %b : i32
// CHECK-NEXT:    func.return {x.r = 1 : i64}
func.func @f(%a: i32, %b: i32, %n: index, %x: tensor<2xf32> {x.a = 1}) attributes {x.z = 3} {
  %0 = "arith.cmpi"(%a, %b) <{predicate = 2 : i64}> {x.y = 1 : i32} : (i32, i32) -> i1
  %1 = core.relu(%x) {x.y = 4} : (tensor<2xf32>) -> tensor<2xf32>
  "scf.for"(%n, %n, %n) ({
  ^bb0(%i: index):
    %2 = arith.addi %a, %b {x.q = 1} : i32
    "scf.yield"() {x.w = 2} : () -> ()
  }) {x.y = 3} : (index, index, index) -> ()
  %9 = arith.cmpi slt, %a, %b : i32
  "func.return"() {x.r = 1} : () -> ()
}

// The first attribute of a kind of operation does not decide for the others by its name.
// CHECK-LABEL: func.func @names
// CHECK:         "arith.cmpf"(%x, %x) <{{{.*}}}> {a}
// CHECK-NEXT:    "arith.cmpf"(%x, %x) <{{{.*}}}> {my.important = 1 : i32}
func.func @names(%x: f32) {
  %0 = "arith.cmpf"(%x, %x) <{predicate = 1 : i64, fastmath = #arith.fastmath<none>}> {a} : (f32, f32) -> i1
  %1 = "arith.cmpf"(%x, %x) <{predicate = 1 : i64, fastmath = #arith.fastmath<none>}> {my.important = 1 : i32} : (f32, f32) -> i1
  func.return
}

// The end of a region that its own syntax would leave out, and not read back.
// CHECK-LABEL: func.func @region
// CHECK:         "scf.execute_region"
func.func @region() {
  scf.execute_region {
    scf.yield
  }
  func.return
}
