// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75,
             1.0, 1.5, 2.0, 2.5, 3.0, 4.0]> : tensor<19xf32>},
    %e: tensor<6xf32> {graph.name = "e", graph.value =
      dense<[-30.0, -8.0, -6.0, 8.0, 30.0, 0x7FC00000]> : tensor<6xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "exact", graph.expect =
      dense<[-0.00012668497, -0.004049694, -0.015524163, -0.045500264, -0.1002108,
             -0.15865526, -0.16997051, -0.15426877, -0.10032342, 0.0, 0.14967658,
             0.34573123, 0.5800295, 0.8413448, 1.3997892, 1.9544997, 2.4844759, 2.9959502,
             3.9998734]> : tensor<19xf32>},
        tensor<19xf32> {graph.name = "tanh", graph.expect =
      dense<[-7.024595e-5, -0.003637392, -0.015084266, -0.045402307, -0.100428425,
             -0.15880801, -0.17003945, -0.154286, -0.100324646, 0.0, 0.14967535, 0.345714,
             0.5799606, 0.841192, 1.3995715, 1.9545977, 2.4849157, 2.9963627, 3.9999297]> : tensor<19xf32>},
        tensor<6xf32> {graph.name = "edges", graph.expect =
      dense<[-0.0, -4.8849813e-15, -5.9195258e-9, 8.0, 30.0, 0x7FC00000]> : tensor<6xf32>},
        tensor<6xf32> {graph.name = "tanh_edges", graph.expect =
      dense<[-0.0, -0.0, -8.439649e-11, 8.0, 30.0, 0x7FC00000]> : tensor<6xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-0.00012668496733247991, -0.00404969409489031, -0.015524163314440398,
             -0.04550026389635842, -0.10021080190328713]> : tensor<5xf64>},
        tensor<5xf64> {graph.name = "double_tanh", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-7.024594819227126e-5, -0.0036373920817729943, -0.015084266089998577,
             -0.04540230591222494, -0.10042842301976707]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-0.0001267, -0.00405, -0.015526, -0.0455, -0.1002]> : tensor<5xf16>},
        tensor<5xf16> {graph.name = "half_tanh", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-7.03e-5, -0.003637, -0.01508, -0.0454, -0.1004]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-0.0001268, -0.004059, -0.0155, -0.04541, -0.1001]> : tensor<5xbf16>},
        tensor<5xbf16> {graph.name = "brain_tanh", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-7.01e-5, -0.003632, -0.01508, -0.04541, -0.1006]> : tensor<5xbf16>}) {
  // x times the share of a normal distribution below x: 0.8413 at 1, -0.1587 at -1.
  // CHECK: exact: reference, unfused, fused agree
  %exact = graph.gelu %x {approximate = "none"} : tensor<19xf32>

  // The approximation by tanh differs from the fourth digit on.
  // CHECK: tanh: reference, unfused, fused agree
  %tanh = graph.gelu %x {approximate = "tanh"} : tensor<19xf32>

  // Far below it is 0, far above x.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.gelu %e {approximate = "none"} : tensor<6xf32>

  // So does the approximation.
  // CHECK: tanh_edges: reference, unfused, fused agree
  %tanh_edges = graph.gelu %e {approximate = "tanh"} : tensor<6xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.gelu %d {approximate = "none"} : tensor<5xf64>

  // And by tanh.
  // CHECK: double_tanh: reference, unfused, fused agree
  %double_tanh = graph.gelu %d {approximate = "tanh"} : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.gelu %h {approximate = "none"} : tensor<5xf16>

  // And by tanh.
  // CHECK: half_tanh: reference, unfused, fused agree
  %half_tanh = graph.gelu %h {approximate = "tanh"} : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.gelu %b {approximate = "none"} : tensor<5xbf16>

  // And by tanh.
  // CHECK: brain_tanh: reference, unfused, fused agree
  %brain_tanh = graph.gelu %b {approximate = "tanh"} : tensor<5xbf16>

  func.return %exact, %tanh, %edges, %tanh_edges, %double, %double_tanh, %half, %half_tanh, %brain, %brain_tanh
    : tensor<19xf32>, tensor<19xf32>, tensor<6xf32>, tensor<6xf32>, tensor<5xf64>, tensor<5xf64>,
      tensor<5xf16>, tensor<5xf16>, tensor<5xbf16>, tensor<5xbf16>
}
