#a = {x = 1 : i32}
!t = tensor<2xf32>
#l = loc("a.py":1:1)
"x.y"() {a = #a} : () -> !t loc(#l)
// -----
%0:2 = "x.y"() <{p = [unit]}> ({
^bb0(%a : i32 loc("q"), %b : f32):
  "x.z"(%a)[^bb1] : (i32) -> ()
^bb1:
  "x.w"() : () -> ()
}, {
}) : () -> (i32, f32)
"x.u"(%0#1, %0#0) : (f32, i32) -> ()
// -----
func.func @f(%a : i32) -> i32 {
  cf.br ^a(%a : i32)
^a(%b : i32):
  %c = arith.addi %b, %b : i32
  %d = arith.cmpi slt, %c, %b : i32
  cf.cond_br %d, ^a(%c : i32), ^b
^b:
  func.return %c : i32
}
func.func private @g(i32) -> i32
// -----
func.func @f(%a : memref<4x?xf32, strided<[?, 1], offset: 3>>, %n : index) -> f32 {
  %z = arith.constant 0.0 : f32
  %s = scf.for %i = %n to %n step %n iter_args(%x = %z) -> (f32) {
    %v = memref.load %a[%i, %i] : memref<4x?xf32, strided<[?, 1], offset: 3>>
    %w = arith.addf %x, %v : f32
    scf.yield %w : f32
  }
  func.return %s : f32
}
// -----
%c = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
%d = arith.constant dense<"0x01020304"> : tensor<4xi8>
%e = arith.constant dense_resource<w> : tensor<1xf32>
{-# dialect_resources: { builtin: { w: "0x040000000000803F" } } #-}
// -----
"x.y"() {
  m = affine_map<(d0, d1)[s0] -> (d0 * 2 + s0, (d1 floordiv 4) mod 3)>,
  s = affine_set<(d0) : (d0 >= 0, d0 - 4 == 0)>
} : () -> ()
