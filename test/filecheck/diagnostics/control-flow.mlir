// RUN: flambeau-opt %s --split-input-file --verify-diagnostics -o /dev/null

func.func @too_few(%a: i32) {
  cf.br ^bb1 // expected-error {{cf.br: the block takes (i32), got ()}}
^bb1(%b: i32):
  func.return
}

// -----

func.func @another_type(%a: i32, %c: i1) {
  // expected-error @below {{cf.cond_br: the block takes (i64), got (i32)}}
  cf.cond_br %c, ^bb1(%a : i32), ^bb2
^bb1(%b: i64):
  func.return
^bb2:
  func.return
}

// -----

func.func @switch(%flag: i32, %a: i32) {
  // expected-error @below {{cf.switch: the block takes (i64), got (i32)}}
  cf.switch %flag : i32, [
    default: ^bb1(%a : i32),
    42: ^bb2(%a : i32)
  ]
^bb1(%b: i32):
  func.return
^bb2(%d: i64):
  func.return
}

// -----

func.func @if_without_else(%a: i32, %c: i1) -> i32 {
  // expected-error @below {{scf.if has 1 result, so it needs an else region that yields values for them}}
  %r = scf.if %c -> (i32) {
    scf.yield %a : i32
  }
  func.return %r : i32
}

// -----

func.func @yields_another_type(%a: i32, %c: i1) -> i64 {
  %r = scf.if %c -> (i64) {
    scf.yield %a : i32 // expected-error {{scf.if has results (i64), got (i32)}}
  } else {
    scf.yield %a : i32
  }
  func.return %r : i64
}

// -----

func.func @while_hands_on_another_type(%a: i32, %b: i64) -> i32 {
  %r = scf.while (%x = %a) : (i32) -> i32 {
    %c = arith.constant true
    scf.condition(%c) %b : i64 // expected-error {{scf.while has results (i32), got (i64)}}
  } do {
  ^bb0(%y: i32):
    scf.yield %y : i32
  }
  func.return %r : i32
}

// -----

func.func @while_takes_back_another_type(%a: i32, %b: i64) -> i32 {
  %r = scf.while (%x = %a) : (i32) -> i32 {
    %c = arith.constant true
    scf.condition(%c) %x : i32
  } do {
  ^bb0(%y: i32):
    scf.yield %b : i64 // expected-error {{scf.while: its first region takes (i32), got (i64)}}
  }
  func.return %r : i32
}

// -----

func.func @around() {
  // expected-error @below {{func.func defines a symbol, so it must be in a symbol table such as builtin.module, not in func.func}}
  func.func @inside() {
    func.return
  }
  func.return
}

// -----

func.func @right(%a: i32, %n: index, %c: i1) -> i32 {
  %r = scf.if %c -> (i32) {
    scf.yield %a : i32
  } else {
    scf.yield %a : i32
  }
  cf.cond_br %c, ^bb1(%r : i32), ^bb2
^bb1(%b: i32):
  func.return %b : i32
^bb2:
  %s = scf.execute_region -> (i32) {
    scf.yield %a : i32
  }
  scf.for %i = %n to %n step %n {
    scf.yield
  }
  cf.br ^bb1(%s : i32)
}
