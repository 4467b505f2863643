// flambeau-opt -p 'bound-symbols{bounds=s0:64}'
func.func @forward(%x: tensor<?x4xf32, #edge.layout<sizes = [s0 in [2, ?], 4]>>) -> tensor<?x2xi64, #edge.layout<sizes = [u0 in [0, ?], 2]>> {
  %0 = aten.nonzero(%x) : (tensor<?x4xf32, #edge.layout<sizes = [s0, 4]>>) -> tensor<?x2xi64, #edge.layout<sizes = [u0, 2]>>
  func.return %0 : tensor<?x2xi64, #edge.layout<sizes = [u0, 2]>>
}

// -----

func.func @forward(%x: tensor<?x4xf32, #edge.layout<sizes = [s0 in [2, 64], 4]>>) -> tensor<?x2xi64, #edge.layout<sizes = [u0 in [0, 256], 2]>> {
  %0 = aten.nonzero(%x) : (tensor<?x4xf32, #edge.layout<sizes = [s0, 4]>>) -> tensor<?x2xi64, #edge.layout<sizes = [u0, 2]>>
  func.return %0 : tensor<?x2xi64, #edge.layout<sizes = [u0, 2]>>
}
