// RUN: flambeau-opt %s | filecheck %s
// RUN: flambeau-opt %s | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | flambeau-opt | filecheck %s
// RUN: flambeau-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC

// As MLIR 19 writes it, without names.

// CHECK:      irdl.dialect @cplx {
// CHECK-NEXT:   irdl.type @complex {
// CHECK-NEXT:     %0 = irdl.is f32
// CHECK-NEXT:     %1 = irdl.is f64
// CHECK-NEXT:     %2 = irdl.any_of(%0, %1)
// CHECK-NEXT:     irdl.parameters(%2)
// CHECK-NEXT:   }
// CHECK-NEXT:   irdl.type @unit
// CHECK-NEXT:   irdl.attribute @pair {
// CHECK-NEXT:     %3 = irdl.any
// CHECK-NEXT:     %4 = irdl.base "!builtin.integer"
// CHECK-NEXT:     %5 = irdl.all_of(%3, %4)
// CHECK-NEXT:     irdl.parameters(%5, %3)
// CHECK-NEXT:   }
// CHECK-NEXT:   irdl.operation @mul {
// CHECK-NEXT:     %6 = irdl.any
// CHECK-NEXT:     %7 = irdl.parametric @cplx::@complex<%6>
// CHECK-NEXT:     irdl.operands(%7, optional %7, variadic %6)
// CHECK-NEXT:     irdl.results(%7)
// CHECK-NEXT:   }
// CHECK-NEXT:   irdl.operation @wrap attributes {since = 3 : i64} {
// CHECK-NEXT:     %8 = irdl.base @cplx::@pair
// CHECK-NEXT:     %9 = irdl.c_pred "true" {note = "unchecked"}
// CHECK-NEXT:     irdl.attributes {"pair" = %8, "other" = %9}
// CHECK-NEXT:     %10 = irdl.region
// CHECK-NEXT:     %11 = irdl.region()
// CHECK-NEXT:     %12 = irdl.region(%8, %9) with size 2
// CHECK-NEXT:     %13 = irdl.region with size 1
// CHECK-NEXT:     irdl.regions(%10, %11, %12, %13)
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC: "irdl.operands"(%{{.*}}) <{variadicity = #irdl<variadicity_array [single, optional, variadic]>}>
// GENERIC: "irdl.attributes"(%{{.*}}) <{attributeValueNames = ["pair", "other"]}>
// GENERIC: "irdl.region"() <{constrainedArguments}>
// GENERIC: "irdl.region"(%{{.*}}) <{constrainedArguments, numberOfBlocks = 2 : i32}>

irdl.dialect @cplx {
  irdl.type @complex {
    %0 = irdl.is f32
    %1 = irdl.is f64
    %2 = irdl.any_of(%0, %1)
    irdl.parameters(%2)
  }
  irdl.type @unit
  irdl.attribute @pair {
    %3 = irdl.any
    %4 = irdl.base "!builtin.integer"
    %5 = irdl.all_of(%3, %4)
    irdl.parameters(%5, %3)
  }
  irdl.operation @mul {
    %6 = irdl.any
    %7 = irdl.parametric @cplx::@complex<%6>
    irdl.operands(single %7, optional %7, variadic %6)
    irdl.results(%7)
  }
  irdl.operation @wrap attributes {since = 3 : i64} {
    %8 = irdl.base @cplx::@pair
    %9 = irdl.c_pred "true" {note = "unchecked"}
    irdl.attributes {"pair" = %8, "other" = %9}
    %10 = irdl.region
    %11 = irdl.region()
    %12 = irdl.region(%8, %9) with size 2
    %13 = irdl.region with size 1
    irdl.regions(%10, %11, %12, %13)
  }
}
