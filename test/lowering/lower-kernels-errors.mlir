// What the code families can't write; choose-schedule and pack-weights never lead there.
// RUN: mini-opt %s -p lower-kernels --split-input-file --verify-diagnostics

// expected-error @unknown {{lower-kernels: the module has no function @main}}
func.func @other() {
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @k: no schedule; run choose-schedule first}}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.relu %x : tensor<4xf32>
  graph.yield %y : tensor<4xf32>
}
func.func @main(%x: memref<4xf32>) {
  kernel.call @k ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) loc("relu")
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @kernel_k: 2 checks, but a status memref<1xi64>; see insert-checks}}
graph.kernel @k(%x: tensor<4x4xf32>, %i: tensor<3x2xi64>) -> tensor<3xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
  %y = graph.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<4x4xf32>, tensor<3x2xi64>) -> tensor<3xf32>
  graph.yield %y : tensor<3xf32>
}
func.func @main(%x: memref<4x4xf32>, %i: memref<3x2xi64>, %y: memref<3xf32>, %s: memref<1xi64>) {
  kernel.call @k ins(%x, %i : memref<4x4xf32>, memref<3x2xi64>) outs(%y : memref<3xf32>) status(%s : memref<1xi64>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @k: there is no schedule 'magic' for cpu}}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {schedule = #kernel.schedule<"magic">, interface = #kernel.interface<>} {
  %y = graph.relu %x : tensor<4xf32>
  graph.yield %y : tensor<4xf32>
}
func.func @main(%x: memref<4xf32>) {
  kernel.call @k ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  func.return
}

// -----

// expected-error @unknown {{product (graph.matmul): its weight is not packed; run pack-weights first}}
graph.kernel @k(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"panels", {nr = 8}>]>} {
  %y = graph.matmul %x, %w : tensor<4x4xf32> loc("product")
  graph.yield %y : tensor<4x4xf32>
}
func.func @main(%x: memref<4x4xf32>, %w: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.call @k ins(%x, %w : memref<4x4xf32>, memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.conv: its weight is not packed; run pack-weights first}}
graph.kernel @k(%x: tensor<1x4x4x8xf32>, %w: tensor<8x1x3x3xf32>) -> tensor<1x2x2x8xf32> attributes {schedule = #kernel.schedule<"depthwise", {tile_rows = 1, tile_columns = 2, lanes = 4, chunks = 1, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"depthwise", {nr = 4}>]>} {
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 8 : i64, layout = "NHWC"} : (tensor<1x4x4x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x2x2x8xf32>
  graph.yield %y : tensor<1x2x2x8xf32>
}
func.func @main(%x: memref<1x4x4x8xf32>, %w: memref<8x1x3x3xf32>, %y: memref<1x2x2x8xf32>) {
  kernel.call @k ins(%x, %w : memref<1x4x4x8xf32>, memref<8x1x3x3xf32>) outs(%y : memref<1x2x2x8xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @k: the schedule 'panels' needs a number 'nr'}}
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4}>, interface = #kernel.interface<>} {
  %y = graph.matmul %x, %x : tensor<4x4xf32>
  graph.yield %y : tensor<4x4xf32>
}
func.func @main(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.call @k ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @k: 0 roots in one contraction}}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<>} {
  %y = graph.relu %x : tensor<4xf32>
  graph.yield %y : tensor<4xf32>
}
func.func @main(%x: memref<4xf32>) {
  kernel.call @k ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  func.return
}

// -----

