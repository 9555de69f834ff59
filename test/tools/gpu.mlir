// RUN: mini-opt %s --gpu sm_90a --to arena | filecheck %s --check-prefix=TARGET
// RUN: mini-opt %s --gpu sm_90a --precision tf32 --to kernels | filecheck %s --check-prefix=PRECISION
// RUN: mini-opt %s --gpu sm_90a --precision bf16 -p cse | filecheck %s --check-prefix=PASSES
// RUN: mini-opt %s --gpu sm_80 --to launches | filecheck %s --check-prefix=LEVEL
// RUN: mini-opt %s --gpu sm_80 -t launches | filecheck %s --check-prefix=TABLE
// RUN: mini-opt %s --gpu sm_80 -t cuda | filecheck %s --check-prefix=TEXT
// RUN: not mini-opt %s -t launches 2>&1 | filecheck %s --check-prefix=CPU
// RUN: not mini-opt %s --gpu sm_80 -t asm 2>&1 | filecheck %s --check-prefix=ASM
// RUN: not mini-opt %s --gpu sm_20 -t cuda 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not mini-opt %s --gpu sm_80 --precision fp8 --to kernels 2>&1 | filecheck %s --check-prefix=WRONG
// RUN: not mini-opt %s --precision tf32 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: mini-opt %s --gpu sm_90a --to kernels | mini-opt --gpu sm_90a --to launches | filecheck %s --check-prefix=AGAIN
// RUN: mini-opt %s --gpu sm_90a --to kernels | not mini-opt --gpu sm_80 --to launches 2>&1 | filecheck %s --check-prefix=LATE
// RUN: not mini-opt %s --gpu sm_80 --host 2>&1 | filecheck %s --check-prefix=BOTH

// Code is made for the GPU that is named, and none is needed.
// TARGET:    kernel.target = #kernel.gpu<"sm_90a", multiprocessors = 132{{.*}}mini_infer.level = "arena"
// PRECISION: kernel.target = #kernel.gpu<"sm_90a" computing "tf32"
// PASSES:    kernel.target = #kernel.gpu<"sm_90a" computing "bf16"
// LEVEL:     kernel.target = #kernel.gpu<"sm_80"{{.*}}mini_infer.level = "launches"
// LEVEL:     gpu.launch_func
// TEXT:      extern "C" __global__

// Buffers lie so many bytes behind what main is given.
// TABLE:      kernel {{ *}}grid  block  shared  arguments {{ *}}nodes
// TABLE-NEXT: 0  {{[a-z_0-9]+ +[0-9]+ +[0-9]+ +0}}  x+0, y+0,

// CPU:     error: only a GPU's modules have a launches level; --gpu NAME makes code for one
// ASM:     error: there is no level llvm for this module's device, which has graph, kernels, buffers, arena, launches
// UNKNOWN: error: there is no GPU architecture 'sm_20'; there are sm_80, sm_90a, sm_100a
// WRONG:   error: there is no precision 'fp8'; there are fp32, tf32, 3xtf32, fp16, bf16
// ALONE:   error: --precision tf32 is for a GPU; --gpu NAME says which
// AGAIN:   gpu.launch_func
// LATE:    error: --gpu is decided above the kernels level; the module is at the kernels level, for sm_90a in fp32
// BOTH:    error: --gpu and --host or --cpu exclude each other
func.func @main(%x: tensor<4x8xf32> {graph.name = "x"}, %y: tensor<4x8xf32> {graph.name = "y"})
    -> (tensor<4x8xf32> {graph.name = "z"}) {
  %s = graph.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = graph.softmax %s {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %z : tensor<4x8xf32>
}
