// RUN: flambeau-opt %s --print-debuginfo | filecheck %s
// RUN: flambeau-opt %s --print-debuginfo | flambeau-opt --print-debuginfo | filecheck %s
// RUN: flambeau-opt %s --print-debuginfo --print-op-generic | flambeau-opt --print-debuginfo | filecheck %s

// Locations as mlir-opt prints them: aliases are defined at the end of the text, one in terms of another.

#loc = loc(unknown)
module {
  // CHECK: func.func @f(%x: tensor<2xf32> loc("x")) -> tensor<2xf32> {
  func.func @f(%x: tensor<2xf32> loc(#loc3)) -> tensor<2xf32> {
    // CHECK-NEXT: core.relu{{.*}} loc("w"("m.py":1:2))
    %0 = "core.relu"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc(#loc5)
    // CHECK-NEXT: core.relu{{.*}} loc(fused["w"("m.py":1:2), "b.py":3:4])
    %1 = "core.relu"(%0) : (tensor<2xf32>) -> tensor<2xf32> loc(#loc6)
    // CHECK-NEXT: core.relu{{.*}} loc(fused<"a pass">["m.py":1:2])
    %2 = "core.relu"(%1) : (tensor<2xf32>) -> tensor<2xf32> loc(#loc7)
    // CHECK-NEXT: core.relu{{.*}} loc(callsite("b.py":3:4 at "w"("m.py":1:2)))
    %3 = "core.relu"(%2) : (tensor<2xf32>) -> tensor<2xf32> loc(callsite(#loc4 at #loc5))
    // CHECK-NEXT: core.relu{{.*}} loc("w"("m.py":1:2))
    %4 = "core.relu"(%3) : (tensor<2xf32>) -> tensor<2xf32> loc(#loc5)
    // CHECK-NEXT: core.full() {size = [2], fill_value = 1.0, dtype = f32}
    %5 = "core.full"() <{dtype = f32, fill_value = 1.0 : f64, size = array<i64: 2>}> : () -> tensor<2xf32> loc(#loc)
    return %4 : tensor<2xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc6 = loc(fused[#loc5, #loc4])
#loc2 = loc("m.py":1:2)
#loc3 = loc("x")
#loc4 = loc("b.py":3:4)
#loc5 = loc("w"(#loc2))
#loc7 = loc(fused<"a pass">[#loc2])
