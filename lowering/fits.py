"""Minimax polynomials that several levels use."""

# 2**f for |f| <= 1/2: relative error 1.1e-7, and 1.7e-7 with each step rounded to f32.
EXP2 = (
    1.0,
    0.6931470036506653,
    0.24022240936756134,
    0.0555073507130146,
    0.009671619161963463,
    0.0013264591107144952,
)
