// RUN: flambeau-opt %s -p remove-dead-code | filecheck %s

// CHECK-NOT:   @unused
// CHECK:       ml_program.global public @kept_for_others
// CHECK:       ml_program.global private @used
ml_program.global private @unused(dense<1.0> : tensor<1xf32>) : tensor<1xf32>
ml_program.global public @kept_for_others(dense<1.0> : tensor<1xf32>) : tensor<1xf32>
ml_program.global private @used(dense<1.0> : tensor<2xf32>) : tensor<2xf32>

// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    %[[W:.*]] = ml_program.global_load_const @used
// CHECK-NEXT:    func.return %[[W]]
func.func @chain(%x: tensor<2xf32>) -> tensor<2xf32> {
  %w = ml_program.global_load_const @used : tensor<2xf32>
  %u = ml_program.global_load_const @unused : tensor<1xf32>
  %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = core.neg(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = core.mul.Tensor(%1, %u) : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  func.return %w : tensor<2xf32>
}

// The block of the user stands before that of what it uses.
// CHECK-LABEL: func.func @against_the_order
// CHECK-NEXT:    cf.br ^[[LAST:.*]]
// CHECK-NEXT:  ^[[MIDDLE:.*]]:
// CHECK-NEXT:    func.return
// CHECK-NEXT:  ^[[LAST]]:
// CHECK-NEXT:    cf.br ^[[MIDDLE]]
func.func @against_the_order(%x: tensor<2xf32>) -> tensor<2xf32> {
  cf.br ^last
^middle:
  %1 = core.neg(%0) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %x : tensor<2xf32>
^last:
  %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  cf.br ^middle
}

// A name may stand within other attributes.
// CHECK: ml_program.global private @listed
// CHECK: ml_program.global private @nested
ml_program.global private @listed(dense<1.0> : tensor<1xf32>) : tensor<1xf32>
ml_program.global private @nested(dense<1.0> : tensor<1xf32>) : tensor<1xf32>
func.func private @names() attributes {list = [@listed], table = {of = [@nested]}}

// What only something inside of a dead operation reads.
// CHECK-LABEL: func.func @read_inside
// CHECK-NEXT:    cf.br
// CHECK-NEXT:  ^{{.*}}:
// CHECK-NEXT:    func.return
// CHECK-NEXT:  ^{{.*}}:
// CHECK-NEXT:    cf.br
func.func @read_inside(%c: i1, %x: i32) {
  cf.br ^last
^middle:
  %d = scf.if %c -> (i32) {
    %s = arith.addi %a, %x : i32
    scf.yield %s : i32
  } else {
    scf.yield %x : i32
  }
  func.return
^last:
  %a = arith.muli %x, %x : i32
  cf.br ^middle
}
