// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{@x cannot be both extern and static}}
emitc.global extern static @x : i32

// -----

// expected-error @+1 {{function @f has 2 results, and C has one}}
emitc.func private @f() -> (i32, i32)
