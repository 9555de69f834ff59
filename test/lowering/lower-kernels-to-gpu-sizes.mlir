// RUN: mini-opt %s --to launches | mini-opt | filecheck %s
// RUN: mini-opt %s -t launches | filecheck %s --check-prefix=TABLE
// RUN: mini-opt %s -t cuda | filecheck %s --check-prefix=TEXT

// Grids hang on sizes, and so do places in the arena; a kernel takes the symbols that it computes with as numbers.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: graph.role = "sizes"
// CHECK-DAG: %[[BATCH:.*]] = arith.constant (batch) : index
// CHECK-DAG: %[[TOKENS:.*]] = arith.constant (tokens) : index
// CHECK-DAG: %[[PLACE:.*]] = arith.constant ("buffer {{.*}}") : index
// CHECK-DAG: %[[GRID:.*]] = arith.constant ((batch * tokens * 3 + 31) floordiv 32) : index
// CHECK: memref.view %{{.*}}[%[[PLACE]]]
// CHECK: gpu.launch_func @kernels::@transpose_0 blocks in (%[[GRID]], %{{.*}}) threads in (%{{.*}}) args(%{{.*}}, %[[BATCH]] : index, %[[TOKENS]] : index)
// CHECK: gpu.func @transpose_0(%{{.*}}: memref<(batch)x(tokens)x6xf32>, %{{.*}}: memref<(batch)x6x(tokens)xf32>, %batch: index, %tokens: index) kernel
// CHECK-SAME: {gpu.known_block_size = array<i32: 64, 1, 1>, kernel.sizes = [(batch) : index, (tokens) : index]}
// CHECK: %[[ALL:.*]] = arith.constant (batch * tokens * 6) : index
// CHECK: arith.cmpi ult, %{{.*}}, %[[ALL]]

// TABLE: transpose_0 (batch * tokens * 3 + 31) floordiv 32 {{.*}} x+0, arena+buffer
// TABLE: softmax_0

// A row of 33 now, and of 64 at most, is kept in as many registers as the longest takes.
// TEXT: transpose_0(const float* __restrict__ x, float* __restrict__ y, int batch, int tokens) {
// TEXT: if (u32(index) < u32(batch * tokens * 6)) {
// TEXT: softmax_0(float* __restrict__ y, int batch, int tokens) {
// TEXT: float row[4];
// TEXT: for (int i = 0; i < 4; ++i) {
// TEXT: if (u32(index) < u32(tokens)) {
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">, kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 33 in [1, 64]>} {
  func.func @main(%x: tensor<(batch)x(tokens)x6xf32> {graph.name = "x"}) -> (tensor<(tokens)x6x(batch)xf32> {graph.name = "y"}) {
    %t = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<(batch)x(tokens)x6xf32>) -> tensor<(batch)x6x(tokens)xf32>
    %s = graph.softmax %t {axis = 2 : i64} : tensor<(batch)x6x(tokens)xf32>
    %y = graph.transpose %s {permutation = array<i64: 2, 1, 0>} : (tensor<(batch)x6x(tokens)xf32>) -> tensor<(tokens)x6x(batch)xf32>
    func.return %y : tensor<(tokens)x6x(batch)xf32>
  }
}
