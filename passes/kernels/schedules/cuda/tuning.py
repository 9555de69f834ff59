"""Chosen or published constants of the GPU schedules: tuning for a measured GPU changes this table only.

Beside each number stands its source; none has been compared with times on hardware. The limits of the machine are the
target's (GpuAttr in dialects/kernel/targets.py), the candidate sizes in the files of the schedules.
"""

from __future__ import annotations

LAUNCH = 2e-6
"""Seconds between the launches of one CUDA graph: about the published time between dependent kernels; not measured."""
LATENCY = 600e-9
"""Latency of a read from memory in seconds: 600 to 800 cycles in published microbenchmarks of A100 and H100."""
PORT = 64
"""Largest number of bytes per nanosecond that one multiprocessor reads: 64 a cycle, rounded down. So a third of the
multiprocessors can saturate memory, with enough reads in flight."""
NEAR = 128
"""Bytes per nanosecond that a multiprocessor reads from its first-level cache: a vector for each of 8 threads a cycle,
rounded down."""
PER_MULTIPROCESSOR = 64e9
"""Bytes per second that one multiprocessor copies from the second-level cache: 32 to 64 a cycle."""
SHUFFLES = 0.15e-6
"""Seconds of a reduction over the lanes of a warp: five shuffles of about 30 cycles. Expected, not measured."""
MEETING = 0.25e-6
"""Seconds of a reduction over a block through shared memory, with its barrier. Expected, not measured."""
ARRIVING = 10e-9
"""Additional seconds of MEETING for each warp of the block. Expected, not measured."""
STEP = 10e-9
"""Seconds for each element of a row that one thread reads alone, with a few reads in flight. Expected, not measured."""

COLUMN_ROWS_MOST_THREADS = 512
"""Largest number of threads of a block; chosen."""

ELEMENTS_SERIAL = 4
"""Relative time of sums whose operands each thread reads by itself. Chosen."""
ELEMENTS_SERIAL_PRODUCTS = 16
"""The same of products: each multiplication takes two reads, in the time of which a multiprocessor does four
multiplications, and the arithmetic of their addresses. Chosen."""
ELEMENTS_READ = 8e-9
"""Seconds from one product of a thread's sum to the next: reads from the first-level cache, a few under way. Chosen."""

FLASH_SUMS = 128
"""Largest number of 32-bit registers of a thread for results and scores; of 255, the rest is for everything else."""
FLASH_TENSOR_REGISTERS = 190
"""Largest number of registers of a thread for queries, scores and results, of 255."""

MMA_REACHED = 0.5
"""Largest share of the tensor cores' peak that products issued by single warps reach: about 60 % of the datasheet's on
Hopper, more on Ampere. Chosen."""
MMA_READS = 20
"""A warp's 16 rows by 8 depths are four reads from shared memory, of a cycle each; a multiprocessor of Hopper does 16 x
8 x 8 multiplications in less than two. So reads take as long as MMA_READS * (wm + wn) of wm * wn."""

PRODUCTS_MOST_WAVES, PRODUCTS_LEAST_STEPS, PRODUCTS_MOST_SPLITS = 3, 4, 32
"""For splitting the depth: the largest number of waves of blocks, the smallest number of steps of a part, the largest
number of parts. Chosen."""
PRODUCTS_CACHE_SPEED = 2.5
"""Bandwidth of the second-level cache relative to memory: about the published figures for A100 and H100."""
PRODUCTS_STEP = 60e-9
"""Seconds of latency in each step along the depth: its barrier, and the first reads from shared memory."""

ROWS_KEPT_WORDS = 32
"""Registers (32-bit words) of a thread that hold its part of a row between two passes: half of those that each of 1024
threads of a block has."""
ROWS_IN_FLIGHT = 64
"""Bytes of a thread's loads in flight: four vectors, if the compiler groups loads. Expected, not measured."""

TILES_REACHED = 0.85
"""Share of the peak rate of multiplications that is reached where reads from shared memory don't limit it: about what
is published for such code."""
TILES_READS = 4
"""Cost of a thread's read from shared memory in multiplications: per cycle a multiprocessor reads 16 bytes for 8 lanes,
or multiplies in 128 lanes. So reads take as long as TILES_READS * (tm + tn) multiplications, of which there are tm *
tn."""

TRANSPOSE_TILES_SMALLEST = 8
"""Fewest rows and columns for tiles in shared memory: 8 elements of 4 bytes are one memory transaction."""
TRANSPOSE_TILES_MEETING = 0.1e-6
"""Seconds that a block waits at the barrier for its tile. Expected, not measured."""

VECTOR_ROWS_MOST_ROWS = 8
"""Largest number of rows whose sums a thread holds, for four columns each."""
VECTOR_ROWS_SERIAL = 4
"""Time of the products relative to the peak rate: each also reads the left-hand side."""

WARP_ROWS_MOST_EACH = 32
"""Largest number of elements per lane for rows that are computed by a part of a warp."""
