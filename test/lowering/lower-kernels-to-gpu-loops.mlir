// Loops and branches of main stay, with launches inside of them; the host computes what controls them.
// RUN: mini-opt %s --to launches | filecheck %s
// RUN: mini-opt %s -t launches | filecheck %s --check-prefix=HOST

// CHECK-LABEL: func.func @main
// CHECK-NOT: kernel.barrier
// CHECK: %[[N:.*]] = memref.load %count[] : memref<i64>
// CHECK: %[[END:.*]] = arith.index_cast %[[N]]
// CHECK: scf.for %[[I:.*]] = {{.*}} to %[[END]]
// CHECK: gpu.launch_func @kernels::@reduce_max_less_0
// CHECK: %[[SMALL:.*]] = memref.load
// CHECK: scf.if %[[SMALL]] {
// CHECK: gpu.launch_func @kernels::@add_0
// CHECK: } else {
// CHECK: gpu.launch_func @kernels::@neg_0
// CHECK: func.return
// CHECK: gpu.module @kernels

// A window of x moves with the turns of a loop, by 8 bytes each.
// HOST: the host
// HOST-NEXT: %[[N:.*]] = read i64 at count+0
// HOST-NEXT: launch 0
// HOST-NEXT: for %[[I:.*]] = 0 to %[[N]] step 1:  (waits for the GPU)
// HOST-NEXT:   launch 1
// HOST-NEXT:   %[[SMALL:.*]] = read i1 at arena+0
// HOST-NEXT:   if %[[SMALL]]:  (waits for the GPU)
// HOST-NEXT:     launch 2
// HOST-NEXT:   else:
// HOST-NEXT:     launch 3
// HOST: for %[[J:.*]] = 0 to 3 step 1:
// HOST-NEXT: %[[ROW:.*]] = muli %[[J]], 2
// HOST: %[[BYTES:.*]] = muli %[[ROW]], 4
// HOST: launch {{.*}} at %[[BYTES]],
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%x: tensor<6xf32> {graph.name = "x"}, %count: tensor<i64> {graph.name = "count"})
      -> (tensor<6xf32> {graph.name = "y"}, tensor<6xf32> {graph.name = "z"}) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %three = arith.constant 3 : index
    %limit = graph.constant dense<9.0> : tensor<f32>
    %n = tensor.extract %count[] : tensor<i64>
    %end = arith.index_cast %n : i64 to index
    %y = scf.for %i = %zero to %end step %one iter_args(%before = %x) -> (tensor<6xf32>) {
      %most = graph.reduce_max %before {axes = array<i64: 0>} : (tensor<6xf32>) -> tensor<f32>
      %less = graph.less %most, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %small = tensor.extract %less[] : tensor<i1>
      %after = scf.if %small -> (tensor<6xf32>) {
        %sum = graph.add %before, %x : tensor<6xf32>
        scf.yield %sum : tensor<6xf32>
      } else {
        %minus = graph.neg %before : tensor<6xf32>
        scf.yield %minus : tensor<6xf32>
      }
      scf.yield %after : tensor<6xf32>
    }
    %none = graph.constant dense<0.0> : tensor<6xf32>
    %z = scf.for %j = %zero to %three step %one iter_args(%all = %none) -> (tensor<6xf32>) {
      %row = arith.muli %j, %two : index
      %part = graph.extract_rows %x, %row {axis = 0 : i64, size = 2 : i64} : (tensor<6xf32>, index) -> tensor<2xf32>
      %made = graph.exp %part : tensor<2xf32>
      %more = graph.insert_rows %all, %made, %row {axis = 0 : i64} : (tensor<6xf32>, tensor<2xf32>, index) -> tensor<6xf32>
      scf.yield %more : tensor<6xf32>
    }
    func.return %y, %z : tensor<6xf32>, tensor<6xf32>
  }
}
