// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{the digest of blob 'w' must be 16 lower-case hexadecimal digits, not 'xyz'}}
ml_program.global private @w(#flambeau.blob<"w", "xyz">) : tensor<4xf32>

// -----

// expected-error @+1 {{the key of a blob must not be empty}}
ml_program.global private @w(#flambeau.blob<"", "0123456789abcdef">) : tensor<4xf32>

// -----

// expected-error @+1 {{#ml_program.blob}}
ml_program.global private @w(#ml_program.blob<"w", "0123456789abcdef">) : tensor<4xf32>
