// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{partition @p does not end with delegate.return}}
delegate.partition @p backend "B" () -> () {
  %0 = arith.constant 1 : i64
}

// -----

// expected-error @+1 {{partition @p returns other values than its type (tensor<2xf32>) -> () says}}
delegate.partition @p backend "B" (%a: tensor<2xf32>) -> () {
  delegate.return %a : tensor<2xf32>
}

// -----

// expected-error @+1 {{partition @p has other arguments than its type () -> () says}}
"delegate.partition"() <{sym_name = "p", backend = "B", function_type = () -> ()}> ({
^bb0(%a: tensor<2xf32>):
  delegate.return
}) : () -> ()

// -----

// expected-error @+1 {{the name of a backend must not be empty}}
delegate.payload @p backend "" (#flambeau.blob<"p", "0123456789abcdef">)

// -----

// expected-error @+1 {{compile spec 'level' is 3 : i64: it must be a string or a blob}}
delegate.payload @p backend "B" {level = 3} (#flambeau.blob<"p", "0123456789abcdef">)

// -----

func.func @f() {
  // expected-error @+1 {{@p names no delegate.partition or delegate.payload of the module}}
  delegate.call @p() : () -> ()
  func.return
}

// -----

delegate.payload @p backend "B" (#flambeau.blob<"p", "0123456789abcdef">) : () -> tensor<2xf32>
func.func @f() {
  // expected-error @+1 {{calls @p as () -> (), but it is () -> tensor<2xf32>}}
  delegate.call @p() : () -> ()
  func.return
}
