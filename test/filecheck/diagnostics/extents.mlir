// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{s0 has no range: write it where it is first named, as in s0 in [1, 512]}}
func.func @undeclared(%x: tensor<?xf32, #edge.layout<sizes = [s0]>>)

// -----

// expected-error @below {{no number is at least 5 and at most 2}}
func.func @empty(%x: tensor<?xf32, #edge.layout<sizes = [s0 in [5, 2]]>>)

// -----

// expected-error @below {{a range has two bounds, got 1}}
func.func @half(%x: tensor<?xf32, #edge.layout<sizes = [s0 in [5]]>>)

// -----

// expected-error @below {{s0 is divided by 0}}
func.func @division(%x: tensor<?xf32, #edge.layout<sizes = [(s0 in [1, 5]) floordiv 0]>>)

// -----

func.func @another_size(%x: tensor<?x3xf32, #edge.layout<sizes = [s0 in [1, 5], 3]>>) {
  // expected-error @below {{the layout gives dimension 1 the size 4}}
  %0 = aten.relu(%x) : (tensor<?x3xf32, #edge.layout<sizes = [s0, 3]>>) -> tensor<?x3xf32, #edge.layout<sizes = [s0, 4]>>
  func.return
}

// -----

func.func @ranks(%x: tensor<?xf32>) {
  // expected-error @below {{has 1 dimensions, and a layout of 2}}
  %0 = aten.relu(%x) : (tensor<?xf32>) -> tensor<?xf32, #edge.layout<[0, 1]>>
  func.return
}

// -----

// Extents that are never equal do not fit.
func.func @result(%x: tensor<?xf32, #edge.layout<sizes = [s0 in [1, 5]]>>) {
  // expected-error @below {{aten.relu: result types must be}}
  %0 = aten.relu(%x) : (tensor<?xf32, #edge.layout<sizes = [s0]>>) -> tensor<?xf32, #edge.layout<sizes = [s0 + 1]>>
  func.return
}

// -----

func.func @columns(%x: tensor<2x?xf32, #edge.layout<sizes = [2, s0 in [1, 5]]>>, %y: tensor<?x3xf32, #edge.layout<sizes = [s0 * 2, 3]>>) {
  // expected-error @below {{aten.mm: shapes [2, s0] and [s0 * 2, 3] do not multiply: s0 columns, s0 * 2 rows}}
  %0 = aten.mm(%x, %y) : (tensor<2x?xf32, #edge.layout<sizes = [2, s0]>>, tensor<?x3xf32, #edge.layout<sizes = [s0 * 2, 3]>>) -> tensor<2x3xf32>
  func.return
}

// -----

// An extent that is not known is not written as an argument.
func.func @argument(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{integer or float literal expected, got '?'}}
  %0 = aten.view(%x) {size = [?]} : (tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

// -----

// Sizes that are other expressions of the symbols are different in some run.
func.func @swapped(%x: tensor<?x?xf32, #edge.layout<sizes = [s17 in [1, 8], s27 in [1, 16]]>>) {
  // expected-error @below {{aten.relu: result types must be (tensor<?x?xf32, #edge.layout<sizes = [s17 in [1, 8], s27 in [1, 16]]>>)}}
  %0 = aten.relu(%x) : (tensor<?x?xf32, #edge.layout<sizes = [s17, s27]>>) -> tensor<?x?xf32, #edge.layout<sizes = [s27, s17]>>
  func.return
}

// -----

func.func @sum(%x: tensor<?x?xf32, #edge.layout<sizes = [s17 in [1, 8], s27 in [1, 16]]>>) {
  // expected-error @below {{aten.flatten.using_ints: result types must be (tensor<?xf32, #edge.layout<sizes = [(s17 in [1, 8]) * (s27 in [1, 16])]>>)}}
  %0 = aten.flatten.using_ints(%x) : (tensor<?x?xf32, #edge.layout<sizes = [s17, s27]>>) -> tensor<?xf32, #edge.layout<sizes = [s17 + s27]>>
  func.return
}

// -----

// expected-error @below {{s17 already has the range [1, 8] in @two_ranges, and cannot have [1, 9] too}}
func.func @two_ranges(%x: tensor<?xf32, #edge.layout<sizes = [s17 in [1, 8]]>>, %y: tensor<?xf32, #edge.layout<sizes = [s17 in [1, 9]]>>) {
  func.return
}

// -----

// Another function may use the name for another symbol.
func.func @one(%x: tensor<?xf32, #edge.layout<sizes = [s17 in [1, 8]]>>) {
  func.return
}
func.func @other(%x: tensor<?xf32, #edge.layout<sizes = [s17 in [1, 9]]>>) {
  func.return
}

// -----

// expected-error @below {{dimension 0 is s17, whose range [-3, 8] has negative numbers; a size is 0 or more}}
func.func @negative(%x: tensor<?xf32, #edge.layout<sizes = [s17 in [-3, 8]]>>) {
  func.return
}

// -----

// expected-error @below {{has 1 dimensions, and a layout of 2}}
func.func @argument_rank(%x: tensor<?xf32, #edge.layout<[0, 1]>>) {
  func.return
}

// -----

// expected-error @below {{the layout gives dimension 0 the size 5}}
func.func @argument_size(%x: tensor<4xf32, #edge.layout<sizes = [5]>>) {
  func.return
}

// -----

// expected-error @below {{the layout gives dimension 0 the size s17}}
func.func @argument_symbol(%x: tensor<4xf32, #edge.layout<sizes = [s17 in [1, 8]]>>) {
  func.return
}
