// What a module is for decides which levels it goes through, and what may be asked of it.
// RUN: mini-opt %s --to launches | filecheck %s
// RUN: not mini-opt %s --to loops 2>&1 | filecheck %s --check-prefix PATH
// RUN: not mini-opt %s -p 'form-kernels,choose-schedule,bufferize,plan-arena,place-weights,lower-kernels' 2>&1 | filecheck %s --check-prefix CODE

// CHECK: mini_infer.level = "launches"
// PATH: mini-opt: error: there is no level loops for this module's device, which has graph, kernels, buffers, arena, launches
// CODE: mini-opt: error: the module is for #kernel.gpu<"sm_80", {{.*}}>; these passes are for CPUs only
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = graph.relu %x : tensor<4xf32>
    func.return %y : tensor<4xf32>
  }
}
