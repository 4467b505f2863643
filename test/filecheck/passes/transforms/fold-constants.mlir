// RUN: flambeau-opt %s -p fold-constants,remove-dead-code | filecheck %s

// CHECK-DAG: ml_program.global private @w(#flambeau.blob<"w", "e2c0a71510b5394d">) : tensor<2x3xf32>
// CHECK-DAG: ml_program.global private @[[ADD:w.add]](#flambeau.blob<"w.add", "{{.*}}">) : tensor<3x2xf32>
ml_program.global private @w(#flambeau.blob<"w", "e2c0a71510b5394d">) : tensor<2x3xf32>
ml_program.global private @big(#flambeau.blob<"big", "f8c784aa6b57396e">) : tensor<20000xf32>

// The end of a chain is stored, not its middle.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    %[[C:.*]] = ml_program.global_load_const @[[ADD]] : tensor<3x2xf32>
// CHECK-NEXT:    core.add.Tensor(%x, %[[C]])
func.func @chain(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = ml_program.global_load_const @w : tensor<2x3xf32>
  %0 = core.permute(%w) {dims = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = core.add.Scalar(%0) {other = 1.0} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = core.add.Tensor(%x, %1) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %2 : tensor<3x2xf32>
}

// What depends on an input, on chance, or on state stays.
// CHECK-LABEL: func.func @stays
// CHECK:         core.mul.Tensor(%x, %w)
// CHECK:         core.rand
func.func @stays(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) {
  %w = ml_program.global_load_const @w : tensor<2x3xf32>
  %0 = core.mul.Tensor(%x, %w) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = core.rand() {size = [2]} : () -> tensor<2xf32>
  func.return %0, %1 : tensor<2x3xf32>, tensor<2xf32>
}

// A large result is stored only instead of the constants it comes from, not beside them.
// CHECK-LABEL: func.func @large
// CHECK:         core.neg
// CHECK-LABEL: func.func @broadcast
// CHECK:         core.full
func.func @large() -> (tensor<20000xf32>, tensor<20000xf32>) {
  %b = ml_program.global_load_const @big : tensor<20000xf32>
  %0 = core.neg(%b) : (tensor<20000xf32>) -> tensor<20000xf32>
  func.return %0, %b : tensor<20000xf32>, tensor<20000xf32>
}
func.func @broadcast() -> tensor<20000xf32> {
  %0 = core.full() {size = [20000], fill_value = 1.0, dtype = f32} : () -> tensor<20000xf32>
  func.return %0 : tensor<20000xf32>
}

// Every dtype can be stored.
// CHECK-LABEL: func.func @bfloat16
// CHECK-NEXT:    ml_program.global_load_const @constant.full_1 : tensor<2xbf16>
func.func @bfloat16() -> tensor<2xbf16> {
  %0 = core.full() {size = [2], fill_value = 1.0, dtype = bf16} : () -> tensor<2xbf16>
  func.return %0 : tensor<2xbf16>
}

// What has no result on these constants, or one whose shape its type does not say, is left to the run.
// CHECK-LABEL: func.func @no_result
// CHECK:         core.index_select
// CHECK:         core.nonzero
func.func @no_result() -> (tensor<2xf32>, tensor<?x1xi64>) {
  %0 = core.full() {size = [2], fill_value = 7, dtype = i64} : () -> tensor<2xi64>
  %1 = core.full() {size = [3], fill_value = 1.0, dtype = f32} : () -> tensor<3xf32>
  %2 = core.index_select(%1, %0) {dim = 0} : (tensor<3xf32>, tensor<2xi64>) -> tensor<2xf32>
  %3 = core.nonzero(%0) : (tensor<2xi64>) -> tensor<?x1xi64>
  func.return %2, %3 : tensor<2xf32>, tensor<?x1xi64>
}

// Nobody wants 4 TB.
// CHECK-LABEL: func.func @huge
// CHECK:         core.full
func.func @huge() -> tensor<f32> {
  %0 = core.full() {size = [1000000, 1000000], fill_value = 1.0, dtype = f32} : () -> tensor<1000000x1000000xf32>
  %1 = core.sum.dim_IntList(%0) {dim = [0, 1]} : (tensor<1000000x1000000xf32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}

// A name that something else than a global has is taken too.
// CHECK-LABEL: func.func @constant.full()
// CHECK:         ml_program.global_load_const @constant.full_4
func.func @constant.full() -> tensor<2xf32> {
  %0 = core.full() {size = [2], fill_value = 3.0, dtype = f32} : () -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// A choice that is the same for all elements is one of the two, if that has the type of the result.
// CHECK-LABEL: func.func @choices
// CHECK-NEXT:    ml_program.global_load_const @constant.full
// CHECK-NEXT:    %[[WIDE:.*]] = core.where.self(%{{.*}}, %one, %x)
// CHECK-NEXT:    func.return %x, %y, %[[WIDE]]
func.func @choices(%x: tensor<2xf32>, %y: tensor<2xf32>, %one: tensor<1xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = core.full() {size = [2], fill_value = true, dtype = i1} : () -> tensor<2xi1>
  %1 = core.logical_not(%0) : (tensor<2xi1>) -> tensor<2xi1>
  %2 = core.where.self(%0, %x, %y) : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = core.where.self(%1, %2, %y) : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = core.where.self(%0, %one, %x) : (tensor<2xi1>, tensor<1xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %2, %3, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// A bias of int32 becomes floats, which take no more bytes; weights of int8 stay.
// CHECK-LABEL: func.func @biases
// CHECK:         quantized_decomposed.dequantize_per_channel({{.*}}tensor<2x2xi8>
// CHECK-NOT:     quantized_decomposed.dequantize_per_channel
// CHECK:         ml_program.global_load_const @{{.*}}dequantize_per_channel{{.*}} : tensor<2xf32>
func.func @biases(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %0 = core.full() {size = [2, 2], fill_value = 3, dtype = i8} : () -> tensor<2x2xi8>
  %1 = core.full() {size = [2], fill_value = 1000, dtype = i32} : () -> tensor<2xi32>
  %2 = core.full() {size = [2], fill_value = 0.5, dtype = f32} : () -> tensor<2xf32>
  %3 = core.full() {size = [2], fill_value = 0, dtype = i64} : () -> tensor<2xi64>
  %4 = quantized_decomposed.dequantize_per_channel(%0, %2, %3) {axis = 0, quant_min = -127, quant_max = 127, dtype = i8} : (tensor<2x2xi8>, tensor<2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %5 = quantized_decomposed.dequantize_per_channel(%1, %2, %3) {axis = 0, quant_min = -2147483648, quant_max = 2147483647, dtype = i32} : (tensor<2xi32>, tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
  %6 = core.linear(%x, %4, %5) : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  func.return %6 : tensor<1x2xf32>
}

// Attention whose mask lets all keys through, or adds nothing, has no mask.
// CHECK-LABEL: func.func @masks
// CHECK:         core.scaled_dot_product_attention(%x, %x, %x, none)
// CHECK-NEXT:    core.scaled_dot_product_attention(%x, %x, %x, none)
// CHECK-NEXT:    core.scaled_dot_product_attention(%x, %x, %x, %{{.*}})
func.func @masks(%x: tensor<1x2x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) {
  %0 = core.full() {size = [2, 2], fill_value = true, dtype = i1} : () -> tensor<2x2xi1>
  %1 = core.full() {size = [2, 2], fill_value = 0, dtype = f32} : () -> tensor<2x2xf32>
  %2 = core.full() {size = [2, 2], fill_value = 1, dtype = f32} : () -> tensor<2x2xf32>
  %3 = core.scaled_dot_product_attention(%x, %x, %x, %0) {} : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<2x2xi1>) -> tensor<1x2x4xf32>
  %4 = core.scaled_dot_product_attention(%x, %x, %x, %1) {} : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<2x2xf32>) -> tensor<1x2x4xf32>
  %5 = core.scaled_dot_product_attention(%x, %x, %x, %2) {} : (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<2x2xf32>) -> tensor<1x2x4xf32>
  func.return %3, %4, %5 : tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>
}
