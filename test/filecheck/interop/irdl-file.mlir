// A dialect from IRDL is there for one run of the tool, by either option.
// RUN: flambeau-opt %s --irdl-file=%S/tiny.irdl | filecheck %s
// RUN: flambeau-opt %s --irdl-file %S/tiny.irdl --irdl-file %S/tiny.irdl --canonicalize --cse | filecheck %s
// RUN: flambeau-opt %s --load-plugin %S/tiny.irdl | flambeau-opt --irdl-file %S/tiny.irdl --print-op-generic | flambeau-opt --irdl-file=%S/tiny.irdl | filecheck %s
// RUN: flambeau-opt %s --irdl-file=%S/tiny.irdl --print-for-irdl | flambeau-opt --irdl-file=%S/tiny.irdl | filecheck %s
// RUN: flambeau-opt --irdl-file %S/tiny.irdl --list-plugins | filecheck %s --check-prefix=LIST
// RUN: flambeau-opt --irdl-file %S/tiny.irdl --show-dialects | filecheck %s --check-prefix=DIALECTS
// RUN: flambeau-opt %S/tiny.irdl | filecheck %s --check-prefix=TEXT
// RUN: not flambeau-opt %s 2>&1 | filecheck %s --check-prefix=GONE
// RUN: not flambeau-opt --irdl-file=%S/tiny.irdl --emit-irdl=tiny 2>&1 | filecheck %s --check-prefix=EMIT
// RUN: not flambeau-opt --emit-irdl=irdl 2>&1 | filecheck %s --check-prefix=MLIR
// RUN: not flambeau-opt --irdl-file=%s %s 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not flambeau-opt --irdl-file=%S/tiny.py %s 2>&1 | filecheck %s --check-prefix=SUFFIX
// RUN: not flambeau-opt --irdl-file=%S/missing.irdl %s 2>&1 | filecheck %s --check-prefix=MISSING

// LIST:      tiny.irdl:
// LIST-NEXT:   dialect 'tiny'
// DIALECTS:  {{^}}tiny{{$}}
// GONE:      error: there is no type !tiny.vec: there is no dialect 'tiny'
// EMIT:      error: tiny is declared in IRDL already: {{.*}}tiny.irdl:2:1
// MLIR:      error: irdl is a dialect of MLIR, which checks it already
// NONE:      irdl-file.mlir:{{[0-9]+}}:{{[0-9]+}}: error: there is no type !tiny.vec
// SUFFIX:    tiny.py: a file with dialects in IRDL is called something.mlir or something.irdl
// MISSING:   missing.irdl: no such file

// TEXT:      irdl.parameters(length: %{{.*}}, element: %{{.*}})
// TEXT:      irdl.operands(lhs: %{{.*}}, rhs: %{{.*}}, acc: optional %{{.*}})
// TEXT:      irdl.regions(body: %{{.*}})

// CHECK-LABEL: func.func @f(%a: !tiny.vec<4 : i64, f32>, %c: f32) -> (f32, f32) {
// CHECK-NEXT:    %0 = "tiny.dot"(%a, %a) : (!tiny.vec<4 : i64, f32>, !tiny.vec<4 : i64, f32>) -> f32
// CHECK-NEXT:    %1 = "tiny.dot"(%a, %a, %c) {note} : (!tiny.vec<4 : i64, f32>, !tiny.vec<4 : i64, f32>, f32) -> f32
// CHECK-NEXT:    "tiny.map"(%a, %a) ({
// CHECK-NEXT:    ^{{.*}}(%{{.*}}: !tiny.vec<4 : i64, f32>):
// CHECK:         }) {mode = "fast", operand_segment_sizes = array<i32: 2, 0>} : (!tiny.vec<4 : i64, f32>, !tiny.vec<4 : i64, f32>) -> ()
func.func @f(%a: !tiny.vec<4 : i64, f32>, %c: f32) -> (f32, f32) {
  %0 = "tiny.dot"(%a, %a) : (!tiny.vec<4 : i64, f32>, !tiny.vec<4 : i64, f32>) -> f32
  %1 = "tiny.dot"(%a, %a, %c) {note} : (!tiny.vec<4 : i64, f32>, !tiny.vec<4 : i64, f32>, f32) -> f32
  "tiny.map"(%a, %a) ({
  ^bb0(%x: !tiny.vec<4 : i64, f32>):
    "llvm.unreachable"() : () -> ()
  }) {mode = "fast", operand_segment_sizes = array<i32: 2, 0>} : (!tiny.vec<4 : i64, f32>, !tiny.vec<4 : i64, f32>) -> ()
  func.return %0, %1 : f32, f32
}