// expected-error @unknown {{wide (graph.broadcast_to): cannot be fused into a contraction}}
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<2x4x4xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<>} {
  %y = graph.matmul %x, %x : tensor<4x4xf32>
  %z = graph.broadcast_to %y {shape = array<i64: 2, 4, 4>} : (tensor<4x4xf32>) -> tensor<2x4x4xf32> loc("wide")
  graph.yield %z : tensor<2x4x4xf32>
}
func.func @main(%x: memref<4x4xf32>, %y: memref<2x4x4xf32>) {
  kernel.call @k ins(%x : memref<4x4xf32>) outs(%y : memref<2x4x4xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @kernel_k: an operand is not a strided view of an argument}}
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {schedule = #kernel.schedule<"computed_panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<>} {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.reshape %0 {shape = array<i64: 2, 8>} : (tensor<4x4xf32>) -> tensor<2x8xf32>
  %2 = graph.reshape %1 {shape = array<i64: 4, 4>} : (tensor<2x8xf32>) -> tensor<4x4xf32>
  %y = graph.matmul %2, %x : tensor<4x4xf32>
  graph.yield %y : tensor<4x4xf32>
}
func.func @main(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.call @k ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @kernel_k: its code can't read a value computed in the body}}
graph.kernel @k(%x: tensor<1x4x4xf32>, %p: tensor<1x1x4x8xf32>) -> tensor<1x4x8xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"conv_panels", {nr = 8}>]>} {
  %w = graph.unpack %p {packing = #kernel.packing<"conv_panels", {nr = 8}>, shape = array<i64: 8, 4, 1>} : (tensor<1x1x4x8xf32>) -> tensor<8x4x1xf32>
  %b = graph.constant dense<1.0> : tensor<8xf32>
  %y = graph.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x4x4xf32>, tensor<8x4x1xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
  graph.yield %y : tensor<1x4x8xf32>
}
func.func @main(%x: memref<1x4x4xf32>, %w: memref<1x1x4x8xf32>, %y: memref<1x4x8xf32>) {
  kernel.call @k ins(%x, %w : memref<1x4x4xf32>, memref<1x1x4x8xf32>) outs(%y : memref<1x4x8xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel: only a transpose and a cast can follow attention in its kernel}}
graph.kernel @k(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> attributes {schedule = #kernel.schedule<"attention", {mr = 6, nr = 8, lanes = 4}>, interface = #kernel.interface<>} {
  %a = graph.attention %x, %x, %x {scale = 0.5 : f64} : tensor<1x1x4x4xf32>
  %y = graph.relu %a : tensor<1x1x4x4xf32>
  graph.yield %y : tensor<1x1x4x4xf32>
}
func.func @main(%x: memref<1x1x4x4xf32>, %y: memref<1x1x4x4xf32>) {
  kernel.call @k ins(%x : memref<1x1x4x4xf32>) outs(%y : memref<1x1x4x4xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel: a kernel of this family holds one graph.lrn and nothing else}}
graph.kernel @k(%x: tensor<4x6xf32>) -> tensor<4x6xf32> attributes {schedule = #kernel.schedule<"lrn", {vector = 8}>, interface = #kernel.interface<per_thread = 64>} {
  %0 = graph.relu %x : tensor<4x6xf32>
  %y = graph.lrn %0 {size = 3 : i64, alpha = 0.1 : f64, beta = 0.75 : f64, bias = 1.0 : f64, layout = "NHWC"} : tensor<4x6xf32>
  graph.yield %y : tensor<4x6xf32>
}
func.func @main(%x: memref<4x6xf32>, %y: memref<4x6xf32>) {
  kernel.call @k ins(%x : memref<4x6xf32>) outs(%y : memref<4x6xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.conv: a group of 1 channels and 8 filters does not fit a register of 4}}
graph.kernel @k(%x: tensor<1x4x4x2xf32>, %p: tensor<4x9x4xf32>) -> tensor<1x2x2x16xf32> attributes {schedule = #kernel.schedule<"depthwise", {tile_rows = 1, tile_columns = 2, lanes = 4, chunks = 1, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"depthwise", {nr = 4}>]>} {
  %w = graph.unpack %p {packing = #kernel.packing<"depthwise", {nr = 4}>, shape = array<i64: 16, 1, 3, 3>} : (tensor<4x9x4xf32>) -> tensor<16x1x3x3xf32>
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64, layout = "NHWC"} : (tensor<1x4x4x2xf32>, tensor<16x1x3x3xf32>) -> tensor<1x2x2x16xf32>
  graph.yield %y : tensor<1x2x2x16xf32>
}
func.func @main(%x: memref<1x4x4x2xf32>, %p: memref<4x9x4xf32>, %y: memref<1x2x2x16xf32>) {
  kernel.call @k ins(%x, %p : memref<1x4x4x2xf32>, memref<4x9x4xf32>) outs(%y : memref<1x2x2x16xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @kernel_k: its code can't read a value computed in the body}}
graph.kernel @k(%x: tensor<1x4x4x8xf32>, %p: tensor<2x9x4xf32>) -> tensor<1x2x2x8xf32> attributes {schedule = #kernel.schedule<"depthwise", {tile_rows = 1, tile_columns = 2, lanes = 4, chunks = 1, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"depthwise", {nr = 4}>]>} {
  %b = graph.constant dense<1.0> : tensor<8xf32>
  %w = graph.unpack %p {packing = #kernel.packing<"depthwise", {nr = 4}>, shape = array<i64: 8, 1, 3, 3>} : (tensor<2x9x4xf32>) -> tensor<8x1x3x3xf32>
  %y = graph.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 8 : i64, layout = "NHWC"} : (tensor<1x4x4x8xf32>, tensor<8x1x3x3xf32>, tensor<8xf32>) -> tensor<1x2x2x8xf32>
  graph.yield %y : tensor<1x2x2x8xf32>
}
func.func @main(%x: memref<1x4x4x8xf32>, %w: memref<2x9x4xf32>, %y: memref<1x2x2x8xf32>) {
  kernel.call @k ins(%x, %w : memref<1x4x4x8xf32>, memref<2x9x4xf32>) outs(%y : memref<1x2x2x8xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @k: the schedule 'panels' has nr = 0; it must be at least 1}}
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4, nr = 0, lanes = 4, inline = 1}>, interface = #kernel.interface<>} {
  %y = graph.matmul %x, %x : tensor<4x4xf32>
  graph.yield %y : tensor<4x4xf32>
}
func.func @main(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.call @k ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @k: the schedule 'panels' has lanes = 99999999999; it must be at most 1024}}
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4, nr = 8, lanes = 99999999999, inline = 1}>, interface = #kernel.interface<>} {
  %y = graph.matmul %x, %x : tensor<4x4xf32>
  graph.yield %y : tensor<4x4xf32>
}
func.func @main(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.call @k ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @k: the schedule 'panels' has prefetch = -1; it must be at least 0}}
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4, nr = 8, lanes = 4, inline = 1, prefetch = -1}>, interface = #kernel.interface<>} {
  %y = graph.matmul %x, %x : tensor<4x4xf32>
  graph.yield %y : tensor<4x4xf32>
}
func.func @main(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.call @k ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @k: the schedule 'panels' has inline = 2; it must be at most 1}}
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4, nr = 8, lanes = 4, inline = 2}>, interface = #kernel.interface<>} {
  %y = graph.matmul %x, %x : tensor<4x4xf32>
  graph.yield %y : tensor<4x4xf32>
}
func.func @main(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.call @k ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @k: the schedule 'panels' has no option 'height'; it has mr, nr, lanes, inline, prefetch}}
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {schedule = #kernel.schedule<"panels", {height = 3}>, interface = #kernel.interface<>} {
  %y = graph.matmul %x, %x : tensor<4x4xf32>
  graph.yield %y : tensor<4x4xf32>
}
func.func @main(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.call @k ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @k: the schedule 'elements' has no option 'mr'; it has none}}
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {schedule = #kernel.schedule<"elements", {mr = 3}>, interface = #kernel.interface<>} {
  %y = graph.matmul %x, %x : tensor<4x4xf32>
  graph.yield %y : tensor<4x4xf32>
}
func.func @main(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.call @k ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @k: its body is not that of a row kernel}}
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {schedule = #kernel.schedule<"rows", {lanes = 4, vector = 16}>, interface = #kernel.interface<>} {
  %y = graph.matmul %x, %x : tensor<4x4xf32>
  graph.yield %y : tensor<4x4xf32>
}
func.func @main(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.call @k ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  func.return
}

