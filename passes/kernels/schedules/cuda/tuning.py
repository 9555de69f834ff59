"""Constants of the GPU schedules: tuning for another GPU changes this table only.

Beside each number stands its source. "Measured" is on an H100 (80 GB HBM3, 1.98 GHz, driver 580, NVRTC 13.0): 1100
candidates of 12 products at tf32, fp16 and fp32, each 40 times in a CUDA graph, and the kernels of 16 models by CUPTI
(tools/bench/gpu_day). The limits of the machine are the target's (GpuAttr in
dialects/kernel/targets.py), the candidate sizes in the files of the schedules.
"""

from __future__ import annotations

LAUNCH = 0.8e-6
"""Seconds of a launch in a CUDA graph beside the kernel's own work, with LATENCY the least time of a kernel that reads
memory: 1.3 to 1.5 us were measured."""
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

CLUSTER_MEETING = 0.25e-6
"""Seconds of a barrier of a cluster. Expected, not measured."""
CLUSTER_NEIGHBOURS = 16
"""Multiprocessors of which a cluster's blocks must all be on some: a GPC of Hopper has 16 or 18. By the datasheet."""
CLUSTER_LATENCY = 0.12e-6
"""Seconds until a block has read from the shared memory of another one: 200 cycles are published of H100s
(microbenchmarks). Expected, not measured here."""
CLUSTER_READS = 20
"""Bytes per nanosecond that a multiprocessor reads from the shared memory of others. Published for clusters of four on
an H100: 2.65 TB/s of all (microbenchmarks); 3.3 TB/s for two."""

COLUMN_ROWS_MOST_THREADS = 512
"""Largest number of threads of a block; chosen."""

ELEMENTS_SERIAL = 4
"""Relative time of sums whose operands each thread reads by itself. Chosen."""
ELEMENTS_SERIAL_PRODUCTS = 140
"""The same of products, each of which takes two reads and the arithmetic of their addresses: 160 to 600 of them per
nanosecond were measured on the whole device, of 33,500."""
ELEMENTS_READ = 45e-9
"""Seconds from one product of a thread's sum to the next: 35 to 55 ns measured where a thread has a multiprocessor's
units nearly to itself."""

EXP2 = 8
"""Cycles of the units for powers of two, of which there is one for eight that add. By the programming guide."""

FLASH_SUMS = 128
"""Largest number of 32-bit registers of a thread for results and scores; of 255, the rest is for everything else."""
FLASH_TENSOR_REACHED = 0.7
"""Share of the time in which warps issue or read, between barriers for each tile of keys. Expected, not measured:
FlashAttention-2, which does the same, is published to reach a third of an H100's products of 16 bits."""
FLASH_TENSOR_REGISTERS = 190
"""Largest number of registers of a thread for queries, scores and results, of 255."""

FLASH_WGMMA_OTHERS = 56
"""Registers of a thread for all but fragments and sums: addresses, and what is loaded to be rounded. By NVRTC, which
spills nothing then."""
FLASH_WGMMA_SCORE = 6
"""Instructions for each score: zero, maximum, difference, power, sum, half of a rounding. By the machine code."""
FLASH_WGMMA_ROUNDED = 3
"""Instructions for each number of keys and values that is copied, rounded and laid out. By the machine code."""

MMA_REACHED = 0.6
"""Largest share of the tensor cores' peak that products issued by single warps reach: about 60 % of the datasheet's on
Hopper, more on Ampere. Published; reading the operands takes longer in all that was measured."""
MMA_READS = 160
"""Bytes of operands per nanosecond that the warps of a multiprocessor load from shared memory by ldmatrix, and round.
Expected, not measured: 225 are the limit, and 94 were measured of numbers that were loaded one by one."""
MMA_STORED_BYTE = 8
"""Bytes read from shared memory in the time in which a single byte is stored to it: a lane's slot of 4 bytes, with
conflicts of two banks. Expected, not measured."""

