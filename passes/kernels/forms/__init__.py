"""Forms: what a kernel's body computes, named by the op that the others ride along with (`GraphOp.FORM`).

A convolution that another one is done with is `separable`, which is told by both.
"""
