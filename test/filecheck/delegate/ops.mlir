// RUN: flambeau-opt %s | filecheck %s
// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt | filecheck %s

// CHECK: delegate.partition @p0 backend "XnnpackBackend" {mode = "fast"} (%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>) attributes {note = 1 : i64} {
// CHECK-NEXT: delegate.return %b : tensor<2xf32>
delegate.partition @p0 backend "XnnpackBackend" {mode = "fast"} (%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>) attributes {note = 1 : i64} {
  delegate.return %b : tensor<2xf32>
}

// CHECK: delegate.partition @nothing backend "B" () -> () {
// CHECK-NEXT: delegate.return
delegate.partition @nothing backend "B" () -> () {
  delegate.return
}

// CHECK: delegate.payload @p1 backend "B" {key = #flambeau.blob<"key", "00000000000000aa">} (#flambeau.blob<"p1", "0123456789abcdef">) : (tensor<2xf32>) -> tensor<2xf32>
delegate.payload @p1 backend "B" {key = #flambeau.blob<"key", "00000000000000aa">} (#flambeau.blob<"p1", "0123456789abcdef">) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: delegate.payload @p2 backend "B" (#flambeau.blob<"p1", "0123456789abcdef">) attributes {note}
delegate.payload @p2 backend "B" (#flambeau.blob<"p1", "0123456789abcdef">) attributes {note}

func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: %0 = delegate.call @p0(%x, %x) {note} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %0 = delegate.call @p0(%x, %x) {note} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %1 = delegate.call @p1(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = delegate.call @p1(%0) : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: delegate.call @nothing() : () -> ()
  delegate.call @nothing() : () -> ()
  func.return %1 : tensor<2xf32>
}

// RUN: flambeau-opt %s --print-debuginfo | flambeau-opt --print-debuginfo | filecheck %s --check-prefix LOC

// Arguments keep their locations.
// LOC: delegate.partition @located backend "B" (%a: tensor<2xf32> loc("x":1:2)) -> (tensor<2xf32>)
delegate.partition @located backend "B" (%a: tensor<2xf32> loc("x":1:2)) -> (tensor<2xf32>) {
  delegate.return %a : tensor<2xf32>
}
