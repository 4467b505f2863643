// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

func.func @result(%x: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{aten.relu: result types must be (tensor<2xf32>), got (tensor<3xf32>)}}
  %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

func.func @broadcast(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{aten.add.Tensor: shapes [2] and [3] do not broadcast together}}
  %0 = aten.add.Tensor(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

func.func @attribute(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{expected a value of type int, got a string}}
  %0 = aten.select.int(%x) {dim = "first", index = 0} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @missing(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{aten.select.int needs the attribute 'index'}}
  %0 = aten.select.int(%x) {dim = 1} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

"builtin.module"() ({
  "func.func"() <{sym_name = "f", function_type = (tensor<2xf32>) -> ()}> ({
  ^bb0(%x: tensor<2xf32>):
    // expected-error @+1 {{aten.relu has no attribute 'dim'}}
    %0 = "aten.relu"(%x) <{dim = 1 : i64}> : (tensor<2xf32>) -> tensor<2xf32>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()

// -----

func.func @none(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{aten.relu needs the tensor 'self'}}
  %0 = aten.relu(none) : () -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @type(%x: i64) -> tensor<2xf32> {
  // expected-error @+1 {{aten.relu: operand types must be tensors, got i64}}
  %0 = aten.relu(%x) : (i64) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// A use must come after the definition.
func.func @dominance(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{aten.relu: operand 0 is used before aten.neg defines it}}
  %0 = aten.relu(%1) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = aten.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @unknown(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{there is no operation aten.no_such_operator}}
  %0 = aten.no_such_operator(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
