// RUN: mini-opt %s -p choose-schedule | filecheck %s
// RUN: mini-opt %s -p 'choose-schedule{forbid=panels,computed_panels}' | filecheck %s --check-prefix=FORBID
// RUN: mini-opt %s -p 'choose-schedule{pick="product:elements"}' | filecheck %s --check-prefix=PICK
// RUN: mini-opt %s -p 'choose-schedule{compact=true}' | filecheck %s --check-prefix=COMPACT
// RUN: mini-opt %s -p 'choose-schedule{forbid=winograd}' | filecheck %s --check-prefix=DIRECT
// RUN: mini-opt %s -p choose-schedule --explain 2>&1 | filecheck %s --check-prefix=EXPLAIN

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 512, registers = 32, l2 = 1048576, threads = 2>} {
  func.func @main() {
    func.return
  }

  // Two registers of 16 lanes by (32 - 3) / 2 rows. The residual is read where the result is written: it may be the same bytes.
  // CHECK: graph.kernel @matmul
  // CHECK-SAME: schedule = #kernel.schedule<"panels", {mr = 14, nr = 32, lanes = 16, inline = 1}>
  // CHECK-SAME: interface = #kernel.interface<inplace = {{\[\[}}2, 0]], strided_operands = [0, 2], strided_results = [0], packed = [1 : #kernel.packing<"panels", {nr = 32}>]>
  graph.kernel @matmul(%a: tensor<4x64xf32>, %w: tensor<64x32xf32>, %r: tensor<4x32xf32>) -> tensor<4x32xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %m = graph.matmul %a, %w : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
    %s = graph.add %m, %r : tensor<4x32xf32>
    graph.yield %s : tensor<4x32xf32>
  }

  // More rows than a few: each tile asks for the next panel, a cache line of 16 floats at a time.
  // CHECK: graph.kernel @more_rows
  // CHECK-SAME: inline = 1, prefetch = 16}>
  graph.kernel @more_rows(%a: tensor<9x64xf32>, %w: tensor<64x32xf32>) -> tensor<9x32xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %m = graph.matmul %a, %w : (tensor<9x64xf32>, tensor<64x32xf32>) -> tensor<9x32xf32>
    graph.yield %m : tensor<9x32xf32>
  }

  // A left-hand side that is larger than its weights: threads share out its 25 tiles, and each reads all weights.
  // CHECK: graph.kernel @tall
  // CHECK-SAME: schedule = #kernel.schedule<"panels_by_rows", {{.*}}prefetch = 16}>
  graph.kernel @tall(%a: tensor<350x64xf32>, %w: tensor<64x256xf32>) -> tensor<350x256xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %m = graph.matmul %a, %w : (tensor<350x64xf32>, tensor<64x256xf32>) -> tensor<350x256xf32>
    graph.yield %m : tensor<350x256xf32>
  }

  // Weights that are more than twice as large: threads share those out.
  // CHECK: graph.kernel @wide
  // CHECK-SAME: schedule = #kernel.schedule<"panels", {{.*}}prefetch = 16}>
  graph.kernel @wide(%a: tensor<350x64xf32>, %w: tensor<64x704xf32>) -> tensor<350x704xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %m = graph.matmul %a, %w : (tensor<350x64xf32>, tensor<64x704xf32>) -> tensor<350x704xf32>
    graph.yield %m : tensor<350x704xf32>
  }

  // A right-hand side that is computed is packed a panel at a time: 64 x 32 floats for each thread.
  // CHECK: graph.kernel @product
  // CHECK-SAME: schedule = #kernel.schedule<"computed_panels", {mr = 14, nr = 32, lanes = 16, inline = 1}>
  // CHECK-SAME: interface = #kernel.interface<strided_operands = [0, 1], strided_results = [0], per_thread = 8192>
  graph.kernel @product(%a: tensor<4x64xf32>, %b: tensor<64x32xf32>) -> tensor<4x32xf32> attributes {form = #kernel.form<"contraction">} {
    %m = graph.matmul %a, %b : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
    graph.yield %m : tensor<4x32xf32>
  }

  // Tiles of 4 are 16 to a picture, one block: too few to wait for filters that are 4 times as large as they were.
  // CHECK: graph.kernel @conv(
  // CHECK-SAME: schedule = #kernel.schedule<"winograd", {tile = 4, block = 16, mr = 14, nr = 32, panels = 1, lanes = 16, inline = 1, prefetch = 16, half = 1}>
  // CHECK-SAME: packed = [1 : #kernel.packing<"winograd", {nr = 32, tile = 4, panels = 1, half = 1}>], per_thread = {{[0-9]+}}, pieces = 1>
  // Tiles of 2 take little more time, and less memory.
  // COMPACT: graph.kernel @conv(
  // COMPACT-SAME: schedule = #kernel.schedule<"winograd", {tile = 2, block = 49,
  // DIRECT: graph.kernel @conv(
  // DIRECT-SAME: schedule = #kernel.schedule<"panels"
  graph.kernel @conv(%x: tensor<1x14x14x256xf32>, %w: tensor<256x256x3x3xf32>) -> tensor<1x14x14x256xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x14x14x256xf32>, tensor<256x256x3x3xf32>) -> tensor<1x14x14x256xf32>
    graph.yield %c : tensor<1x14x14x256xf32>
  }

  // A head's rows fit beside the next one's, which are asked for.
  // CHECK: graph.kernel @attention(
  // CHECK-SAME: schedule = #kernel.schedule<"attention", {mr = 14, nr = 32, lanes = 16, ahead = 1}>
  graph.kernel @attention(%q: tensor<1x4x512x64xf32>) -> tensor<1x4x512x64xf32> attributes {form = #kernel.form<"attention">} {
    %a = graph.attention %q, %q, %q {scale = 0.125 : f64} : (tensor<1x4x512x64xf32>, tensor<1x4x512x64xf32>, tensor<1x4x512x64xf32>) -> tensor<1x4x512x64xf32>
    graph.yield %a : tensor<1x4x512x64xf32>
  }

  // Its keys and values take half of the cache: they come in blocks.
  // CHECK: graph.kernel @long_attention(
  // CHECK-SAME: schedule = #kernel.schedule<"attention_blocks", {mr = 14, nr = 32, lanes = 16, block = 384, tall = 64}>
  graph.kernel @long_attention(%q: tensor<1x4x1024x64xf32>) -> tensor<1x4x1024x64xf32> attributes {form = #kernel.form<"attention">} {
    %a = graph.attention %q, %q, %q {scale = 0.125 : f64} : (tensor<1x4x1024x64xf32>, tensor<1x4x1024x64xf32>, tensor<1x4x1024x64xf32>) -> tensor<1x4x1024x64xf32>
    graph.yield %a : tensor<1x4x1024x64xf32>
  }
}

// FORBID: graph.kernel @matmul
// FORBID-SAME: schedule = #kernel.schedule<"rows_before_panels"
// FORBID: graph.kernel @product
// FORBID-SAME: schedule = #kernel.schedule<"elements">

// PICK: graph.kernel @matmul
// PICK-SAME: schedule = #kernel.schedule<"panels"
// PICK: graph.kernel @product
// PICK-SAME: schedule = #kernel.schedule<"elements">

// EXPLAIN: matmul {{.*}}contraction {{.*}}panels {{.*}}mr = 14, {{.*}}yes
// EXPLAIN: elements
// EXPLAIN: product {{.*}}contraction {{.*}}computed_panels
