// RUN: flambeau-opt %s -p 'plan-memory{banks=tcm,dram pins=b:dram},verify-plan' | filecheck %s --check-prefixes CHECK,TENSOR
// RUN: flambeau-opt %s -p 'plan-memory{banks=tcm,dram pins=net.first:dram,net.first.linear:tcm},verify-plan' | filecheck %s --check-prefixes CHECK,MODULE
// RUN: flambeau-opt %s -p 'plan-memory{banks=tcm,dram pins=input:dram,total:tcm},verify-plan' | filecheck %s --check-prefixes CHECK,INPUT
// RUN: not flambeau-opt %s -p 'plan-memory{banks=tcm:80,dram pins=net:tcm}' 2>&1 | filecheck %s --check-prefix FULL
// RUN: not flambeau-opt %s -p 'plan-memory{banks=sram,dram pins=b:dran}' 2>&1 | filecheck %s --check-prefix BANK
// RUN: not flambeau-opt %s -p 'plan-memory{banks=sram,dram pins=net.lost:dram}' 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: not flambeau-opt %s -p 'plan-memory{banks=sram,dram pins=b}' 2>&1 | filecheck %s --check-prefix FORM
// RUN: not flambeau-opt %s -p 'plan-memory{pins=b:dram}' 2>&1 | filecheck %s --check-prefix NONE

// BANK: error: {{.*}}b cannot lie in a bank 'dran'; did you mean 'dram'?; the banks are sram, dram
// UNKNOWN: error: {{.*}}the pin of 'net.lost' names no tensor, state or module of the program; did you mean 'net.last'?
// FORM: error: {{.*}}a pin is a name and a bank, as conv1:sram; not 'b'
// NONE: error: {{.*}}b cannot lie in a bank 'dram'; there are no banks
// FULL: error: plan-memory: 2 tensors have no room in the banks of @traffic: tcm=144 would do, or fewer pins
// FULL: note: %a has 64 bytes; while it lives, 0 of the 80 bytes of tcm are free
// FULL: in net.first.linear
// FULL: note: %y has 64 bytes; while it lives, 0 of the 80 bytes of tcm are free

// A pin names a tensor, an input or output, a state, or a module with all modules in it; the last pin of a tensor counts.
// CHECK:  exec.method @traffic {{.*}}banks = ["tcm", "dram"]
// TENSOR:   %total = exec.state @own.total {arena = 1,
// TENSOR:   %x = exec.tensor {arena = 1,
// TENSOR:   %a = exec.tensor {arena = 1,
// TENSOR:   %b = exec.tensor {arena = 2, offset = 0}
// MODULE:   %x = exec.tensor {arena = 1,
// MODULE:   %a = exec.tensor {arena = 1,
// MODULE:   %b = exec.tensor {arena = 2,
// MODULE:   %y = exec.tensor {arena = 1,
// INPUT:    %total = exec.state @own.total {arena = 1,
// INPUT:    %x = exec.tensor {arena = 2,
// INPUT:    %a = exec.tensor {arena = 1,
ml_program.global private mutable @own.total : tensor<4xf32>
exec.method @traffic {input_names = ["input"]} {
  %total = exec.state @own.total {qualified_name = "total"} : tensor<4xf32>
  %x = exec.tensor : tensor<16xf32>
  %a = exec.tensor : tensor<16xf32> loc("net.first.linear")
  %b = exec.tensor : tensor<16xf32> loc("net.first")
  %y = exec.tensor : tensor<16xf32> loc("net.last")
  %one = exec.int 1
  exec.call "aten::relu.out"(%x) outs(%a)
  exec.call "aten::add.out"(%a, %x, %one) outs(%b)
  exec.call "aten::mul.out"(%b, %b) outs(%y)
  exec.return inputs(%x) outputs(%y)
}
