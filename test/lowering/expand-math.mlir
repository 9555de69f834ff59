// RUN: mini-opt %s -p expand-math --cpu x86_64-linux-gnu:x86-64-v3 | filecheck %s
// RUN: mini-opt %s -p expand-math --cpu x86_64-linux-gnu:x86-64 | filecheck %s --check-prefix=PLAIN

// A function becomes arithmetic, on vectors as on scalars.
// CHECK-LABEL: @exp_of_a_vector
// CHECK-NOT:     math.exp
// CHECK:         math.fma %{{.*}} : vector<8xf32>
// CHECK:         arith.cmpf olt, %x
// CHECK:         arith.shli %{{.*}} : vector<8xi32>
// CHECK:         arith.mulf %{{.*}} : vector<8xf32>
// CHECK-NEXT:    arith.constant
// CHECK-NEXT:    %[[R:.*]] = arith.select %{{.*}} : vector<8xi1>, vector<8xf32>
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

// A sine is reduced in f64; a vector with lanes far from 0 asks the library, and takes what that says for these alone.
// CHECK-LABEL: @sine
// CHECK:         arith.extf %x : vector<8xf32> to vector<8xf64>
// CHECK:         %[[NEAR:.*]] = arith.cmpf ole, {{.*}} : vector<8xf32>
// CHECK:         %[[ALL:.*]] = vector.reduction <and>, %[[NEAR]] : vector<8xi1> into i1
// CHECK:         scf.if %[[ALL]]
// CHECK:         } else {
// CHECK-NEXT:      %[[FAR:.*]] = math.sin %x : vector<8xf32>
// CHECK-NEXT:      arith.select %[[NEAR]], %{{.*}}, %[[FAR]]
func.func @sine(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.sin %x : vector<8xf32>
  func.return %y : vector<8xf32>
}

// f16 is computed in f32, what calls the library too.
// CHECK-LABEL: @half
// CHECK-SAME:    (%[[X:.*]]: f16)
// CHECK-NEXT:    %[[WIDE:.*]] = arith.extf %[[X]] : f16 to f32
// CHECK-NEXT:    %[[SINE:.*]] = math.tan %[[WIDE]] : f32
// CHECK-NEXT:    %[[Y:.*]] = arith.truncf %[[SINE]] : f32 to f16
// CHECK-NEXT:    func.return %[[Y]]
func.func @half(%x: f16) -> f16 {
  %y = math.tan %x : f16
  func.return %y : f16
}

// A known exponent is a product or two, and may be spread over a vector; with any other a power goes by way of f64.
// CHECK-LABEL: @powers
// CHECK:         %[[SQUARE:.*]] = arith.mulf %[[A:.*]], %[[A]] : f32
// CHECK:         %[[CUBE_OF:.*]] = arith.mulf %[[V:.*]], %[[V]] : vector<4xf32>
// CHECK-NEXT:    arith.mulf %[[CUBE_OF]], %[[V]]
// CHECK:         arith.truncf %{{.*}} : f64 to f32
// CHECK-NOT:     math.powf
// CHECK:         func.return
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

// Where the CPU can't multiply and add in one, both are done: in polynomials and sums, one rounding more does no harm.
// CHECK-LABEL: @a_sum_of_products
// CHECK-NEXT:    vector.fma
// CHECK-NEXT:    func.return
// PLAIN-LABEL: @a_sum_of_products
// PLAIN-NEXT:    %[[PRODUCT:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<4xf32>
// PLAIN-NEXT:    arith.addf %[[PRODUCT]], %{{.*}} : vector<4xf32>
// PLAIN-NEXT:    func.return
func.func @a_sum_of_products(%a: vector<4xf32>, %b: vector<4xf32>, %c: vector<4xf32>) -> vector<4xf32> {
  %r = vector.fma %a, %b, %c : vector<4xf32>
  func.return %r : vector<4xf32>
}

// So with one that only may be fused.
// PLAIN-LABEL: @contracted
// PLAIN-NEXT:    arith.mulf
// PLAIN-NEXT:    arith.addf
// PLAIN-NEXT:    func.return
func.func @contracted(%a: f32, %b: f32, %c: f32) -> f32 {
  %r = math.fma %a, %b, %c fastmath<contract> : f32
  func.return %r : f32
}

// The operation that promises one rounding finds what the product lost, and adds it at last.
// CHECK-LABEL: @rounded_once
// CHECK-NEXT:    math.fma
// CHECK-NEXT:    func.return
// PLAIN-LABEL: @rounded_once
// PLAIN-NEXT:    arith.mulf %a, %b : f64
// PLAIN-NEXT:    arith.constant 0x41A0000002000000 : f64
// PLAIN-NOT:     math.fma
// PLAIN:         func.return
func.func @rounded_once(%a: f64, %b: f64, %c: f64) -> f64 {
  %r = math.fma %a, %b, %c : f64
  func.return %r : f64
}

// Whole numbers come from adding and taking away a number that leaves no bit for fractions; in f16 too.
// CHECK-LABEL: @whole
// CHECK-NEXT:    math.roundeven %{{.*}} : f16
// CHECK-NEXT:    func.return
// PLAIN-LABEL: @whole
// PLAIN:         %[[SIZE:.*]] = math.absf %{{.*}} : f32
// PLAIN-NEXT:    %[[LIMIT:.*]] = arith.constant 0x4B000000 : f32
// PLAIN-NEXT:    %[[ABOVE:.*]] = arith.addf %[[SIZE]], %[[LIMIT]] : f32
// PLAIN-NEXT:    %[[WHOLE:.*]] = arith.subf %[[ABOVE]], %[[LIMIT]] : f32
// PLAIN:         math.copysign %[[WHOLE]], %{{.*}} : f32
// PLAIN:         arith.truncf %{{.*}} : f32 to f16
func.func @whole(%x: f16) -> f16 {
  %r = math.roundeven %x : f16
  func.return %r : f16
}
