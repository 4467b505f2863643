// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// What does not follow the grammar.
func.func @parenthesis(%x: tensor<2xf32>) {
  // expected-error @+1 {{aten.relu takes 1 tensor (self): ')' expected, got ':'}}
  %0 = aten.relu(%x : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// expected-error @+1 {{expected '>', got ')'}}
func.func @bracket(%x: tensor<2xf32) {
  func.return
}

// -----

// expected-error @+1 {{expected a dimension such as 4x or ?x, or an element type such as f32, got 'f33'}}
func.func @element(%x: tensor<2xf33>) {
  func.return
}

// -----

// expected-error @+1 {{expected a dimension such as 4x or ?x, or an element type such as f32, got '-'}}
func.func @dimension(%x: tensor<-2xf32>) {
  func.return
}

// -----

// expected-error @+1 {{expected a type, got 'tensr'}}
func.func @type(%x: tensr<2xf32>) {
  func.return
}

// -----

// expected-error @+1 {{this string has no closing quote}}
func.func @string() attributes {note = "never closed} {
  func.return
}

// -----

func.func @operation() {
  // expected-error @+1 {{operation name expected, got '='}}
  %0 = = aten.relu(%0)
}

// -----

// expected-error @+1 {{the character '$' has no meaning here}}
$

// -----

func.func @brace() {
  // expected-error @+1 {{the text ends inside a region: a '}' is missing}}
  func.return
// -----

// expected-error @+1 {{expected an operation, got '{'}}
{}

// -----

func.func @location() {
  // expected-error @+1 {{expected ':', got ')'}}
  func.return loc("model.py":12)
}

// -----

func.func @number() {
  // expected-error @+1 {{a number with a fraction does not fit an integer type}}
  %0 = arith.constant 1.5 : i8
  func.return
}

// -----

func.func @range() {
  // expected-error @+1 {{integer value 300 is out of range for type i8 which supports values in the range [-128, 256)}}
  %0 = arith.constant 300 : i8
  func.return
}

// -----

func.func @operands(%x: tensor<2xf32>) {
  // expected-error @+1 {{the operation has 1 operand(s), but 2 operand type(s)}}
  %0 = aten.relu(%x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// expected-note @+1 {{%x is defined here as tensor<2xf32>}}
func.func @operand_type(%x: tensor<2xf32>) {
  // expected-error @+1 {{this value is of type tensor<2xf32>, but is used here as tensor<2xf16>}}
  %0 = aten.relu(%x) : (tensor<2xf16>) -> tensor<2xf16>
  func.return
}

// -----

func.func @one_of_several(%x: tensor<2xf32>) {
  // expected-note @+1 {{%0#1 is defined here as tensor<2xi64>}}
  %0:2 = aten.sort(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  // expected-error @+1 {{this value is of type tensor<2xi64>, but is used here as tensor<2xf32>}}
  %1 = aten.relu(%0#1) : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @value(%x: tensor<2xf32>) {
  // expected-error @+1 {{integer or float literal expected, got ','}}
  %0 = aten.select.int(%x) {dim = , index = 0} : (tensor<2xf32>) -> tensor<f32>
  func.return
}

// -----

// expected-error @+1 {{duplicate key 'a' in dictionary attribute}}
func.func @dictionary() attributes {a = 1, a = 2} {
  func.return
}

// -----

func.func @elements() {
  // expected-error @+1 {{the literal has shape [3], but its type has shape [2]}}
  %0 = arith.constant dense<[1, 2, 3]> : tensor<2xi64>
  func.return
}

// -----

func.func @ragged() {
  // expected-error @+1 {{tensor literal has inconsistent ranks between elements}}
  %0 = arith.constant dense<[[1, 2], [3]]> : tensor<2x2xi64>
  func.return
}

// -----

func.func @symbol() {
  // expected-error @+1 {{expected an attribute, got 'nobody'}}
  func.call nobody() : () -> ()
  func.return
}
