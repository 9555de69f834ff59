"""Writing a kernel's code, for any device: loops, index arithmetic, single elements, rows, cells of recurrences.

builder.py writes ops; index_expr.py and arithmetic.py are what code computes with; elements/ gives any single element
of a kernel's body on demand, domain.py the loops around elements, row_ops.py what is done along rows; instance.py is a
kernel being written. Which loops run side by side, where and in which order is a device's: kernels_to_loops/ and
kernels_to_gpu/.
"""
