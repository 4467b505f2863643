// RUN: flambeau-opt %s --irdl-file %S/tiny.irdl --split-input-file --verify-diagnostics

!v4 = !tiny.vec<4 : i64, f32>
!v3 = !tiny.vec<3 : i64, f32>
func.func @values(%a: !v4, %b: !v3, %c: f32) {
  // expected-error @+1 {{tiny.dot: operand 1 ('rhs') must be !tiny.vec<4 : i64, f32> as elsewhere, got !tiny.vec<3 : i64, f32>}}
  %0 = "tiny.dot"(%a, %b) : (!v4, !v3) -> f32
  // expected-error @+1 {{tiny.dot has 2 or 3 operands (lhs, rhs, acc), got 4}}
  %1 = "tiny.dot"(%a, %a, %c, %c) : (!v4, !v4, f32, f32) -> f32
  // expected-error @+1 {{tiny.dot has 1 result (sum), got 2}}
  %2, %3 = "tiny.dot"(%a, %a) : (!v4, !v4) -> (f32, f32)
  // expected-error @+1 {{tiny.dot: operand 0 ('lhs') must be !tiny.vec<anything, f32>, got f32}}
  %4 = "tiny.dot"(%c, %a) : (f32, !v4) -> f32
  // expected-error @+1 {{tiny.dot: result 0 ('sum') must be f32, got i32}}
  %5 = "tiny.dot"(%a, %a) : (!v4, !v4) -> i32
  // expected-error @+1 {{tiny.dot has attributes, {…}, and no properties, <{fast = …}>: it is declared in IRDL}}
  %6 = "tiny.dot"(%a, %a) <{fast}> : (!v4, !v4) -> f32
  // expected-error @+1 {{tiny.dot has 0 regions, got 1}}
  %7 = "tiny.dot"(%a, %a) ({}) : (!v4, !v4) -> f32
  func.return
}

// -----

func.func @attributes(%a: i32) {
  // expected-error @+1 {{tiny.map needs the attribute 'mode'; it has none called 'mod'}}
  "tiny.map"(%a) ({}) {mod = "fast", operand_segment_sizes = array<i32: 1, 0>} : (i32) -> ()
  // expected-error @+1 {{tiny.map: attribute 'mode' must be "fast" or "exact", got "slow"}}
  "tiny.map"(%a) ({}) {mode = "slow", operand_segment_sizes = array<i32: 1, 0>} : (i32) -> ()
  // expected-error @+1 {{tiny.map needs the attribute 'operand_segment_sizes': array<i32: …>, the number of operands in each of 2 groups}}
  "tiny.map"(%a) ({}) {mode = "fast"} : (i32) -> ()
  // expected-error @+1 {{tiny.map: attribute 'operand_segment_sizes' must be array<i32: …>, got array<i64: 1, 0>}}
  "tiny.map"(%a) ({}) {mode = "fast", operand_segment_sizes = array<i64: 1, 0>} : (i32) -> ()
  // expected-error @+1 {{tiny.map: attribute 'operand_segment_sizes' must have 2 numbers, got 1}}
  "tiny.map"(%a) ({}) {mode = "fast", operand_segment_sizes = array<i32: 1>} : (i32) -> ()
  // expected-error @+1 {{tiny.map: attribute 'operand_segment_sizes': group 1 ('extra') must be 0 or 1, got 2}}
  "tiny.map"(%a) ({}) {mode = "fast", operand_segment_sizes = array<i32: 0, 2>} : (i32) -> ()
  // expected-error @+1 {{tiny.map: attribute 'operand_segment_sizes' counts 3 operands, but there are 1}}
  "tiny.map"(%a) ({}) {mode = "fast", operand_segment_sizes = array<i32: 2, 1>} : (i32) -> ()
  func.return
}

// -----

func.func @regions(%a: i32) {
  // expected-error @+1 {{tiny.map has 1 region, got 0}}
  "tiny.map"(%a) {mode = "fast", operand_segment_sizes = array<i32: 1, 0>} : (i32) -> ()
  // expected-error @+1 {{tiny.map: region 0 ('body') must have 1 block, got 0}}
  "tiny.map"(%a) ({}) {mode = "fast", operand_segment_sizes = array<i32: 1, 0>} : (i32) -> ()
  // expected-error @+1 {{tiny.map: the first block of region 0 ('body') must have 1 argument, got 0}}
  "tiny.map"(%a) ({
    "llvm.unreachable"() : () -> ()
  }) {mode = "fast", operand_segment_sizes = array<i32: 1, 0>} : (i32) -> ()
  // expected-error @+1 {{tiny.map: region 0 ('body'): argument 0 must be i32 as elsewhere, got f32}}
  "tiny.map"(%a) ({
  ^bb0(%x: f32):
    "llvm.unreachable"() : () -> ()
  }) {mode = "fast", operand_segment_sizes = array<i32: 1, 0>} : (i32) -> ()
  func.return
}

// -----

// expected-error @+1 {{!tiny.vec: parameter 0 ('length') must be any #builtin.integer, got "long"}}
func.func private @type(!tiny.vec<"long", f32>)

// -----

// expected-error @+1 {{the number of parameters of !tiny.vec is 2 (length, element), but 1 are given}}
func.func private @type(!tiny.vec<3 : i64>)

// -----

// expected-error @+1 {{there is no type !tiny.vac: the dialect tiny does not define it; did you mean 'tiny.vec'?}}
func.func private @type(!tiny.vac<3 : i64>)

// -----

func.func @name() {
  // expected-error @+1 {{there is no operation tiny.dott; did you mean 'tiny.dot'?}}
  "tiny.dott"() : () -> ()
}

// -----

func.func @form(%a: i32) {
  // expected-error @+1 {{tiny.map is declared in IRDL, so it has the generic form only: "tiny.map"(…) : (…) -> …}}
  tiny.map %a
}