// -----

// expected-error @unknown {{graph.kernel @kernel_k: scratch 'panel' ends at byte 128, but the interface asks for 64}}
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {schedule = #kernel.schedule<"computed_panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<per_thread = 64>} {
  %y = graph.matmul %x, %x : tensor<4x4xf32>
  graph.yield %y : tensor<4x4xf32>
}
func.func @main(%x: memref<4x4xf32>, %y: memref<4x4xf32>, %s: memref<64xi8>) {
  kernel.call @k ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>) scratch(%s : memref<64xi8>)
  func.return
}

// -----

// expected-error @unknown {{product (graph.matmul): the schedule 'panels' is for contractions of another kind}}
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<>} {
  %y = graph.matmul %x, %x : tensor<4x4xf32> loc("product")
  graph.yield %y : tensor<4x4xf32>
}
func.func @main(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.call @k ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  func.return
}

// -----

// expected-error @unknown {{product (graph.matmul): the schedule 'rows_before_panels' is for contractions of another kind}}
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {schedule = #kernel.schedule<"rows_before_panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<>} {
  %y = graph.matmul %x, %x : tensor<4x4xf32> loc("product")
  graph.yield %y : tensor<4x4xf32>
}
func.func @main(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  kernel.call @k ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  func.return
}

// -----

