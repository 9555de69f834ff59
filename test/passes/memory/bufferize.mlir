// RUN: mini-opt %s -p bufferize | filecheck %s
// RUN: mini-opt %s -p 'bufferize{inplace=false}' | filecheck %s --check-prefix=APART

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 524288, threads = 3>} {
  graph.kernel @product(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> attributes {interface = #kernel.interface<scratch = 100, per_thread = 64>} {
    %r = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  graph.kernel @relu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
    %r = graph.relu %x : tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }

  // Results come last among the arguments, under the names they had.
  // CHECK:      func.func @main(%x: memref<4x8xf32> {graph.name = "x", graph.role = "input"},
  // CHECK-SAME:   %y: memref<4x8xf32> {graph.name = "y", graph.role = "output"},
  // CHECK-SAME:   %flat: memref<32xf32> {graph.name = "flat", graph.role = "output"},
  // CHECK-SAME:   %same: memref<4x8xf32> {graph.name = "same", graph.role = "output"},
  // CHECK-SAME:   %again: memref<4x8xf32> {graph.name = "again", graph.role = "output"}) {
  func.func @main(%x: tensor<4x8xf32> {graph.name = "x"}) -> (tensor<4x8xf32> {graph.name = "y"}, tensor<32xf32> {graph.name = "flat"}, tensor<4x8xf32> {graph.name = "same"}, tensor<4x8xf32> {graph.name = "again"}) {
    // CHECK-NEXT: %w = kernel.weight #graph.blob<"m.onnx", 0, 256, "d"> : memref<8x8xf32>
    %w = graph.weight #graph.blob<"m.onnx", 0, 256, "d"> : tensor<8x8xf32>
    // 100 bytes for all and 64 for each of 3 threads. What is returned two calls later is made in place from here on.
    // CHECK-NEXT: %[[S:.*]] = memref.alloc() {kernel.scratch, name = "gemm1"} : memref<292xi8>
    // CHECK-NEXT: kernel.call @product ins(%x, %w : memref<4x8xf32>, memref<8x8xf32>) outs(%y : memref<4x8xf32>) scratch(%[[S]] : memref<292xi8>)
    // CHECK-NEXT: kernel.call @relu ins(%y : memref<4x8xf32>) outs(%y : memref<4x8xf32>)
    // APART:      %a = memref.alloc() {name = "gemm1"} : memref<4x8xf32>
    // APART:      kernel.call @product ins(%x, %w : memref<4x8xf32>, memref<8x8xf32>) outs(%a : memref<4x8xf32>)
    // APART:      kernel.call @relu ins(%a : memref<4x8xf32>) outs(%y : memref<4x8xf32>)
    %a = graph.call @product(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("gemm1")
    %b = graph.call @relu(%a) {inplace = [[0, 0]]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    // A reshape is a copy at first.
    // CHECK-NEXT: kernel.call @copy_0 ins(%y : memref<4x8xf32>) outs(%flat : memref<32xf32>)
    %c = graph.reshape %b {shape = array<i64: 32>} : (tensor<4x8xf32>) -> tensor<32xf32>
    // An input that is returned, and a value that is returned twice, are copied.
    // CHECK-NEXT: kernel.call @copy_1 ins(%x : memref<4x8xf32>) outs(%same : memref<4x8xf32>)
    // CHECK-NEXT: kernel.call @copy_1 ins(%y : memref<4x8xf32>) outs(%again : memref<4x8xf32>)
    // CHECK-NEXT: func.return
    func.return %b, %c, %x, %b : tensor<4x8xf32>, tensor<32xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  }

  // CHECK:      graph.kernel @copy_0(%{{.*}}: tensor<4x8xf32>) -> tensor<32xf32> attributes {form = #kernel.form<"map">, schedule =
  // CHECK-NEXT:   graph.reshape
  // CHECK:      graph.kernel @copy_1(%[[V:.*]]: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {form = #kernel.form<"map">, schedule =
  // CHECK-NEXT:   graph.yield %[[V]]
}
