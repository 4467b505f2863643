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

func.func @wide(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{18446744073709551616 does not fit in 64 bits: an int is between -9223372036854775808 and 9223372036854775807}}
  %0 = aten.select.int(%x) {dim = 0, index = 18446744073709551616} : (tensor<2x3xf32>) -> tensor<2xf32>
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

// -----

func.func @dim(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{aten.select.int: dim 2 is out of range for rank 2}}
  %0 = aten.select.int(%a0) {dim = 2, index = 0} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @index(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{aten.select.int: index 2 is out of range for dimension 0 of size 2}}
  %0 = aten.select.int(%a0) {dim = 0, index = 2} : (tensor<2x3xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @product(%a0: tensor<2x3xf32>, %a1: tensor<4x3xf32>) {
  // expected-error @+1 {{aten.mm: shapes [2, 3] and [4, 3] do not multiply: 3 columns, 4 rows}}
  %0 = aten.mm(%a0, %a1) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @elements(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{aten.view: 6 elements of shape [2, 3] do not fit size [4]}}
  %0 = aten.view(%a0) {size = [4]} : (tensor<2x3xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @permutation(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{aten.permute: dims [0, 0] name a dimension twice}}
  %0 = aten.permute(%a0) {dims = [0, 0]} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @mixed_sizes(%a0: tensor<2x3xf32>, %a1: tensor<2x2xf32>) {
  // expected-error @+1 {{aten.cat: shapes [2, 3] and [2, 2] differ outside dimension 0}}
  %0 = aten.cat([%a0, %a1]) {dim = 0} : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

func.func @window(%a0: tensor<1x3x2x2xf32>) {
  // expected-error @+1 {{aten.max_pool2d: a window of 3 does not fit 2 entries padded by 0}}
  %0 = aten.max_pool2d(%a0) {kernel_size = [3, 3]} : (tensor<1x3x2x2xf32>) -> tensor<1x3x1x1xf32>
  func.return
}

// -----

func.func @channels(%a0: tensor<1x3x5x5xf32>, %a1: tensor<4x2x3x3xf32>) {
  // expected-error @+1 {{aten.convolution: input [1, 3, 5, 5] and weight [4, 2, 3, 3] do not fit 1 groups}}
  %0 = aten.convolution(%a0, %a1, none) {stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = false, output_padding = [0, 0], groups = 1} : (tensor<1x3x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x3x3xf32>
  func.return
}

// -----

func.func @training(%a0: tensor<1x3x5x5xf32>, %a1: tensor<2xf32>, %a2: tensor<3xf32>) {
  // expected-error @+1 {{aten._native_batch_norm_legit_no_training: running_mean must have shape [3], got [2]}}
  %0, %1, %2 = aten._native_batch_norm_legit_no_training(%a0, none, none, %a1, %a2) {momentum = 0.1, eps = 1.0e-05} : (tensor<1x3x5x5xf32>, tensor<2xf32>, tensor<3xf32>) -> (tensor<1x3x5x5xf32>, tensor<0xf32>, tensor<0xf32>)
  func.return
}

// -----

func.func @no_bool(%a0: tensor<2xi1>) {
  // expected-error @+1 {{aten.neg: negation is not defined for bool tensors}}
  %0 = aten.neg(%a0) : (tensor<2xi1>) -> tensor<2xi1>
  func.return
}

// -----

func.func @choice(%a0: tensor<2xf32>) {
  // expected-error @+1 {{aten.gelu: approximate must be 'none' or 'tanh', got 'sigmoid'}}
  %0 = aten.gelu(%a0) {approximate = "sigmoid"} : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @softmax(%a0: tensor<2xi64>) {
  // expected-error @+1 {{aten._softmax: softmax is not defined for int64 tensors}}
  %0 = aten._softmax(%a0) {dim = 0, half_to_float = false} : (tensor<2xi64>) -> tensor<2xi64>
  func.return
}

// -----

func.func @indices(%a0: tensor<5x4xf32>, %a1: tensor<2xf32>) {
  // expected-error @+1 {{aten.embedding: indices must be int32 or int64, got float32}}
  %0 = aten.embedding(%a0, %a1) : (tensor<5x4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @several_results(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{aten.max.dim: result types must be (tensor<2xf32>, tensor<2xi64>), got (tensor<2xf32>)}}
  %0 = aten.max.dim(%a0) {dim = 1} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @misspelt(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{aten.select.int needs the attribute 'index'; it has none called 'idx'}}
  %0 = aten.select.int(%a0) {dim = 1, idx = 0} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @twice(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'dim' is given twice}}
  %0 = aten.select.int(%a0) {dim = 1, dim = 0} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @too_many(%a0: tensor<2x3xf32>, %a1: tensor<2x3xf32>) {
  // expected-error @+1 {{aten.relu takes 1 tensor (self): ')' expected, got ','}}
  %0 = aten.relu(%a0, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @too_few(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{aten.mm takes 2 tensors (self, mat2): ',' expected, got ')'}}
  %0 = aten.mm(%a0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @overload(%a0: tensor<2x3xf32>, %a1: tensor<2x3xf32>) {
  // expected-error @+1 {{aten.add takes no tensors; did you mean 'aten.add.Tensor'? its overloads are aten.add.Scalar, aten.add.Scalar_out, aten.add.Tensor, aten.add.complex, aten.add.complex_float, …}}
  %0 = aten.add(%a0, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @a_list(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{'[' expected around the tensors of 'tensors'}}
  %0 = aten.cat(%a0) {dim = 0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @fraction(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a value of type int, got 1.5}}
  %0 = aten.select.int(%a0) {dim = 1.5, index = 0} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @flag(%a0: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a value of type bool, got 1}}
  %0 = aten.sum.dim_IntList(%a0) {dim = [1], keepdim = 1} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @misspelt(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{aten.add.Tensor has no attribute 'alfa'; did you mean 'alpha'?}}
  %0 = aten.add.Tensor(%x, %x) {alfa = 2} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func @typed_number(%a0: tensor<4xf32>) {
  // expected-error @+1 {{write {exponent = 2.0}: the operator's schema gives the type}}
  %0 = aten.pow.Tensor_Scalar(%a0) {exponent = 2.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @typed_element(%a0: tensor<4xf32>) {
  // expected-error @+1 {{write {dim = [0]}: the operator's schema gives the type}}
  %0 = aten.sum.dim_IntList(%a0) {dim = [0 : i64]} : (tensor<4xf32>) -> tensor<f32>
  func.return
}

// -----

func.func @typed_array(%a0: tensor<4xf32>) {
  // expected-error @+1 {{write {dim = [0]}: the operator's schema gives the type}}
  %0 = aten.sum.dim_IntList(%a0) {dim = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  func.return
}

// -----

func.func @unit(%a0: tensor<4xf32>) {
  // expected-error @+1 {{write {keepdim = true}: the operator's schema gives the type}}
  %0 = aten.sum.dim_IntList(%a0) {dim = [0], keepdim} : (tensor<4xf32>) -> tensor<1xf32>
  func.return
}

// -----

func.func @something_behind(%a0: tensor<4xf32>) {
  // expected-error @+1 {{expected '}', got 'foo'}}
  %0 = aten.sum.dim_IntList(%a0) {dim = [0] foo} : (tensor<4xf32>) -> tensor<f32>
  func.return
}

// -----

func.func @size_of_another_input(%x: tensor<?xf32, #edge.layout<sizes = [n in [1, 8]]>>, %y: tensor<?xf32, #edge.layout<sizes = [m in [1, 8]]>>) {
  // expected-error @+1 {{aten.relu: dimension 0 of result 0 is m, another size of the inputs; the operator gives n}}
  %0 = aten.relu(%x) : (tensor<?xf32, #edge.layout<sizes = [n]>>) -> tensor<?xf32, #edge.layout<sizes = [m]>>
  func.return
}

// -----

// The program checks that the sizes are equal.
func.func @equal_sizes(%x: tensor<?xf32, #edge.layout<sizes = [n in [1, 8]]>>, %y: tensor<?xf32, #edge.layout<sizes = [m in [1, 8]]>>) {
  flambeau.assert n eq m
  %0 = aten.relu(%x) : (tensor<?xf32, #edge.layout<sizes = [n]>>) -> tensor<?xf32, #edge.layout<sizes = [m]>>
  func.return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %grid: tensor<2x4x1xf32>) {
  // expected-error @+1 {{aten.grid_sampler: input must have 4 or 5 dimensions, got shape [2, 3, 4]}}
  %0 = aten.grid_sampler(%x, %grid) {interpolation_mode = 0, padding_mode = 0, align_corners = false} : (tensor<2x3x4xf32>, tensor<2x4x1xf32>) -> tensor<2x3x4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x3x4x5x6xf32>, %grid: tensor<2x4x5x6x3xf32>) {
  // expected-error @+1 {{aten.grid_sampler: bicubic interpolation (mode 2) takes an input of 4 dimensions, got shape [2, 3, 4, 5, 6]}}
  %0 = aten.grid_sampler(%x, %grid) {interpolation_mode = 2, padding_mode = 0, align_corners = false} : (tensor<2x3x4x5x6xf32>, tensor<2x4x5x6x3xf32>) -> tensor<2x3x4x5x6xf32>
  func.return
}
