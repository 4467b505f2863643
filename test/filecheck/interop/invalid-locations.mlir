// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{there is no alias #loc}}
func.func private @f() loc(#loc)

// -----

// expected-error @+2 {{there is no alias #b}}
func.func private @f() loc(#a)
#a = loc("a"(#b))

// -----

// expected-error @+2 {{there is no alias #a}}
func.func private @f() loc(#a)
#a = loc("a"(#a))

// -----

func.func private @f() loc(#a)
#a = loc("a")
// expected-error @+1 {{the alias #a is defined twice}}
#a = loc("b")

// -----

// expected-error @+1 {{expected '>'}}
func.func private @f() loc(fused<"a"["b"])
