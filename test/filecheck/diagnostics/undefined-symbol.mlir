// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -p lower-scf,convert-edge-to-exec

func.func @nothing() -> tensor<?xf32, #edge.layout<sizes = [s0 in [1, 4]]>> {
  // expected-error @below {{edge.full: nothing gives s0 a value here: let a dimension of an input have this size, or put a flambeau.define_symbol before}}
  %0 = edge.full() {size = [s0], fill_value = 1.0} : () -> tensor<?xf32, #edge.layout<sizes = [s0]>>
  func.return %0 : tensor<?xf32, #edge.layout<sizes = [s0]>>
}

// -----

// What a branch defines is not known after it.
func.func @after(%c: tensor<i1>, %n: tensor<i64>) -> i64 {
  %0 = tensor.extract %c[] : tensor<i1>
  scf.if %0 {
    flambeau.define_symbol %n as u0 in [0, 9] : tensor<i64>
    scf.yield
  }
  // expected-error @below {{flambeau.value: nothing gives u0 a value here}}
  %1 = flambeau.value u0 : i64
  func.return %1 : i64
}
