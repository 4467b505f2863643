// RUN: flambeau-opt %s -p 'func.func(canonicalize,cse),cse' --timing 2>&1 | filecheck %s --check-prefix=TREE
// RUN: flambeau-opt %s -p 'func.func(canonicalize,cse),cse' --mlir-timing --mlir-timing-display=list 2>&1 | filecheck %s --check-prefix=LIST

// TREE:         wall ms  share    self ms     cpu ms peak +MiB    calls  what
// TREE-NEXT:    100.0% {{.*}} 1  total
// TREE-NEXT:    {{[0-9]+\.[0-9]+ +[0-9.]+% .*}} 1    parse
// TREE-NEXT:    {{.*}} 1    verify
// TREE-NEXT:    {{.*}} 1    pipeline builtin.module
// TREE-NEXT:    {{.*}} 2      pipeline func.func
// TREE-NEXT:    {{.*}} 2        canonicalize
// TREE-NEXT:    {{.*}} 2          verification
// TREE:         {{.*}} 1          IdentityPattern, matched 1
// TREE:         {{.*}} 2        cse
// TREE-NEXT:    {{.*}} 2          verification
// TREE-NEXT:    {{.*}} 1      verification
// TREE-NEXT:    {{.*}} 1      cse
// TREE-NEXT:    {{.*}} 1        verification
// TREE-NEXT:    {{.*}} 1    print
// TREE-NEXT:    peak +MiB is by how much
// TREE-NEXT:    watching {{[0-9]+}} attempts to rewrite took about

// LIST:         what
// LIST-DAG:     {{.*}} 3  cse
// LIST-DAG:     {{.*}} 6  verification
// LIST-DAG:     {{.*}} 100.0% {{.*}} 1  total
// LIST:         peak +MiB
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = core.clone(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
func.func @g() {
  func.return
}