// expected-error @unknown {{product (graph.matmul): the schedule 'panels' is for contractions of another kind}}
graph.kernel @k(%x: tensor<4x4xf32>, %p: tensor<1x4x8xf32>) -> tensor<4x8xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"panels", {nr = 8}>]>} {
  %r = graph.relu %x : tensor<4x4xf32>
  %w = graph.unpack %p {packing = #kernel.packing<"panels", {nr = 8}>, shape = array<i64: 4, 8>} : (tensor<1x4x8xf32>) -> tensor<4x8xf32>
  %y = graph.matmul %r, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("product")
  graph.yield %y : tensor<4x8xf32>
}
func.func @main(%x: memref<4x4xf32>, %w: memref<1x4x8xf32>, %y: memref<4x8xf32>) {
  kernel.call @k ins(%x, %w : memref<4x4xf32>, memref<1x4x8xf32>) outs(%y : memref<4x8xf32>)
  func.return
}

// -----

// expected-error @unknown {{product (graph.matmul): the schedule 'computed_panels' is for contractions of another kind}}
graph.kernel @k(%x: tensor<4x4xf32>, %p: tensor<1x4x8xf32>) -> tensor<4x8xf32> attributes {schedule = #kernel.schedule<"computed_panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"panels", {nr = 8}>]>} {
  %r = graph.relu %x : tensor<4x4xf32>
  %w = graph.unpack %p {packing = #kernel.packing<"panels", {nr = 8}>, shape = array<i64: 4, 8>} : (tensor<1x4x8xf32>) -> tensor<4x8xf32>
  %y = graph.matmul %r, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("product")
  graph.yield %y : tensor<4x8xf32>
}
func.func @main(%x: memref<4x4xf32>, %w: memref<1x4x8xf32>, %y: memref<4x8xf32>) {
  kernel.call @k ins(%x, %w : memref<4x4xf32>, memref<1x4x8xf32>) outs(%y : memref<4x8xf32>)
  func.return
}

// -----

// expected-error @unknown {{product (graph.matmul): the schedule 'pooled_panels' is for contractions of another kind}}
graph.kernel @k(%x: tensor<4x4xf32>, %p: tensor<1x4x8xf32>) -> tensor<4x8xf32> attributes {schedule = #kernel.schedule<"pooled_panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"panels", {nr = 8}>]>} {
  %r = graph.relu %x : tensor<4x4xf32>
  %w = graph.unpack %p {packing = #kernel.packing<"panels", {nr = 8}>, shape = array<i64: 4, 8>} : (tensor<1x4x8xf32>) -> tensor<4x8xf32>
  %y = graph.matmul %r, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("product")
  graph.yield %y : tensor<4x8xf32>
}
func.func @main(%x: memref<4x4xf32>, %w: memref<1x4x8xf32>, %y: memref<4x8xf32>) {
  kernel.call @k ins(%x, %w : memref<4x4xf32>, memref<1x4x8xf32>) outs(%y : memref<4x8xf32>)
  func.return
}


// -----

// expected-error @unknown {{trees (graph.tree_ensemble): groups of 3 trees, which is no multiple of walks = 2}}
graph.kernel @k(%x: tensor<5x2xf32>, %n: tensor<1x3x2x2xi32>, %w: tensor<1x3x2x1xf32>) -> tensor<1x5x1xf32> attributes {schedule = #kernel.schedule<"tree_ensemble", {walks = 2, rows = 4, lanes = 4}>, interface = #kernel.interface<>} {
  %y = graph.tree_ensemble %x, %n, %w {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, trees = 3 : i64, depth = 1 : i64, aggregate = "sum"} : (tensor<5x2xf32>, tensor<1x3x2x2xi32>, tensor<1x3x2x1xf32>) -> tensor<1x5x1xf32> loc("trees")
  graph.yield %y : tensor<1x5x1xf32>
}
func.func @main(%x: memref<5x2xf32>, %n: memref<1x3x2x2xi32>, %w: memref<1x3x2x1xf32>, %y: memref<1x5x1xf32>) {
  kernel.call @k ins(%x, %n, %w : memref<5x2xf32>, memref<1x3x2x2xi32>, memref<1x3x2x1xf32>) outs(%y : memref<1x5x1xf32>)
  func.return
}
