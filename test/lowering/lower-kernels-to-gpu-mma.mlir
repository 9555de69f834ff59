// A convolution by tensor units: pixels under the filter's taps are copied with zeros outside of the picture, numbers
// are rounded in registers, which get them by ldmatrix.
// RUN: mini-opt %s --to launches | filecheck %s

// The filters are one matrix of filters by taps and channels, so that lines of its tiles run along the depth.
// CHECK-LABEL: gpu.func @conv_relu_0(%{{.*}}: memref<1x28x28x64xf32>, %{{.*}}: memref<1x128x576xf32>
// CHECK: %left_tile = memref.view {{.*}} to memref<{{.*}}x36xf32, #gpu.address_space<workgroup>>
// CHECK: nvgpu.device_async_copy {{.*}} %left_tile[{{.*}}], 4, %
// CHECK: nvgpu.device_async_copy {{.*}} %right_tile[{{.*}}], 4
// CHECK: gpu.barrier
// CHECK: nvgpu.ldmatrix %left_tile[{{.*}}] {numTiles = 4 : i32, transpose = false} : {{.*}} -> vector<4xf32>
// CHECK: nvgpu.round_to_tf32
// CHECK: nvgpu.mma.sync({{.*}}) : (vector<4xf32>, vector<2xf32>, vector<4xf32>) -> vector<4xf32>
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a" computing "tf32">} {
  func.func @main(%x: tensor<1x28x28x64xf32>, %w: tensor<128x64x3x3xf32>) -> tensor<1x28x28x128xf32> {
    %p = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x28x28x64xf32>, tensor<128x64x3x3xf32>) -> tensor<1x28x28x128xf32>
    %y = graph.relu %p : tensor<1x28x28x128xf32>
    func.return %y : tensor<1x28x28x128xf32>
  }
}
