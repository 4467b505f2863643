// flambeau-opt -p 'apply-pdl-patterns'
pdl.pattern @double : benefit(1) {
  %a = pdl.operand
  %type = pdl.type
  %sum = pdl.operation "core.add.Tensor" (%a, %a : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %sum {
    %two = pdl.attribute = 2 : i64
    %product = pdl.operation "core.mul.Scalar" (%a : !pdl.value) {"other" = %two}
    pdl.replace %sum with %product
  }
}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = core.add.Tensor(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

pdl.pattern @double : benefit(1) {
  %a = pdl.operand
  %type = pdl.type
  %sum = pdl.operation "core.add.Tensor" (%a, %a : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %sum {
    %two = pdl.attribute = 2 : i64
    %product = pdl.operation "core.mul.Scalar" (%a : !pdl.value) {"other" = %two}
    pdl.replace %sum with  %product
  }
}
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = core.mul.Scalar(%x) {other = 2} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
