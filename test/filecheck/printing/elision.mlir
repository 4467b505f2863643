// RUN: flambeau-opt %s | filecheck %s --check-prefix WHOLE
// RUN: flambeau-opt %s --elide-elementsattrs-if-larger=4 | filecheck %s --check-prefix ELIDED
// RUN: flambeau-opt %s --mlir-elide-elementsattrs-if-larger=4 | flambeau-opt | filecheck %s --check-prefix ELIDED
// RUN: flambeau-opt %s --elide-elementsattrs-if-larger=5 | filecheck %s --check-prefix WHOLE
// RUN: flambeau-opt %s --elide-elementsattrs-if-larger=0 | filecheck %s --check-prefix ALL
// RUN: flambeau-opt %s -p cse --print-ir-after-all -o %t 2>&1 | filecheck %s --check-prefix BETWEEN
// RUN: flambeau-opt %s -p cse --print-ir-after-all --elide-elementsattrs-if-larger=1000 -o %t 2>&1 | filecheck %s --check-prefix ASKED
// RUN: flambeau-opt %s --elide-resource-strings-if-larger=10 | filecheck %s --check-prefix SHORT
// RUN: not flambeau-opt %s --elide-elementsattrs-if-larger=few 2>&1 | filecheck %s --check-prefix FEW

// WHOLE:      dense<[1, 2, 3, 4, 5]>
// WHOLE:      dense<[1, 2, 3]>
// WHOLE:      dense<7>
// WHOLE:      dense_resource<elision_test{{[_0-9]*}}>
// WHOLE:      elision_test{{[_0-9]*}}: "0x080000000000000000000040"

// ELIDED:     dense_resource<__elided__{{(_[0-9]+)?}}> : tensor<5xi64>
// ELIDED:     dense<[1, 2, 3]>
// ELIDED:     dense<7> : tensor<100xi64>

// ALL:        dense_resource<__elided__{{[_0-9]*}}> : tensor<5xi64>
// ALL:        dense_resource<__elided__{{[_0-9]*}}> : tensor<3xi64>
// ALL:        dense<7> : tensor<100xi64>

// BETWEEN:     dense<[1, 2, 3, 4, 5]>
// BETWEEN:     dense_resource<__elided__{{[_0-9]*}}> : tensor<65xi64>
// BETWEEN-NOT: 0x08

// ASKED:      dense<[1, 2, 3, 4, 5]>
// ASKED:      dense<[0, 0, {{.*}}]> : tensor<65xi64>

// SHORT:      dense_resource<elision_test{{[_0-9]*}}>
// SHORT-NOT:  0x08

// FEW:        error: argument --elide-elementsattrs-if-larger{{.*}}: expected a number from 0 up, got 'few'
func.func @f() -> tensor<5xi64> {
  %0 = arith.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi64>
  %1 = arith.constant dense<[1, 2, 3]> : tensor<3xi64>
  %2 = arith.constant dense<7> : tensor<100xi64>
  %3 = arith.constant dense_resource<elision_test> : tensor<1xf64>
  %4 = arith.constant dense<[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]> : tensor<65xi64>
  func.return %0 : tensor<5xi64>
}
{-#
  dialect_resources: {
    builtin: {
      elision_test: "0x080000000000000000000040"
    }
  }
#-}
