// flambeau-opt -p 'lower-partitions'
delegate.partition @p backend "FlambeauElementwise" (%x: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = edge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  delegate.return %0 : tensor<4xf32>
}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = delegate.call @p(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

delegate.payload @p backend "FlambeauElementwise" (#flambeau.blob<"payload.p", "aa7815a7daef8c7d">) : (tensor<4xf32>) -> tensor<4xf32> attributes {operators = {edge.relu = 1 : i64}}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = delegate.call @p(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
