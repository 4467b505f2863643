// RUN: flambeau-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: aten/invalid.mlir:5:3: error: aten.relu: result types must be (tensor<2xf32>), got (tensor<3xf32>)
func.func @result(%x: tensor<2xf32>) -> tensor<3xf32> {
  %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

// CHECK: error: aten.add.Tensor: shapes [2] and [3] do not broadcast together
func.func @broadcast(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = aten.add.Tensor(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

// CHECK: error: expected a value of type int, got a string
func.func @attribute(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %0 = aten.select.int(%x) {dim = "first", index = 0} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// CHECK: error: aten.select.int needs the attribute 'index'
func.func @missing(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %0 = aten.select.int(%x) {dim = 1} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// CHECK: error: aten.relu has no attribute 'dim'
"builtin.module"() ({
  "func.func"() <{sym_name = "f", function_type = (tensor<2xf32>) -> ()}> ({
  ^bb0(%x: tensor<2xf32>):
    %0 = "aten.relu"(%x) <{dim = 1 : i64}> : (tensor<2xf32>) -> tensor<2xf32>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()

// -----

// CHECK: error: aten.relu needs the tensor 'self'
func.func @none(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.relu(none) : () -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// CHECK: error: aten.relu: operand types must be tensors, got i64
func.func @type(%x: i64) -> tensor<2xf32> {
  %0 = aten.relu(%x) : (i64) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// A use must come after the definition.
// CHECK: error: aten.relu: operand 0 is used before aten.neg defines it
func.func @dominance(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.relu(%1) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = aten.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

// CHECK: error: {{.*}}aten.no_such_operator
func.func @unknown(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.no_such_operator(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
