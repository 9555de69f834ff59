// RUN: mini-opt %s -p choose-schedule | filecheck %s

// Options are numbers; scratch that hangs on the shapes is a size. None of them is a guess: there are no guards.
// CHECK-NOT: kernel.guards
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>, kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64], dim keys = 16 in [1, 64]>} {
  func.func @main() {
    func.return
  }

  // A row in scratch: so many floats, in vectors of 16.
  // CHECK: graph.kernel @softmax
  // CHECK-SAME: schedule = #kernel.schedule<"rows", {lanes = 4, vector = 16}>
  // CHECK-SAME: per_thread = (((tokens + 15) floordiv 16) * 64)>
  graph.kernel @softmax(%x: tensor<(batch)x(tokens)xf32>) -> tensor<(batch)x(tokens)xf32> attributes {form = #kernel.form<"rows">} {
    %r = graph.softmax %x {axis = 1 : i64} : tensor<(batch)x(tokens)xf32>
    graph.yield %r : tensor<(batch)x(tokens)xf32>
  }

  // A panel of 8 columns in scratch, 32 bytes for each key, in whole cache lines.
  // CHECK: graph.kernel @product
  // CHECK-SAME: schedule = #kernel.schedule<"computed_panels", {mr = 6, nr = 8, lanes = 4, inline = 1}>
  // CHECK-SAME: per_thread = (((keys + 1) floordiv 2) * 64)>
  graph.kernel @product(%a: tensor<(tokens)x(keys)xf32>, %b: tensor<(keys)x32xf32>) -> tensor<(tokens)x32xf32> attributes {form = #kernel.form<"contraction">} {
    %m = graph.matmul %a, %b : (tensor<(tokens)x(keys)xf32>, tensor<(keys)x32xf32>) -> tensor<(tokens)x32xf32>
    graph.yield %m : tensor<(tokens)x32xf32>
  }

  // Eight keys are a panel of 128 bytes; six rows of their scores are 192, and some numbers beside these 64.
  // CHECK: graph.kernel @attention
  // CHECK-SAME: schedule = #kernel.schedule<"attention", {mr = 6, nr = 8, lanes = 4, few = 4}>
  // CHECK-SAME: per_thread = (((keys + 7) floordiv 8) * 320 + 64)>
  graph.kernel @attention(%q: tensor<(batch)x2x(tokens)x4xf32>, %k: tensor<(batch)x2x(keys)x4xf32>) -> tensor<(batch)x2x(tokens)x4xf32> attributes {form = #kernel.form<"attention">} {
    %r = graph.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<(batch)x2x(tokens)x4xf32>, tensor<(batch)x2x(keys)x4xf32>, tensor<(batch)x2x(keys)x4xf32>) -> tensor<(batch)x2x(tokens)x4xf32>
    graph.yield %r : tensor<(batch)x2x(tokens)x4xf32>
  }

  // A concatenation says what it moves from where to where, in sizes: the second part goes behind the first one's rows.
  // CHECK: graph.kernel @joined
  // CHECK-SAME: moves = [0 to 0 sizes [(tokens), 8] from 0 [8, 1] at 0 [8, 1], 1 to 0 sizes [(keys), 8] from 0 [8, 1] at (tokens * 8) [8, 1]]
  graph.kernel @joined(%a: tensor<(tokens)x8xf32>, %b: tensor<(keys)x8xf32>) -> tensor<(tokens + keys)x8xf32> attributes {form = #kernel.form<"map">} {
    %r = graph.concat %a, %b {axis = 0 : i64} : (tensor<(tokens)x8xf32>, tensor<(keys)x8xf32>) -> tensor<(tokens + keys)x8xf32>
    graph.yield %r : tensor<(tokens + keys)x8xf32>
  }
}
