"""Device-independent code generation for kernels: builder, index arithmetic, elements, rows, recurrent cells.

loop_builder.py inserts ops; index_expr.py and arithmetic.py provide index expressions and arithmetic; elements/ builds
any single element of a kernel's body on demand, domain.py plans the loops over elements, row_ops.py the passes over
rows; instance_base.py is a kernel being lowered. The mapping of loops to threads, blocks or vector lanes is the
device's: kernels_to_loops/ and kernels_to_gpu/.
"""
