// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<1x4x1xf32> {graph.name = "x", graph.value =
      dense<[[[3.0], [4.0], [0.0], [2.0]]]> : tensor<1x4x1xf32>},
    %xl: tensor<1x1x4xf32> {graph.name = "xl", graph.value =
      dense<[[[3.0, 4.0, 0.0, 2.0]]]> : tensor<1x1x4xf32>},
    %m: tensor<2x5x7xf32> {graph.name = "m", graph.value =
      dense<[[[-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0],
             [3.0, 4.0, -4.0, -3.0, -2.0, -1.0, 0.0],
             [1.0, 2.0, 3.0, 4.0, -4.0, -3.0, -2.0], [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, -4.0],
             [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]],
             [[4.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0],
             [2.0, 3.0, 4.0, -4.0, -3.0, -2.0, -1.0], [0.0, 1.0, 2.0, 3.0, 4.0, -4.0, -3.0],
             [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0], [-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0]]]> : tensor<2x5x7xf32>},
    %ml: tensor<2x7x5xf32> {graph.name = "ml", graph.value =
      dense<[[[-4.0, 3.0, 1.0, -1.0, -3.0], [-3.0, 4.0, 2.0, 0.0, -2.0],
             [-2.0, -4.0, 3.0, 1.0, -1.0], [-1.0, -3.0, 4.0, 2.0, 0.0],
             [0.0, -2.0, -4.0, 3.0, 1.0], [1.0, -1.0, -3.0, 4.0, 2.0],
             [2.0, 0.0, -2.0, -4.0, 3.0]], [[4.0, 2.0, 0.0, -2.0, -4.0],
             [-4.0, 3.0, 1.0, -1.0, -3.0], [-3.0, 4.0, 2.0, 0.0, -2.0],
             [-2.0, -4.0, 3.0, 1.0, -1.0], [-1.0, -3.0, 4.0, 2.0, 0.0],
             [0.0, -2.0, -4.0, 3.0, 1.0], [1.0, -1.0, -3.0, 4.0, 2.0]]]> : tensor<2x7x5xf32>},
    %d: tensor<1x4x1xf64> {graph.name = "d", graph.value =
      dense<[[[3.0], [4.0], [0.0], [2.0]]]> : tensor<1x4x1xf64>},
    %h: tensor<1x4x1xf16> {graph.name = "h", graph.value =
      dense<[[[3.0], [4.0], [0.0], [2.0]]]> : tensor<1x4x1xf16>})
    -> (tensor<1x4x1xf32> {graph.name = "by_hand", graph.expect =
      dense<[[[0.12], [0.16], [0.0], [0.5]]]> : tensor<1x4x1xf32>},
        tensor<1x4x1xf32> {graph.name = "usual", graph.expect =
      dense<[[[0.8754139], [1.1672184], [0.0], [1.3634633]]]> : tensor<1x4x1xf32>},
        tensor<1x1x4xf32> {graph.name = "usual_last", graph.expect =
      dense<[[[0.8754139, 1.1672184, 0.0, 1.3634633]]]> : tensor<1x1x4xf32>},
        tensor<1x4x1xf32> {graph.name = "even", graph.expect =
      dense<[[[0.67899686], [1.196279], [0.0], [1.1892071]]]> : tensor<1x4x1xf32>},
        tensor<1x1x4xf32> {graph.name = "even_last", graph.expect =
      dense<[[[0.67899686, 1.196279, 0.0, 1.1892071]]]> : tensor<1x1x4xf32>},
        tensor<1x4x1xf32> {graph.name = "wide", graph.expect =
      dense<[[[1.5787045], [2.1049392], [0.0], [1.0524696]]]> : tensor<1x4x1xf32>},
        tensor<1x1x4xf32> {graph.name = "wide_last", graph.expect =
      dense<[[[1.5787045, 2.1049392, 0.0, 1.0524696]]]> : tensor<1x1x4xf32>},
        tensor<1x4x1xf32> {graph.name = "any_power", graph.expect =
      dense<[[[1.7989224], [2.0691273], [0.0], [1.4384462]]]> : tensor<1x4x1xf32>},
        tensor<1x1x4xf32> {graph.name = "any_power_last", graph.expect =
      dense<[[[1.7989224, 2.0691273, 0.0, 1.4384462]]]> : tensor<1x1x4xf32>},
        tensor<2x5x7xf32> {graph.name = "images", graph.expect =
      dense<[[[-0.7490873, -0.56181544, -0.43408528, -0.3329534, 0.0, 0.68173164,
             1.0593693], [0.5472222, 0.6777015, -0.6777015, -0.5472222, -0.43408528,
             -0.3149524, 0.0], [0.3149524, 0.43408528, 0.5472222, 0.6777015, -0.6777015,
             -0.5472222, -0.43408528], [-0.3149524, 0.0, 0.3149524, 0.43408528, 0.5472222,
             0.6777015, -0.6777015], [-0.9988601, -1.0593693, -0.68173164, 0.0, 0.3329534,
             0.43408528, 0.56181544]], [[0.86817056, -0.7490873, -0.56181544, -0.43408528,
             -0.3329534, 0.0, 0.68173164], [0.43408528, 0.5472222, 0.6777015, -0.6777015,
             -0.5472222, -0.43408528, -0.3149524], [0.0, 0.3149524, 0.43408528, 0.5472222,
             0.6777015, -0.6777015, -0.5472222], [-0.43408528, -0.3149524, 0.0, 0.3149524,
             0.43408528, 0.5472222, 0.6777015], [-0.86817056, -0.9988601, -1.0593693,
             -0.68173164, 0.0, 0.3329534, 0.43408528]]]> : tensor<2x5x7xf32>},
        tensor<2x7x5xf32> {graph.name = "images_last", graph.expect =
      dense<[[[-0.7490873, 0.5472222, 0.3149524, -0.3149524, -0.9988601],
             [-0.56181544, 0.6777015, 0.43408528, 0.0, -1.0593693],
             [-0.43408528, -0.6777015, 0.5472222, 0.3149524, -0.68173164],
             [-0.3329534, -0.5472222, 0.6777015, 0.43408528, 0.0],
             [0.0, -0.43408528, -0.6777015, 0.5472222, 0.3329534],
             [0.68173164, -0.3149524, -0.5472222, 0.6777015, 0.43408528],
             [1.0593693, 0.0, -0.43408528, -0.6777015, 0.56181544]],
             [[0.86817056, 0.43408528, 0.0, -0.43408528, -0.86817056],
             [-0.7490873, 0.5472222, 0.3149524, -0.3149524, -0.9988601],
             [-0.56181544, 0.6777015, 0.43408528, 0.0, -1.0593693],
             [-0.43408528, -0.6777015, 0.5472222, 0.3149524, -0.68173164],
             [-0.3329534, -0.5472222, 0.6777015, 0.43408528, 0.0],
             [0.0, -0.43408528, -0.6777015, 0.5472222, 0.3329534],
             [0.68173164, -0.3149524, -0.5472222, 0.6777015, 0.43408528]]]> : tensor<2x7x5xf32>},
        tensor<1x4x1xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[[0.8754138677157266], [1.1672184902876355], [0.0], [1.3634632397609994]]]> : tensor<1x4x1xf64>},
        tensor<1x4x1xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[[0.8755], [1.167], [0.0], [1.363]]]> : tensor<1x4x1xf16>}) {
  // Three channels around each: alpha 3 and size 3 make it 3 / (9 + 16), 4 / (9 + 16 + 0), 0, 2 / (0 + 4).
  // CHECK: by_hand: reference, unfused, fused agree
  %by_hand = graph.lrn %x
    {size = 3 : i64, alpha = 3.0 : f64, beta = 1.0 : f64, bias = 0.0 : f64, layout = "NCHW"}
    : tensor<1x4x1xf32>

  // The usual exponent of 3/4.
  // CHECK: usual: reference, unfused, fused agree
  %usual = graph.lrn %x
    {size = 3 : i64, alpha = 0.5 : f64, beta = 0.75 : f64, bias = 1.0 : f64, layout = "NCHW"}
    : tensor<1x4x1xf32>

  // The same with channels last.
  // CHECK: usual_last: reference, unfused, fused agree
  %usual_last = graph.lrn %xl
    {size = 3 : i64, alpha = 0.5 : f64, beta = 0.75 : f64, bias = 1.0 : f64, layout = "NHWC"}
    : tensor<1x1x4xf32>

  // An even number of channels: one more above than below.
  // CHECK: even: reference, unfused, fused agree
  %even = graph.lrn %x
    {size = 2 : i64, alpha = 0.5 : f64, beta = 0.75 : f64, bias = 1.0 : f64, layout = "NCHW"}
    : tensor<1x4x1xf32>

  // The same with channels last.
  // CHECK: even_last: reference, unfused, fused agree
  %even_last = graph.lrn %xl
    {size = 2 : i64, alpha = 0.5 : f64, beta = 0.75 : f64, bias = 1.0 : f64, layout = "NHWC"}
    : tensor<1x1x4xf32>

  // A window wider than there are channels.
  // CHECK: wide: reference, unfused, fused agree
  %wide = graph.lrn %x
    {size = 9 : i64, alpha = 0.5 : f64, beta = 0.5 : f64, bias = 2.0 : f64, layout = "NCHW"}
    : tensor<1x4x1xf32>

  // The same with channels last.
  // CHECK: wide_last: reference, unfused, fused agree
  %wide_last = graph.lrn %xl
    {size = 9 : i64, alpha = 0.5 : f64, beta = 0.5 : f64, bias = 2.0 : f64, layout = "NHWC"}
    : tensor<1x1x4xf32>

  // An exponent that needs a call.
  // CHECK: any_power: reference, unfused, fused agree
  %any_power = graph.lrn %x
    {size = 1 : i64, alpha = 0.5 : f64, beta = 0.3 : f64, bias = 1.0 : f64, layout = "NCHW"}
    : tensor<1x4x1xf32>

  // The same with channels last.
  // CHECK: any_power_last: reference, unfused, fused agree
  %any_power_last = graph.lrn %xl
    {size = 1 : i64, alpha = 0.5 : f64, beta = 0.3 : f64, bias = 1.0 : f64, layout = "NHWC"}
    : tensor<1x1x4xf32>

  // Two images of five channels.
  // CHECK: images: reference, unfused, fused agree
  %images = graph.lrn %m
    {size = 3 : i64, alpha = 1.0 : f64, beta = 0.75 : f64, bias = 1.0 : f64, layout = "NCHW"}
    : tensor<2x5x7xf32>

  // The same with channels last.
  // CHECK: images_last: reference, unfused, fused agree
  %images_last = graph.lrn %ml
    {size = 3 : i64, alpha = 1.0 : f64, beta = 0.75 : f64, bias = 1.0 : f64, layout = "NHWC"}
    : tensor<2x7x5xf32>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.lrn %d
    {size = 3 : i64, alpha = 0.5 : f64, beta = 0.75 : f64, bias = 1.0 : f64, layout = "NCHW"}
    : tensor<1x4x1xf64>

  // f16, computed in f32.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.lrn %h
    {size = 3 : i64, alpha = 0.5 : f64, beta = 0.75 : f64, bias = 1.0 : f64, layout = "NCHW"}
    : tensor<1x4x1xf16>

  func.return %by_hand, %usual, %usual_last, %even, %even_last, %wide, %wide_last, %any_power, %any_power_last,
    %images, %images_last, %double, %half
    : tensor<1x4x1xf32>, tensor<1x4x1xf32>, tensor<1x1x4xf32>, tensor<1x4x1xf32>, tensor<1x1x4xf32>,
      tensor<1x4x1xf32>, tensor<1x1x4xf32>, tensor<1x4x1xf32>, tensor<1x1x4xf32>, tensor<2x5x7xf32>,
      tensor<2x7x5xf32>, tensor<1x4x1xf64>, tensor<1x4x1xf16>
}
