// RUN: flambeau-opt %s -p 'canonicalize{disable-patterns=IdentityPattern}' | filecheck %s --check-prefix=DISABLED
// RUN: flambeau-opt %s -p 'canonicalize{enable-patterns=PermutePattern,BroadcastPattern}' | filecheck %s --check-prefix=DISABLED
// RUN: flambeau-opt %s -p 'canonicalize{max-num-rewrites=1}' | filecheck %s --check-prefix=ONE
// RUN: flambeau-opt %s -p 'canonicalize{max-num-rewrites=1 top-down=false}' | filecheck %s --check-prefix=LAST
// RUN: not flambeau-opt %s -p 'canonicalize{disable-patterns=IdentityPatern}' 2>&1 | filecheck %s --check-prefix=WRONG

// WRONG: canonicalize has no pattern 'IdentityPatern'; it has IdentityPattern, {{.*}}; did you mean 'IdentityPattern'?

// DISABLED: core.clone
// DISABLED: core.mul.Scalar
// ONE-NOT:  core.clone
// ONE:      core.mul.Scalar
// LAST:     core.clone
// LAST-NOT: core.mul.Scalar
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = core.clone(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = core.relu(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = core.mul.Scalar(%1) {other = 1} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
