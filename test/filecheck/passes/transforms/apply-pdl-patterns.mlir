// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p apply-pdl-patterns | filecheck %s

// x + x is 2 x, whatever the type; the module's own patterns stay.
// CHECK:       pdl.pattern @double
// CHECK-LABEL: func.func @f
// CHECK-NEXT:    %[[R:.*]] = core.mul.Scalar(%{{.*}}) {other = 2} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    func.return %[[R]]
pdl.pattern @double : benefit(1) {
  %x = pdl.operand
  %type = pdl.type
  %sum = pdl.operation "core.add.Tensor" (%x, %x : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %sum {
    %two = pdl.attribute = 2 : i64
    %product = pdl.operation "core.mul.Scalar" (%x : !pdl.value) {"other" = %two}
    pdl.replace %sum with %product
  }
}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %sum = core.add.Tensor(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %sum : tensor<4xf32>
}

// -----

// A chain of two, with an attribute that is handed on, a type that must be f32, a constraint, and an optional operand that is absent.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    core.hardtanh(%{{.*}}) {min_val = 0.0, max_val = 3.0} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    func.return
// CHECK-LABEL: func.func @used_twice
// CHECK-NEXT:    core.relu
// CHECK-NEXT:    core.hardtanh(%{{.*}}) {max_val = 3.0}
pdl.pattern @clamp_alone : benefit(2) {
  %x = pdl.operand
  %low = pdl.attribute
  %type = pdl.type : tensor<4xf32>
  %relu = pdl.operation "core.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  %value = pdl.result 0 of %relu
  %clamp = pdl.operation "core.hardtanh" (%value : !pdl.value) {"max_val" = %low} -> (%type : !pdl.type)
  pdl.apply_native_constraint "has_one_use"(%value : !pdl.value)
  pdl.rewrite %clamp {
    %zero = pdl.attribute = 0.0 : f64
    %new = pdl.operation "core.hardtanh" (%x : !pdl.value) {"min_val" = %zero, "max_val" = %low}
    pdl.replace %clamp with %new
  }
}
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = core.hardtanh(%0) {max_val = 3.0} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func @used_twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = core.hardtanh(%0) {max_val = 3.0} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// What cannot be applied is an error at its place.
pdl.pattern @unknown : benefit(1) {
  %x = pdl.operand
  %relu = pdl.operation "core.relu" (%x : !pdl.value)
  pdl.rewrite %relu {
    // expected-error @below {{apply-pdl-patterns: there is no dialect 'cor', which operation cor.relu would belong to; did you mean 'core'?}}
    %new = pdl.operation "cor.relu" (%x : !pdl.value)
    pdl.replace %relu with %new
  }
}

// -----

pdl.pattern @constraint : benefit(1) {
  %x = pdl.operand
  %relu = pdl.operation "core.relu" (%x : !pdl.value)
  // expected-error @below {{there is no native constraint 'is_nice'; there are has_one_use, same}}
  pdl.apply_native_constraint "is_nice"(%x : !pdl.value)
  pdl.rewrite %relu {
    pdl.replace %relu with (%x : !pdl.value)
  }
}

// -----

pdl.pattern @apart : benefit(1) {
  %x = pdl.operand
  %relu = pdl.operation "core.relu" (%x : !pdl.value)
  %other = pdl.operation "core.neg" (%x : !pdl.value)
  %value = pdl.result 0 of %other
  // expected-error @below {{the constraint 'has_one_use' asks about what the root does not lead to}}
  pdl.apply_native_constraint "has_one_use"(%value : !pdl.value)
  pdl.rewrite %relu {
    pdl.replace %relu with (%x : !pdl.value)
  }
}

// -----

// Patterns that undo each other are named, with the cycle that they are in.
pdl.pattern @to_neg : benefit(1) {
  %x = pdl.operand
  %type = pdl.type
  %relu = pdl.operation "core.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %relu {
    %new = pdl.operation "core.neg" (%x : !pdl.value)
    pdl.replace %relu with %new
  }
}
pdl.pattern @to_relu : benefit(1) {
  %x = pdl.operand
  %type = pdl.type
  %neg = pdl.operation "core.neg" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %neg {
    %new = pdl.operation "core.relu" (%x : !pdl.value)
    pdl.replace %neg with %new
  }
}
func.func @spin(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error-re @+3 {{apply-pdl-patterns: rewriting does not come to an end: to_relu and to_neg were applied {{[0-9]+}} times, last to core.}}
  // expected-note @+2 {{to_neg rewrote core.relu}}
  // expected-note @+1 {{to_relu rewrote core.neg}}
  %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
