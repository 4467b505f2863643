// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'a b' cannot be a name here: use letters, digits and _}}
irdl.dialect @"a b"

// -----

// expected-error @+1 {{irdl.type must be directly inside irdl.dialect}}
irdl.type @t

// -----

irdl.dialect @d {
  // expected-note @+1 {{@t is defined here first}}
  irdl.type @t
  // expected-error @+1 {{the symbol @t is defined twice}}
  irdl.attribute @t
}

// -----

irdl.dialect @d {
  // expected-error @+1 {{@o has irdl.operands 2 times: at most one is allowed}}
  irdl.operation @o {
    %0 = irdl.any
    irdl.operands(%0)
    irdl.operands(%0, %0)
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    %0 = irdl.any
    // expected-error @+1 {{either all entries of irdl.results must have names, or none}}
    irdl.results(x: %0, %0)
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    %0 = irdl.any
    // expected-error @+1 {{expected single, optional, variadic, or ':' after the name 'many', got '%0'}}
    irdl.results(many %0)
  }
}

// -----

irdl.dialect @d {
  irdl.type @t {
    %0 = irdl.any
    // expected-error @+1 {{expected ':' after the name 'optional', got '%0'}}
    irdl.parameters(optional %0)
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    %0 = irdl.any
    // expected-error @+1 {{irdl.results has 2 entries called 'x'}}
    irdl.results(x: %0, x: %0)
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    %0 = irdl.any
    // expected-error @+1 {{irdl.operands has 1 constraints, but 2 variadicities}}
    "irdl.operands"(%0) {variadicity = #irdl<variadicity_array[single, optional]>} : (!irdl.attribute) -> ()
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    %0 = irdl.any
    // expected-error @+1 {{irdl.attributes has 1 constraints, but 0 names}}
    "irdl.attributes"(%0) {attributeValueNames = []} : (!irdl.attribute) -> ()
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    %0 = irdl.any
    // expected-error @+1 {{irdl.attributes has 2 entries called 'x'}}
    irdl.attributes {"x" = %0, "x" = %0}
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    // expected-error @+1 {{irdl.base needs either a symbol or a name}}
    %0 = "irdl.base"() : () -> !irdl.attribute
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    // expected-error @+1 {{'tensor' must begin with ! for a type, or with # for an attribute}}
    %0 = irdl.base "tensor"
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    // expected-error @+1 {{there is no irdl.type or irdl.attribute @d::@o}}
    %0 = irdl.base @d::@o
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    // expected-error @+1 {{expected a symbol such as @cplx::@complex, or a name such as "!builtin.tensor", got 'f32'}}
    %0 = irdl.base f32
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    %0 = irdl.any
    // expected-error @+1 {{there is no irdl.type or irdl.attribute @t}}
    %1 = irdl.parametric @t<%0>
  }
}

// -----

irdl.dialect @d {
  irdl.type @t {
    %0 = irdl.any
    irdl.parameters(%0)
  }
  irdl.operation @o {
    // expected-error @+1 {{the number of parameters of @d::@t is 1, got 0}}
    %0 = irdl.parametric @d::@t<>
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    // expected-error @+1 {{the number of blocks must be at least 1, got 0}}
    %0 = irdl.region with size 0
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    %0 = irdl.any
    // expected-error @+1 {{a region with constraints on its arguments needs constrainedArguments}}
    %1 = "irdl.region"(%0) : (!irdl.attribute) -> !irdl.region
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    %0 = "test.op"() : () -> !irdl.attribute
    // expected-error @+1 {{irdl.operands takes only constraints of the same definition}}
    irdl.operands(%0)
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    // expected-error @+1 {{%x is used, but never defined}}
    irdl.operands(%x)
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    %0 = irdl.any
    // expected-error @+1 {{irdl.attributes: an attribute may be single or optional, but not variadic}}
    irdl.attributes {"x" = variadic %0}
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    %0 = irdl.any
    // expected-error @+1 {{irdl.attributes has 1 constraints, but 2 variadicities}}
    "irdl.attributes"(%0) {attributeValueNames = ["x"], variadicity = #irdl<variadicity_array[single, optional]>} : (!irdl.attribute) -> ()
  }
}

// -----

irdl.dialect @d {
  // expected-error @+1 {{@o has entries called 'x' in irdl.operands and in irdl.results}}
  irdl.operation @o {
    %0 = irdl.any
    irdl.operands(x: %0)
    irdl.results(y: %0, x: %0)
  }
}

// -----

irdl.dialect @d {
  irdl.operation @o {
    %0 = irdl.any
    // expected-error @+1 {{'x y' cannot be a name here: use letters, digits and _}}
    "irdl.operands"(%0) {names = ["x y"], variadicity = #irdl<variadicity_array[single]>} : (!irdl.attribute) -> ()
  }
}
