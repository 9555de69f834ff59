// Elementwise ops keep their form in text: one type where all are the same, otherwise a function type.
// RUN: mini-opt %s | mini-opt | filecheck %s

func.func @unary(%x: tensor<2x3xf32>, %i: tensor<4xi64>, %b: tensor<i1>, %n: tensor<i64>) {
  // CHECK: graph.neg %x : tensor<2x3xf32>
  // CHECK: graph.neg %i : tensor<4xi64>
  // CHECK: graph.abs %x : tensor<2x3xf32> loc("/abs")
  // CHECK: graph.sign %x : tensor<2x3xf32>
  // CHECK: graph.relu %x {mine} : tensor<2x3xf32>
  // CHECK: graph.not %b : tensor<i1>
  // CHECK: graph.exp %x : tensor<2x3xf32>
  // CHECK: graph.log %x : tensor<2x3xf32>
  // CHECK: graph.sqrt %x : tensor<2x3xf32>
  // CHECK: graph.rsqrt %x : tensor<2x3xf32>
  // CHECK: graph.reciprocal %x : tensor<2x3xf32>
  // CHECK: graph.erf %x : tensor<2x3xf32>
  %0 = graph.neg %x : tensor<2x3xf32>
  %1 = graph.neg %i : tensor<4xi64>
  %2 = graph.abs %x : tensor<2x3xf32> loc("/abs")
  %3 = graph.sign %x : tensor<2x3xf32>
  %4 = graph.relu %x {mine} : tensor<2x3xf32>
  %5 = graph.not %b : tensor<i1>
  %6 = graph.exp %x : tensor<2x3xf32>
  %7 = graph.log %x : tensor<2x3xf32>
  %8 = graph.sqrt %x : tensor<2x3xf32>
  %9 = graph.rsqrt %x : tensor<2x3xf32>
  %10 = graph.reciprocal %x : tensor<2x3xf32>
  %11 = graph.erf %x : tensor<2x3xf32>
  // CHECK: graph.tanh %x : tensor<2x3xf32>
  // CHECK: graph.sin %x : tensor<2x3xf32>
  // CHECK: graph.cos %x : tensor<2x3xf32>
  // CHECK: graph.tan %x : tensor<2x3xf32>
  // CHECK: graph.floor %x : tensor<2x3xf32>
  // CHECK: graph.ceil %x : tensor<2x3xf32>
  // CHECK: graph.round %x : tensor<2x3xf32>
  // CHECK: graph.sigmoid %x : tensor<2x3xf32>
  // CHECK: graph.silu %x : tensor<2x3xf32>
  // CHECK: graph.softplus %x : tensor<2x3xf32>
  // CHECK: graph.softsign %x : tensor<2x3xf32>
  // CHECK: graph.is_nan %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.is_inf %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %12 = graph.tanh %x : tensor<2x3xf32>
  %13 = graph.sin %x : tensor<2x3xf32>
  %14 = graph.cos %x : tensor<2x3xf32>
  %15 = graph.tan %x : tensor<2x3xf32>
  %16 = graph.floor %x : tensor<2x3xf32>
  %17 = graph.ceil %x : tensor<2x3xf32>
  %18 = graph.round %x : tensor<2x3xf32>
  %19 = graph.sigmoid %x : tensor<2x3xf32>
  %20 = graph.silu %x : tensor<2x3xf32>
  %21 = graph.softplus %x : tensor<2x3xf32>
  %22 = graph.softsign %x : tensor<2x3xf32>
  %23 = graph.is_nan %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %24 = graph.is_inf %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.gelu %x {approximate = "tanh"} : tensor<2x3xf32>
  // CHECK: graph.clip %x {min = -1.000000e+00 : f64, max = 6.000000e+00 : f64} : tensor<2x3xf32>
  // CHECK: graph.clip %x : tensor<2x3xf32>
  // CHECK: graph.leaky_relu %x {alpha = 1.000000e-01 : f64} : tensor<2x3xf32>
  // CHECK: graph.elu %x {alpha = 1.000000e+00 : f64} : tensor<2x3xf32>
  // CHECK: graph.hard_sigmoid %x {alpha = 2.000000e-01 : f64, beta = 5.000000e-01 : f64} : tensor<2x3xf32>
  // CHECK: graph.cast %x {to = bf16} : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  %25 = graph.gelu %x {approximate = "tanh"} : tensor<2x3xf32>
  %26 = graph.clip %x {min = -1.0, max = 6.0} : tensor<2x3xf32>
  %27 = graph.clip %x : tensor<2x3xf32>
  %28 = graph.leaky_relu %x {alpha = 0.1} : tensor<2x3xf32>
  %29 = graph.elu %x {alpha = 1.0} : tensor<2x3xf32>
  %30 = graph.hard_sigmoid %x {alpha = 0.2, beta = 0.5} : tensor<2x3xf32>
  %31 = graph.cast %x {to = bf16} : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  func.return
}

func.func @binary(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %i: tensor<4xi64>, %b: tensor<i1>, %n: tensor<i64>) {
  // CHECK: graph.add %x, %x : tensor<2x3xf32>
  // CHECK: graph.sub %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.mul %x, %x : tensor<2x3xf32>
  // CHECK: graph.div %i, %i : tensor<4xi64>
  // CHECK: graph.pow %y, %n : (tensor<3xf32>, tensor<i64>) -> tensor<3xf32>
  // CHECK: graph.min %x, %x : tensor<2x3xf32>
  // CHECK: graph.max %x, %x : tensor<2x3xf32>
  // CHECK: graph.mod %i, %i : tensor<4xi64>
  // CHECK: graph.mod %x, %x {fmod} : tensor<2x3xf32>
  // CHECK: graph.prelu %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %0 = graph.add %x, %x : tensor<2x3xf32>
  %1 = graph.sub %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = graph.mul %x, %x : tensor<2x3xf32>
  %3 = graph.div %i, %i : tensor<4xi64>
  %4 = graph.pow %y, %n : (tensor<3xf32>, tensor<i64>) -> tensor<3xf32>
  %5 = graph.min %x, %x : tensor<2x3xf32>
  %6 = graph.max %x, %x : tensor<2x3xf32>
  %7 = graph.mod %i, %i : tensor<4xi64>
  %8 = graph.mod %x, %x {fmod} : tensor<2x3xf32>
  %9 = graph.prelu %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.and %b, %b : tensor<i1>
  // CHECK: graph.or %i, %i : tensor<4xi64>
  // CHECK: graph.xor %b, %b : tensor<i1>
  // CHECK: graph.equal %b, %b : tensor<i1>
  // CHECK: graph.less %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: graph.less_equal %i, %i : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
  // CHECK: graph.greater %i, %i : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
  // CHECK: graph.greater_equal %i, %i : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
  // CHECK: graph.where %b, %x, %y : (tensor<i1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %10 = graph.and %b, %b : tensor<i1>
  %11 = graph.or %i, %i : tensor<4xi64>
  %12 = graph.xor %b, %b : tensor<i1>
  %13 = graph.equal %b, %b : tensor<i1>
  %14 = graph.less %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %15 = graph.less_equal %i, %i : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
  %16 = graph.greater %i, %i : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
  %17 = graph.greater_equal %i, %i : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
  %18 = graph.where %b, %x, %y : (tensor<i1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}
