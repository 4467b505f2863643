// RUN: flambeau-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: error: partition @p does not end with delegate.return
delegate.partition @p backend "B" () -> () {
  %0 = arith.constant 1 : i64
}

// -----

// CHECK: error: partition @p returns other values than its type (tensor<2xf32>) -> () says
delegate.partition @p backend "B" (%a: tensor<2xf32>) -> () {
  delegate.return %a : tensor<2xf32>
}

// -----

// CHECK: error: partition @p has other arguments than its type () -> () says
"delegate.partition"() <{sym_name = "p", backend = "B", function_type = () -> ()}> ({
^bb0(%a: tensor<2xf32>):
  delegate.return
}) : () -> ()

// -----

// CHECK: error: the name of a backend must not be empty
delegate.payload @p backend "" (#ml_program.blob<"p", "0123456789abcdef">)

// -----

// CHECK: error: compile spec 'level' is 3 : i64: it must be a string or a blob
delegate.payload @p backend "B" {level = 3} (#ml_program.blob<"p", "0123456789abcdef">)

// -----

// CHECK: error: @p names no delegate.partition or delegate.payload of the module
func.func @f() {
  delegate.call @p() : () -> ()
  func.return
}

// -----

// CHECK: error: calls @p as () -> (), but it is () -> tensor<2xf32>
delegate.payload @p backend "B" (#ml_program.blob<"p", "0123456789abcdef">) : () -> tensor<2xf32>
func.func @f() {
  delegate.call @p() : () -> ()
  func.return
}
