// RUN: mini-opt %s -p fold-constants,dce | filecheck %s

// What is made of numbers becomes a constant. graph.sizes is another one at each shape: it stays, with what is
// computed from it, and so does a constant that is broadcast to a size.
// CHECK-LABEL: @main
// CHECK-NEXT:    %[[SIX:.*]] = graph.constant dense<6> : tensor<i64>
// CHECK-NEXT:    %[[N:.*]] = graph.sizes {sizes = array<i64: (batch), (tokens)>} : tensor<2xi64>
// CHECK-NEXT:    graph.mul %[[N]], %[[SIX]]
// CHECK-NEXT:    graph.broadcast_to %[[SIX]] {{.*}} -> tensor<(batch)x4xi64>
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64]>} {
  func.func @main() -> (tensor<2xi64>, tensor<(batch)x4xi64>) {
    %two = graph.constant dense<2> : tensor<i64>
    %three = graph.constant dense<3> : tensor<i64>
    %six = graph.mul %two, %three : tensor<i64>
    %n = graph.sizes {sizes = array<i64: (batch), (tokens)>} : tensor<2xi64>
    %0 = graph.mul %n, %six : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
    %1 = graph.broadcast_to %six {shape = array<i64: (batch), 4>} : (tensor<i64>) -> tensor<(batch)x4xi64>
    func.return %0, %1 : tensor<2xi64>, tensor<(batch)x4xi64>
  }
}
