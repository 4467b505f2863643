// Names that are unique in the module, and comments that say who uses each value; the text with comments parses back to the same.
// RUN: flambeau-opt %s | filecheck %s --check-prefix PLAIN
// RUN: flambeau-opt %s --print-unique-ssa-ids | filecheck %s --check-prefix UNIQUE
// RUN: flambeau-opt %s -mlir-print-unique-ssa-ids | flambeau-opt --verify-roundtrip | filecheck %s --check-prefix PLAIN
// RUN: flambeau-opt %s --print-value-users | filecheck %s --check-prefix USERS
// RUN: flambeau-opt %s -mlir-print-value-users | flambeau-opt | filecheck %s --check-prefix PLAIN
// RUN: flambeau-opt %s --print-value-users --print-op-generic | flambeau-opt | filecheck %s --check-prefix PLAIN

// PLAIN-LABEL: func.func @first
// PLAIN-NEXT:    %0 = core.relu(%x)
// UNIQUE-LABEL: func.func @first(%x: tensor<2xf32>, %y: tensor<2xf32>)
// UNIQUE-NEXT:    %0 = core.relu(%x)
// USERS-LABEL: func.func @first
// USERS-NEXT:    // %x users: %0{{$}}
// USERS-NEXT:    // %y unused{{$}}
// USERS-NEXT:    %0 = core.relu(%x) {{.*}} // users: %1, func.return{{$}}
// USERS-NEXT:    %1 = core.add.Tensor(%0, %0) {{.*}} // unused{{$}}
// USERS-NEXT:    func.return %0 : tensor<2xf32>{{$}}
func.func @first(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = core.add.Tensor(%0, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// PLAIN-LABEL: func.func @second
// PLAIN-NEXT:    %0, %1 = "test.op"(%x)
// PLAIN-NEXT:    cf.br ^[[NEXT:.*]](%1 : i1)
// PLAIN-NEXT:  ^[[NEXT]](%2: i1):
// UNIQUE-LABEL: func.func @second(%x_1: tensor<2xf32>)
// UNIQUE-NEXT:    %2, %3 = "test.op"(%x_1)
// USERS-LABEL: func.func @second
// USERS-NEXT:    // %x_1 users: %3{{$}}
// USERS-NEXT:    %3, %4 = "test.op"(%x_1) {{.*}} // %3 unused; %4 users: cf.br{{$}}
// USERS-NEXT:    cf.br ^[[NEXT:.*]](%4 : i1)
// USERS-NEXT:  ^[[NEXT]](%2: i1):
// USERS-NEXT:    // %2 users: func.return{{$}}
// USERS-NEXT:    func.return %2 : i1
func.func @second(%x: tensor<2xf32>) -> i1 {
  %0, %1 = "test.op"(%x) : (tensor<2xf32>) -> (i32, i1)
  cf.br ^end(%1 : i1)
^end(%2: i1):
  func.return %2 : i1
}
