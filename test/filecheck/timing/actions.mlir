// RUN: flambeau-opt %s -p canonicalize,cse --log-actions-to=- 2>&1 | filecheck %s --check-prefix=LOG
// RUN: flambeau-opt %s -p canonicalize,cse --profile-actions=%t.json | filecheck %s --check-prefix=IR
// RUN: filecheck %s --check-prefix=TRACE < %t.json
// RUN: flambeau-opt %s -p cse --debug-counter=cse-skip=1 --print-debug-counter 2>&1 | filecheck %s --check-prefix=SKIP

// LOG:      phase parse
// LOG-NEXT: phase verify
// LOG-NEXT: pipeline builtin.module on builtin.module
// LOG-NEXT:   pass canonicalize on builtin.module
// LOG:          Pattern on core.permute at layers.0 (model.py:3): matched
// LOG:        pass cse on builtin.module
// LOG-NEXT:     rewrite cse on core.relu at model.py:5
// LOG:      phase print

// IR:      func.func @f
// IR-NEXT:   core.relu
// IR-NEXT:   func.return

// TRACE: {"displayTimeUnit": "ms", "traceEvents": [
// TRACE: {"ph": "X", "name": "{{.*}}Pattern", "cat": "pattern", "ts": {{[0-9.]+}}, {{.*}} "args": {"op": "core.permute", "location": "layers.0 (model.py:3)", "matched": true}, "dur": {{[0-9.]+}}}
// TRACE: {"ph": "X", "name": "canonicalize", "cat": "pass"
// TRACE: {"ph": "i", "name": "cse", "cat": "rewrite"
// TRACE: ]}

// SKIP: *: 1 attempts, 0 let through
// SKIP: cse: 1 attempts, 0 let through
func.func @f(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = core.permute(%x) {dims = [0, 1]} : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("layers.0"("model.py":3:1))
  %1 = core.relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("model.py":4:1)
  %2 = core.relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("model.py":5:1)
  func.return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>
}
