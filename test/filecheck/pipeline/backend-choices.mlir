// RUN: flambeau-opt %s -p 'partition{backends=elementwise{least=3},xnnpack{least=2}}' | filecheck %s --check-prefix ORDER
// RUN: flambeau-opt %s -p 'partition{backends=xnnpack,elementwise{least=1}}' | filecheck %s --check-prefix OTHER
// RUN: flambeau-opt %s -p 'partition{backends=elementwise no-delegate=layers.0.gate,tanh}' --remarks 2>&1 | filecheck %s --check-prefix VETO
// RUN: not flambeau-opt %s -p 'partition{backends=elementwise no-delegate=layers.0.gats}' 2>&1 | filecheck %s --check-prefix NOTHING
// RUN: not flambeau-opt %s -p 'partition{backends=elementwise{lest=3}}' 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: not flambeau-opt %s -p 'partition{backends=elementwise{least=few}}' 2>&1 | filecheck %s --check-prefix TYPE
// RUN: not flambeau-opt %s -p 'partition{backends=elementwise{least=0}}' 2>&1 | filecheck %s --check-prefix VALUE
// RUN: flambeau-opt %s -p 'partition{backends=xnnpack{methods=forward},elementwise{methods=second least=1}}' | filecheck %s --check-prefix METHODS
// RUN: not flambeau-opt %s -p 'partition{backends=xnnpack{methods=forward},xnnpack}' 2>&1 | filecheck %s --check-prefix TWICE
// RUN: not flambeau-opt %s -p 'partition{backends=xnnpack{methods=forwards}}' 2>&1 | filecheck %s --check-prefix METHOD

// The first backend chooses first; what is too little for it is left to the next.
// ORDER:     delegate.partition @forward_elementwise_0 backend "FlambeauElementwise"
// ORDER-NOT: delegate.partition @forward_elementwise_1
// ORDER:     delegate.partition @forward_xnnpack_0 backend "XnnpackBackend"
// OTHER:     delegate.partition @forward_xnnpack_0 backend "XnnpackBackend"
// OTHER-NOT: FlambeauElementwise

// Vetoes name modules, whose submodules they cover, and operators.
// VETO-DAG:  remark: partition: backend 'elementwise' leaves it: no-delegate 'layers.0.gate' keeps it
// VETO-DAG:  remark: partition: backend 'elementwise' leaves it: no-delegate 'tanh' keeps it
// VETO:      delegate.partition @forward_elementwise_0
// VETO-NEXT:   edge.relu
// VETO-NEXT:   edge.neg

// NOTHING:   no-delegate 'layers.0.gats' keeps nothing: no operator of the program is in a module of this path, or has this name; did you mean 'layers.0.gate'?
// UNKNOWN:   backend 'elementwise' has no option 'lest'; it has least, methods, strict; did you mean 'least'?
// TYPE:      option 'least' of backend 'elementwise' must be an integer, got 'few'
// METHODS:     delegate.partition @forward_xnnpack_0
// METHODS-NOT: delegate.partition @forward
// METHODS:     delegate.partition @second_elementwise_0
// TWICE:     backend 'xnnpack' is chosen twice
// METHOD:    backend 'xnnpack' is for the method 'forwards', and the program has forward, second; did you mean 'forward'?
// VALUE:     option 'least', the fewest operators of a delegate, is 1 or more, not 0
func.func @forward(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = edge.relu(%x) : (tensor<3xf32>) -> tensor<3xf32> loc("layers.0"("m.py":1:1))
  %1 = edge.neg(%0) : (tensor<3xf32>) -> tensor<3xf32> loc("layers.0"("m.py":2:1))
  %2 = edge.sigmoid(%1) : (tensor<3xf32>) -> tensor<3xf32> loc("layers.0.gate.inner"("m.py":3:1))
  %3 = edge.permute_copy(%2) {dims = [0]} : (tensor<3xf32>) -> tensor<3xf32> loc("layers.1"("m.py":4:1))
  %4 = edge.tanh(%3) : (tensor<3xf32>) -> tensor<3xf32> loc("layers.1"("m.py":5:1))
  %5 = edge.abs(%4) : (tensor<3xf32>) -> tensor<3xf32> loc("layers.1"("m.py":6:1))
  func.return %2, %5 : tensor<3xf32>, tensor<3xf32>
}
func.func @second(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = edge.relu(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
