// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// Functions, blocks and values that do not fit together.
func.func @too_much(%x: tensor<2xf32>) {
  // expected-error @+1 {{returns (tensor<2xf32>), but the function's type says ()}}
  func.return %x : tensor<2xf32>
}

// -----

func.func @too_little() -> tensor<2xf32> {
  // expected-error @+1 {{returns (), but the function's type says (tensor<2xf32>)}}
  func.return
}

// -----

func.func @other(%x: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{returns (tensor<2xf32>), but the function's type says (tensor<3xf32>)}}
  func.return %x : tensor<2xf32>
}

// -----

func.func @no_terminator(%x: tensor<2xf32>) {
  // expected-error @+1 {{the block ends with aten.relu, which is not a terminator such as func.return}}
  %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
}

// -----

// expected-error @+1 {{func.func has an empty block: a block must end with a terminator such as func.return}}
func.func @empty(%x: tensor<2xf32>) {
}

// -----

// expected-error @+1 {{function @braces has no body: give it one, or make the declaration private}}
func.func @braces() {
}

// -----

// expected-error @+1 {{function @declared has no body: give it one, or make the declaration private}}
func.func @declared(tensor<2xf32>) -> ()

// -----

func.func @after() {
  // expected-error @+1 {{func.return must come last in its block}}
  func.return
  func.return
}

// -----

// expected-error @+1 {{func.return must be directly inside func.func}}
func.return

// -----

// expected-error @+1 {{func.func needs the property 'sym_name'}}
"func.func"() ({
  func.return
}) : () -> ()

// -----

// expected-error @+1 {{aten.relu takes 1 tensor (self), got 0 operands}}
"aten.relu"() : () -> ()

// -----

func.func @call(%x: tensor<2xf32>) {
  // expected-error @+1 {{operand 0 must be of type tensor<3xf32>, got tensor<2xf32>}}
  func.call @callee(%x) : (tensor<2xf32>) -> ()
  func.return
}
func.func private @callee(tensor<3xf32>) -> ()

// -----

func.func @order(%x: tensor<2xf32>) {
  // expected-error @+1 {{aten.relu: operand 0 is used before aten.neg defines it}}
  %0 = aten.relu(%1) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = aten.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @itself() {
  // expected-error @+1 {{aten.relu: operand 0 is used before aten.relu defines it}}
  %0 = aten.relu(%0) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @block(%c: i1, %x: tensor<2xf32>) {
  cf.cond_br %c, ^left, ^right
^left:
  %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  cf.br ^right
^right:
  // expected-error @+1 {{aten.neg: operand 0 is defined in a block that does not dominate the use}}
  %1 = aten.neg(%0) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @region(%c: i1, %x: tensor<2xf32>) {
  "scf.if"(%c) ({
    %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield
  }, {
    scf.yield
  }) : (i1) -> ()
  // expected-error @+1 {{%0 is used, but never defined}}
  %1 = aten.neg(%0) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// Every operation that is wrong is reported, not only the first.
func.func @several(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{aten.relu: result types must be (tensor<2x3xf32>), got (tensor<6xf32>)}}
  %0 = aten.relu(%x) : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = aten.neg(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error @+1 {{aten.select.int: dim 7 is out of range for rank 2}}
  %2 = aten.select.int(%x) {dim = 7, index = 0} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}
func.func @another(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{returns (), but the function's type says (tensor<2xf32>)}}
  func.return
}

// -----

// What is inside of something that is wrong is not looked at: its own rules may count on what is around it.
exec.method @m {} {
  %x = exec.tensor {arena = 1} : tensor<2xf32>
  exec.label @l
  // expected-error @+1 {{method @m defines label @l twice}}
  exec.label @l
  exec.return
}

// -----

// What xDSL's definitions of operations refuse.
func.func @kind(%x: i32) {
  // expected-error @+1 {{operand lhs: i32 is not allowed here}}
  %0 = "arith.addf"(%x, %x) : (i32, i32) -> i32
  func.return
}

// -----

func.func @equal(%x: i32, %y: f32) {
  // expected-error @+1 {{operand rhs: must be i32 as elsewhere in the operation, got f32}}
  %0 = "arith.addi"(%x, %y) : (i32, f32) -> i32
  func.return
}

// -----

func.func @count(%x: i32) {
  // expected-error @+1 {{expected 2 operands, got 1}}
  %0 = "arith.addi"(%x) : (i32) -> i32
  func.return
}

// -----

func.func @property(%x: i32) {
  // expected-error @+1 {{arith.cmpi needs the property 'predicate'}}
  %0 = "arith.cmpi"(%x, %x) : (i32, i32) -> i1
  func.return
}

// -----

// expected-error @+1 {{expected array, got 3 : i64}}
"exec.method"() <{sym_name = "m", arenas = 3 : i64}> ({
  exec.return
}) : () -> ()

// -----

// expected-error @+1 {{the types of the first block's arguments differ from those in the function's type}}
"func.func"() <{sym_name = "f", function_type = (i32) -> ()}> ({
^bb0(%x: f32):
  func.return
}) : () -> ()