PRODUCTS_MOST_WAVES, PRODUCTS_LEAST_STEPS, PRODUCTS_MOST_SPLITS = 3, 4, 32
"""For splitting the depth: the largest number of waves of blocks, the smallest number of steps of a part, the largest
number of parts. Chosen."""
PRODUCTS_CACHE_SPEED = 2.5
"""Bandwidth of the second-level cache relative to memory: about the published figures for A100 and H100."""
PRODUCTS_STEP = 0.18e-6
"""Seconds of latency in each step along the depth: its barrier, the wait for copies, the first reads from shared
memory. Measured; five stages instead of three change nothing."""
PRODUCTS_STORED = 29
"""Bytes of results per nanosecond that a multiprocessor computes the epilogue of and stores. Measured."""
PRODUCTS_ADDING = 1.8e-6
"""Seconds of the second launch that adds up partial sums. Measured: 1.3 to 2.7 us."""

GRID_MEETING = 1.2e-6
"""Seconds of a barrier of the grid with a block on each multiprocessor: an addition in the second-level cache, and
reads of its result until all have added. Expected, not measured: published microbenchmarks of grid.sync() on earlier
GPUs have 1 to 2 us (Zhang et al., A Study of Single and Multi-device Synchronization Methods in Nvidia GPUs, 2020)."""
GRID_LATENCY = 0.3e-6
"""Seconds until a block has read what another one has just written, from the second-level cache. Expected, not
measured: 270 cycles are published of H100s, more from the farther half of the cache."""

SPREAD_REGISTERS = 88
"""Registers of a thread of a recurrent layer besides sums, states and weights: what NVRTC takes without spilling."""

ROWS_KEPT_WORDS = 32
"""Registers (32-bit words) of a thread that hold its part of a row between two passes: half of those that each of 1024
threads of a block has."""
ROWS_IN_FLIGHT = 64
"""Bytes of a thread's loads in flight: four vectors, if the compiler groups loads. Expected, not measured."""

SCATTER_ROWS = 20e-9
"""Seconds for each update that a thread compares with its row: an index that all threads read. Expected, not
measured."""

SORT_STEP = 50e-9
"""Seconds of one step of a bitonic network on a tile in shared memory: two reads, two writes and a barrier, about 90
cycles. Expected, not measured."""
SORT_PAIRS = 6e9
"""Pairs of 64-bit items per second that a multiprocessor compares and exchanges in shared memory: 32 bytes each, of
128 a cycle. Expected, not measured."""
SORT_READ = 200e-9
"""Seconds from one step of a binary search to the next: a read from the second-level cache. Expected, not measured."""

TILES_REACHED = 0.55
"""Share of the peak rate of multiplications that is reached, about the same for all sizes of a thread's tile.
Measured."""

TRANSPOSE_TILES_SMALLEST = 8
"""Fewest rows and columns for tiles in shared memory: 8 elements of 4 bytes are one memory transaction."""
TRANSPOSE_TILES_MEETING = 0.1e-6
"""Seconds that a block waits at the barrier for its tile. Expected, not measured."""

VECTOR_ROWS_MOST_ROWS = 8
"""Largest number of rows whose sums a thread holds, for four columns each."""
VECTOR_ROWS_SERIAL = 4
"""Time of the products relative to the peak rate: each also reads the left-hand side."""

VECTOR_ROWS_BLOCK_SERIAL = 2.5
"""The same where the right-hand side is block-quantised: five instructions for a number and one row. Expected, not
measured."""

WARP_ROWS_MOST_EACH = 32
"""Largest number of elements per lane for rows that are computed by a part of a warp."""

ROW_STATISTICS = 0.1e-6
"""Seconds in which a block combines the moments of its rows' pieces, while its first tiles are on their way: some 200
cycles behind the loads. Expected, not measured."""
ROW_MOMENTS = 0.12e-6
"""Seconds of a warp for the moments of pieces of rows: three shuffles, SHUFFLES for five, and the arithmetic behind
each. Expected, not measured."""

WGMMA_REACHED = 0.7
"""Largest share of the tensor cores' peak that products by warpgroups reach: 60 to 80 % of the datasheet's are
published. Expected, not measured."""
WGMMA_READS = 94
"""Bytes of the left operand per nanosecond that the warps of a multiprocessor read from shared memory and round, while
tensor cores multiply: MMA_READS. Expected, not measured."""
WGMMA_NORMALISED = 1.15
"""How much longer that takes where rows are normalised: one multiply-add for each number, beside a load and a
conversion for two. Expected, not measured."""
WGMMA_RING_STEP = 0.06e-6
"""PRODUCTS_STEP where a warp of its own copies: the wait for a barrier (mbarrier) whose phase is complete, the first
ldmatrix and the arrival, about 100 cycles, and no barrier of the block. Expected, not measured."""
