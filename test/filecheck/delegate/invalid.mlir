// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{partition @p must end with delegate.return}}
delegate.partition @p backend "B" () -> () {
  %0 = arith.constant 1 : i64
}

// -----

// expected-error @+1 {{partition @p returns (tensor<2xf32>), but its type is (tensor<2xf32>) -> ()}}
delegate.partition @p backend "B" (%a: tensor<2xf32>) -> () {
  delegate.return %a : tensor<2xf32>
}

// -----

// expected-error @+1 {{partition @p takes (tensor<2xf32>), but its type is () -> ()}}
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
  // expected-error @+1 {{the module has no delegate.partition or delegate.payload @p}}
  delegate.call @p() : () -> ()
  func.return
}

// -----

delegate.payload @p backend "B" (#flambeau.blob<"p", "0123456789abcdef">) : () -> tensor<2xf32>
func.func @f() {
  // expected-error @+1 {{calls @p with type () -> (), but its type is () -> tensor<2xf32>}}
  delegate.call @p() : () -> ()
  func.return
}
