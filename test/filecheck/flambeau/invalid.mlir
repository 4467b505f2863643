// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{the digest of blob 'w' must be 16 lower-case hexadecimal digits, not 'xyz'}}
ml_program.global private @w(#flambeau.blob<"w", "xyz">) : tensor<4xf32>

// -----

// expected-error @+1 {{the key of a blob must not be empty}}
ml_program.global private @w(#flambeau.blob<"", "0123456789abcdef">) : tensor<4xf32>

// -----

// expected-error @+1 {{#ml_program.blob}}
ml_program.global private @w(#ml_program.blob<"w", "0123456789abcdef">) : tensor<4xf32>

// -----

func.func @no_symbol(%n: tensor<i64>) {
  // expected-error @+1 {{flambeau.define_symbol defines one symbol, got u0 * 2}}
  flambeau.define_symbol %n as (u0 in [0, 16]) * 2 : tensor<i64>
  func.return
}

// -----

func.func @no_integer(%n: tensor<f32>) {
  // expected-error @+1 {{flambeau.define_symbol takes an integer or a tensor of one integer, got tensor<f32>}}
  flambeau.define_symbol %n as u0 in [0, 16] : tensor<f32>
  func.return
}

// -----

func.func @relation(%x: tensor<?xf32, #edge.layout<sizes = [s0 in [1, 512]]>>) {
  // expected-error @+1 {{expected one of eq, ne, lt, le}}
  flambeau.assert s0 > 2
  func.return
}

// -----

// expected-error @+1 {{flambeau.assert has no relation ">": it is one of eq, ne, lt, le}}
"flambeau.assert"() <{left = #flambeau.extent<s0 in [1, 2]>, relation = ">", right = #flambeau.extent<1>}> : () -> ()

// -----

func.func @value() -> i32 {
  // expected-error @+1 {{flambeau.value gives i64 or index, got i32}}
  %0 = flambeau.value 3 : i32
  func.return %0 : i32
}
