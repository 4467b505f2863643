// A plug-in is there for one run of the tool, which leaves nothing behind.
// RUN: flambeau-opt %s --load-plugin %S/double.py -p double | filecheck %s
// RUN: flambeau-opt %s --load-plugin=%S/double.py --load-plugin=%S/double.py -p 'func.func(double)' --check-semantics | filecheck %s
// RUN: flambeau-opt %s --load-plugin %S/double.py -p double | flambeau-opt --load-plugin %S/double.py | filecheck %s
// RUN: flambeau-opt --load-plugin %S/double.py --list-passes | filecheck %s --check-prefix=LIST
// RUN: flambeau-opt --load-plugin %S/double.py --show-dialects | filecheck %s --check-prefix=DIALECTS
// RUN: not flambeau-opt %s -p double 2>&1 | filecheck %s --check-prefix=GONE
// RUN: flambeau-opt %s --load-plugin %S/double.py -p double | not flambeau-opt 2>&1 | filecheck %s --check-prefix=UNKNOWN

// LIST:       Passes of plug-ins:
// LIST-NEXT:    double
// DIALECTS:   {{^}}doubles{{$}}
// GONE:       error: there is no pass or pipeline 'double'
// UNKNOWN:    error: {{.*}}doubles.twice

// CHECK-LABEL: func.func @f
// CHECK-NEXT:    doubles.twice(%x) : (tensor<2xf32>) -> tensor<2xf32>
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = core.add.Tensor(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
