// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x3xui8> {graph.name = "x", graph.value = dense<[[33, 3, 15], [240, 9, 255]]> : tensor<2x3xui8>},
    %w: tensor<2x3xui8> {graph.name = "w", graph.value = dense<[[1, 2, 3], [255, 0, 128]]> : tensor<2x3xui8>},
    %s: tensor<2x3xf32> {graph.name = "s", graph.value = dense<[[1.0, 2.0, 0.5], [4.0, -1.0, 3.0]]> : tensor<2x3xf32>},
    %z: tensor<2x3xui8> {graph.name = "z", graph.value = dense<[[1, 0, 3], [2, 15, 8]]> : tensor<2x3xui8>},
    %c: tensor<2x2xui8> {graph.name = "c", graph.value = dense<[[228, 27], [85, 240]]> : tensor<2x2xui8>},
    %h: tensor<2x2xf16> {graph.name = "h", graph.value = dense<[[1.0, -2.0], [0.5, 4.0]]> : tensor<2x2xf16>},
    %f: tensor<2x2xf32> {graph.name = "f", graph.value = dense<[[1.5, 0.0], [2.0, 0.25]]> : tensor<2x2xf32>})
    -> (tensor<2x5xf32> {graph.name = "halves", graph.expect =
          dense<[[0.0, 1.0, 6.0, 0.0, 6.0], [-8.0, 52.0, 6.0, 15.0, 21.0]]> : tensor<2x5xf32>},
        tensor<2x3xf32> {graph.name = "bytes", graph.expect =
          dense<[[-127.0, -252.0, -62.5], [508.0, 128.0, 0.0]]> : tensor<2x3xf32>},
        tensor<2x7xf32> {graph.name = "fours", graph.expect =
          dense<[[-1.5, -0.5, 0.5, 1.5, -6.0, -4.0, -2.0], [-0.5, -0.5, -0.5, -0.5, -1.0, -1.0, 11.0]]> : tensor<2x7xf32>}) {
  // Two to a byte, in blocks of two with a zero each; the last number is beyond the depth.
  // CHECK: halves: reference, unfused, fused agree
  %halves = graph.block_weight %x, %s, %z {bits = 4 : i64, block = 2 : i64, depth = 5 : i64, middle = 0 : i64}
    : (tensor<2x3xui8>, tensor<2x3xf32>, tensor<2x3xui8>) -> tensor<2x5xf32>

  // One zero for all.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.block_weight %w, %s {bits = 8 : i64, block = 1 : i64, depth = 3 : i64, middle = 128 : i64}
    : (tensor<2x3xui8>, tensor<2x3xf32>) -> tensor<2x3xf32>

  // Four to a byte, with scales of 16 bits and zeros that are floats.
  // CHECK: fours: reference, unfused, fused agree
  %fours = graph.block_weight %c, %h, %f {bits = 2 : i64, block = 4 : i64, depth = 7 : i64, middle = 0 : i64}
    : (tensor<2x2xui8>, tensor<2x2xf16>, tensor<2x2xf32>) -> tensor<2x7xf32>

  func.return %halves, %bytes, %fours : tensor<2x5xf32>, tensor<2x3xf32>, tensor<2x7xf32>
}
