// A constant matrix for tensor cores is rounded when it is packed: to 16 bits here.
// RUN: mini-opt %s -p form-kernels,choose-schedule,pack-weights | filecheck %s

builtin.module attributes {kernel.target = #kernel.gpu<"sm_80" computing "bf16">} {
  func.func @main(%x: tensor<128x256xf32> {graph.name = "x"}) -> (tensor<128x512xf32> {graph.name = "y"}) {
    %w = graph.constant dense<1.5> : tensor<256x512xf32>
    %y = graph.matmul %x, %w : (tensor<128x256xf32>, tensor<256x512xf32>) -> tensor<128x512xf32>
    func.return %y : tensor<128x512xf32>
  }
}

// CHECK-LABEL: func.func @main
// CHECK:         %[[W:.*]] = graph.weight {{.*}} : tensor<256x512xbf16>
// CHECK:         graph.call @matmul_0(%x, %[[W]])
// CHECK:       graph.kernel @matmul_0({{.*}} schedule = #kernel.schedule<"mma", {{.*}}bf16 = 1
// CHECK-NEXT:    graph.unpack %{{.*}} {packing = #kernel.packing<"matrices", {bf16 = 1}>, shape = array<i64: 256, 512>}
