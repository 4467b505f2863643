// RUN: flambeau-opt %s --print-debuginfo | filecheck %s
// RUN: flambeau-opt %s --print-debuginfo | flambeau-opt --print-debuginfo | filecheck %s

// CHECK: exec.method @m {arenas = [16]} {
exec.method @m {arenas = [16]} {
  // CHECK-NEXT: %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32> loc("layers.0"("model.py":12:3))
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32> loc("layers.0"("model.py":12:3))
  // CHECK-NEXT: %y = exec.reuse %x : tensor<4xf32> loc("layers.0"("model.py":12:3))
  %y = exec.reuse %x : tensor<4xf32> loc("layers.0"("model.py":12:3))
  // CHECK-NEXT: exec.call "aten::relu.out"(%x) outs(%y) loc("layers.0"("model.py":13:5))
  exec.call "aten::relu.out"(%x) outs(%y) loc("layers.0"("model.py":13:5))
  // CHECK-NEXT: exec.return inputs(%x) outputs(%y) loc("{{.*}}locations.mlir":{{[0-9]+}}:3)
  exec.return inputs(%x) outputs(%y)
  // CHECK-NEXT: } loc("model"("model.py":1:1))
} loc("model"("model.py":1:1))
