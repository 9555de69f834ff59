"""Chosen or published constants of the GPU schedules: tuning for a measured GPU changes this table only.

Beside each number stands where it is from; none has been compared with times on hardware. The limits of the machine are
the target's (GpuAttr in dialects/kernel/targets.py). In schedules' own files stand the sizes that they try.
"""

from __future__ import annotations

LAUNCH = 2e-6
"""Seconds between the launches of one CUDA graph: about what is told of kernels in a row; not measured."""
LATENCY = 600e-9
"""Seconds until what is read from memory is there: some 600 to 800 cycles, as microbenchmarks of A100 and H100 tell."""
PORT = 64
"""Bytes per nanosecond that one multiprocessor reads at most: 64 a cycle, rounded down. So a third of them can keep the
memory busy, if each has enough on its way."""
NEAR = 128
"""Bytes per nanosecond that a multiprocessor reads from its first-level cache: a vector for each of 8 threads a cycle,
rounded down."""
PER_MULTIPROCESSOR = 64e9
"""Bytes per second that one multiprocessor copies from the second-level cache: some 32 to 64 for each of its cycles."""
SHUFFLES = 0.15e-6
"""Seconds that a warp takes to sum up over its lanes: five steps of some 30 cycles. Expected, not measured."""
MEETING = 0.25e-6
"""Seconds that a block takes to do so through shared memory, with the barrier. Expected, not measured."""
ARRIVING = 10e-9
"""Seconds more for each warp that comes there. Expected, not measured."""
STEP = 10e-9
"""Seconds for each element of a row that a thread goes through on its own, a few of them on their way at a time.
Expected, not measured."""

COLUMN_ROWS_MOST_THREADS = 512
"""Threads of a block, at most; chosen."""

ELEMENTS_SERIAL = 4
"""How many times as long sums take whose operands every thread reads itself. Chosen."""
ELEMENTS_SERIAL_PRODUCTS = 16
"""The same of products: two reads for each multiplication, of which a multiprocessor does four in the time of one, and
the arithmetic of their places. Chosen."""
ELEMENTS_READ = 8e-9
"""Seconds from one product of a thread's sum to the next: reads from the first-level cache, a few under way. Chosen."""

FLASH_SUMS = 128
"""Numbers of 32 bits that a thread may keep of results and scores: with 255 registers there is room for the others."""
FLASH_TENSOR_REGISTERS = 190
"""That a thread may hold of queries, scores and results, of 255."""

MMA_REACHED = 0.5
"""The part of the tensor units' speed that products issued by single warps reach at most: some 60 % of what a
datasheet for Hopper says, more of Ampere's. Chosen."""
MMA_READS = 20
"""A warp's 16 rows by 8 depths are four reads from shared memory, of a cycle each; a multiprocessor of Hopper does 16 x
8 x 8 multiplications in less than two. So reads take as long as MMA_READS * (wm + wn) of wm * wn."""

PRODUCTS_MOST_WAVES, PRODUCTS_LEAST_STEPS, PRODUCTS_MOST_SPLITS = 3, 4, 32
"""Of blocks, where the depth is cut; of a part of it; of these parts. Chosen."""
PRODUCTS_CACHE_SPEED = 2.5
"""How many times as fast as from memory blocks read what is in the second-level cache: about what is told of A100 and
H100."""
PRODUCTS_STEP = 60e-9
"""Seconds of a step along the depth that hang on nothing but latencies: barrier, first reads from shared memory."""

ROWS_KEPT_WORDS = 32
"""Words of a thread's registers that hold its part of a row between two passes: half of what 1024 threads of a block
have each."""
ROWS_IN_FLIGHT = 64
"""Bytes that a thread has on their way: four vectors, as far as compilers put loads together. Expected."""

TILES_REACHED = 0.85
"""The part of the multiplications' speed that is reached where reads from shared memory are not in the way: about what
is told of such code."""
TILES_READS = 4
"""A multiprocessor hands 8 lanes 16 bytes in a cycle, in which 128 lanes multiply: what a thread reads takes as long as
TILES_READS * (tm + tn) of its tm * tn multiplications."""

TRANSPOSE_TILES_SMALLEST = 8
"""Rows and columns from which on squares are worth their while: 8 elements of 4 bytes are what is fetched at once."""
TRANSPOSE_TILES_MEETING = 0.1e-6
"""Seconds that a block waits for its square. Expected, not measured."""

VECTOR_ROWS_MOST_ROWS = 8
"""Rows whose sums a thread holds: four columns of each."""
VECTOR_ROWS_SERIAL = 4
"""How many times as long the products take as at full speed: each is a read of the left-hand side too."""

WARP_ROWS_MOST_EACH = 32
"""Elements of a lane up to which rows go to parts of a warp."""
