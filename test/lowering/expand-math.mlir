// RUN: mini-opt %s -p expand-math | filecheck %s

// A function becomes arithmetic, on vectors as on scalars.
// CHECK-LABEL: @exp_of_a_vector
// CHECK-NOT:     math.exp
// CHECK:         math.fma %{{.*}} : vector<8xf32>
// CHECK:         arith.shli %{{.*}} : vector<8xi32>
// CHECK:         arith.cmpf olt, %x
// CHECK:         %[[R:.*]] = arith.select %{{.*}} : vector<8xi1>, vector<8xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @exp_of_a_vector(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.exp %x : vector<8xf32>
  func.return %y : vector<8xf32>
}

// CHECK-LABEL: @all_of_them
// CHECK-NOT:     math.{{exp|exp2|expm1|tanh|erf|log|log1p}} {{.*}} : f32
// CHECK:         func.return
func.func @all_of_them(%x: f32) -> f32 {
  %a = math.exp2 %x : f32
  %b = math.expm1 %a : f32
  %c = math.tanh %b : f32
  %d = math.erf %c : f32
  %e = math.log %d : f32
  %f = math.log1p %e : f32
  func.return %f : f32
}

// f16 is computed in f32, what calls the library too.
// CHECK-LABEL: @half
// CHECK-SAME:    (%[[X:.*]]: f16)
// CHECK-NEXT:    %[[WIDE:.*]] = arith.extf %[[X]] : f16 to f32
// CHECK-NEXT:    %[[SINE:.*]] = math.sin %[[WIDE]] : f32
// CHECK-NEXT:    %[[Y:.*]] = arith.truncf %[[SINE]] : f32 to f16
// CHECK-NEXT:    func.return %[[Y]]
func.func @half(%x: f16) -> f16 {
  %y = math.sin %x : f16
  func.return %y : f16
}

// A known exponent saves the library call; the exponent may be spread over a vector.
// CHECK-LABEL: @powers
// CHECK:         %[[SQUARE:.*]] = arith.mulf %[[A:.*]], %[[A]] : f32
// CHECK:         %[[CUBE_OF:.*]] = arith.mulf %[[V:.*]], %[[V]] : vector<4xf32>
// CHECK-NEXT:    arith.mulf %[[CUBE_OF]], %[[V]]
// CHECK:         math.powf
func.func @powers(%x: f32, %v: vector<4xf32>) -> f32 {
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %threes = vector.broadcast %three : f32 to vector<4xf32>
  %a = math.powf %x, %two : f32
  %b = math.powf %v, %threes : vector<4xf32>
  %c = math.powf %a, %x : f32
  func.return %c : f32
}

// Instructions stay, and so does double precision.
// CHECK-LABEL: @left_alone
// CHECK-NEXT:    math.sqrt
// CHECK-NEXT:    math.floor
// CHECK-NEXT:    math.exp
// CHECK-NEXT:    func.return
func.func @left_alone(%x: f32, %d: f64) -> f64 {
  %a = math.sqrt %x : f32
  %b = math.floor %x : f32
  %c = math.exp %d : f64
  func.return %c : f64
}
