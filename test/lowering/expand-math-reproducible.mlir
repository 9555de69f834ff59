// RUN: mini-opt %s -p expand-math | filecheck %s

// Without an instruction, a fused product and sum is exact in f64, and rounded to odd before it is rounded to f32.
builtin.module attributes {kernel.target = #kernel.cpu<"x86-64" reproducible>} {
  // CHECK-LABEL: @fused
  // CHECK-SAME:    (%[[X:.*]]: vector<4xf32>, %[[Y:.*]]: vector<4xf32>, %[[Z:.*]]: vector<4xf32>)
  // CHECK-DAG:     %[[A:.*]] = arith.extf %[[X]] : vector<4xf32> to vector<4xf64>
  // CHECK-DAG:     %[[B:.*]] = arith.extf %[[Y]] : vector<4xf32> to vector<4xf64>
  // CHECK-DAG:     %[[C:.*]] = arith.extf %[[Z]] : vector<4xf32> to vector<4xf64>
  // CHECK:         %[[P:.*]] = arith.mulf %[[A]], %[[B]] : vector<4xf64>
  // CHECK-NEXT:    %[[S:.*]] = arith.addf %[[P]], %[[C]] : vector<4xf64>
  // CHECK:         arith.bitcast %[[S]] : vector<4xf64> to vector<4xi64>
  // CHECK:         arith.truncf %{{.*}} : vector<4xf64> to vector<4xf32>
  // CHECK-NOT:     fma
  func.func @fused(%x: vector<4xf32>, %y: vector<4xf32>, %z: vector<4xf32>) -> vector<4xf32> {
    %r = vector.fma %x, %y, %z : vector<4xf32>
    func.return %r : vector<4xf32>
  }

  // CHECK-LABEL: @polynomial
  // CHECK-NOT:     math.{{exp|fma}}
  func.func @polynomial(%x: f32) -> f32 {
    %r = math.exp %x : f32
    func.return %r : f32
  }
}
