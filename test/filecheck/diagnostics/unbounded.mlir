// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p convert-edge-to-exec

// A slot has as many bytes as its tensor may ever need.
// expected-error @below {{convert-edge-to-exec: 1 operation cannot be converted to kernel calls of the target 'executorch': func.func: dimension 0 of tensor<?x4xf16> has no maximum}}
func.func @argument(%x: tensor<?x4xf16>) -> tensor<?x4xf16> {
  func.return %x : tensor<?x4xf16>
}

// -----

func.func @result(%x: tensor<2x?xf32, #edge.layout<sizes = [2, ? in [0, 8]]>>) -> tensor<?x2xi64> {
  // expected-error @below {{dimension 0 of tensor<?x2xi64> has no maximum}}
  %0 = edge.nonzero(%x) : (tensor<2x?xf32, #edge.layout<sizes = [2, ? in [0, 8]]>>) -> tensor<?x2xi64>
  func.return %0 : tensor<?x2xi64>
}
