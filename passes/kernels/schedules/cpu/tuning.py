"""Measured or hand-chosen constants of the CPU schedules: retuning for another CPU changes this table only.

Beside each number stands what it was measured on. The limits of the machine are the target's (CpuAttr in
dialects/kernel/targets.py), and the operations and bytes that estimates start from are counted in passes/cost_model.py.
"""

from __future__ import annotations

ATTENTION_FEW_QUERIES = 4
"""Up to so many queries, keys are not packed into panels: packing a key takes as long as a few products with it;
chosen."""
ATTENTION_AHEAD_SHARE = 0.5
"""Share of the second-level cache: keys and values of a head up to this size are prefetched during the head before.

With 1 MB (Zen 5, one thread) 32 sequences of 128 tokens take 0.90 of the time with it, 8 of 512 tokens 0.97; data that
is in the cache already takes as long as without.
"""
ATTENTION_GROUP = 4
"""Heads that are rows of one tile: with two keys at a time these are eight sums, which hide the latency of
additions."""
ATTENTION_SHARED = 8
"""Heads, in tiles, for which keys are read from memory once: work for one block of keys while the next is read."""

# Shares of the second-level cache: the size of a head's keys and values from which on blocks pay, that of one block,
# and that of the queries and sums that are computed with it. With 1 MB (Zen 5, one thread, heads of 64) 16384 tokens
# take 0.92 of the time of whole rows, 4096 and 2048 0.90, 1024 0.95, causal ones of 4096 0.92; 768 take as long, 577
# 1.05 times. Blocks of 256 to 512 keys are within 2 % of each other; of 16384 tokens, whose keys come from memory, a
# fourth of the queries takes 0.96.
ATTENTION_BLOCKS_HEAD_SHARE = 0.5
ATTENTION_BLOCKS_BLOCK_SHARE = 0.25
ATTENTION_BLOCKS_QUERIES_SHARE = 0.5
ATTENTION_BLOCKS_PAYING, ATTENTION_BLOCKS_NOT_PAYING = 0.95, 1.01
"""Time of blocks relative to whole rows of scores: from ATTENTION_BLOCKS_HEAD_SHARE on, and below it."""
ATTENTION_BLOCKS_MOST_KEYS = 384
"""Keys of a block: 14 rows of scores are then 21 KB."""
ATTENTION_BLOCKS_MOST_TILES = 64
"""Tiles of queries that use a block of keys while it is in the cache, at most."""

BANDS_CACHE_SHARE = 2
"""Scratch is at most the second-level cache divided by this: bands of one row of tiles took 1.05 times as long, bands
that fill the whole cache 1.02 (Zen 5, with 1 MB)."""
BANDS_WEIGHTS_SHARE = 16
"""Weights, which each band reads again, are at most the second-level cache divided by this: blocks of 8 pictures of
14x14 pixels and 384 or 576 channels took a few percent longer in bands."""
BANDS_TILE_ROWS = 3
"""Largest number of rows of a tile of the depthwise convolution; chosen."""

BLOCK_DOTS_BESIDE_SUMS = 5
"""Registers of a tile of dot products besides its sums, of which it has two kinds, and those that every tile needs."""
BLOCK_DOTS_ROWS = 64
"""Largest number of rows that are rounded at a time."""
BLOCKED_PANELS_MOST_TILES = 24
"""Largest number of tiles of a block; 512 elements of each of its rows must fit half the second-level cache. With 1 MB
(Zen 5), 8 to 24 tiles by 2 to 8 panels are within 3 % of each other."""
BLOCKED_PANELS_WAITING = 4
"""Panels of a group whose partial sums are kept in memory. Without partial sums a group has all panels, or as many as
leave each thread so many items of work:"""
BLOCKED_PANELS_ITEMS_PER_THREAD = 4
BLOCKED_PANELS_LONG_SHARE = 0.3
"""Share of the second-level cache: a panel of the whole inner dimension from this size on is divided. With 1 MB (Zen 5,
one thread) 196 x 3072 x 768 runs at 238 GFLOP/s instead of 222, 512 x 4096 x 512 at 232 instead of 211, while 784 x
2304 x 256 and 196 x 2048 x 768 gain 1 %, 196 x 1024 x 768 loses 1 %."""
BLOCKED_PANELS_LONG = 0.95
"""Time of divided panels relative to whole ones."""

DEQUANTISED_FEW_TILES, DEQUANTISED_FEW_TILES_OF_512 = 2, 16
"""Most tiles of rows that unpack block-quantised weights in registers, each by itself; with vectors of 512 bits more.

There unpacking overlaps with products: 8, 16, 32, 64 and 128 rows by 2048 x 5632 numbers of 4 bits take 0.49, 0.65,
0.87, 0.93 and 0.99 of the time with panels in scratch (Zen 5, one thread). Elsewhere chosen.
"""
DEPTHWISE_COLUMNS = 7
"""Largest number of pixels of a row of a tile of several rows; of one row it is twice as many. Seven sums wait for each
other: with fourteen, filters of 7x7 and more take 0.6 to 0.9 of the time, of 5x5 0.72 to 0.95 (Zen 5)."""
DEPTHWISE_WRITTEN_OUT = 9
"""Largest number of taps for tiles of several rows, whose taps are unrolled: for 5x5, eight times the code of a
loop."""
DEPTHWISE_TALL = 8
"""Output height from which on the rows of a tile must divide the height."""
DEPTHWISE_ITEMS_PER_THREAD = 4
"""Items of work per thread, which balance the threads to within a quarter."""
DEPTHWISE_BUSY = 1.4
"""Time of a tile relative to its multiply-adds: few taps do not hide loads and borders (MobileNets, Zen 5)."""
DEPTHWISE_MOST_COLUMNS = 32
"""Largest number of columns of a filter: columns are unrolled, and more of them would take too much code."""

LINEAR_ATTENTION_REGISTERS = 2
"""Registers that one vector of sums takes: two independent chains of multiply-adds hide some of their latency."""

PANELS_INLINE_EPILOGUE = 6
"""Epilogues of more operations than this run in a second pass over the tile instead of once per register: code size and
compile time grow with rows x operations (14 x 9 of them took LLVM 0.4 s on Zen 5). So do epilogues with an operation
whose code is long."""
ONE_ROW_COLUMNS = 2048
"""Columns whose sums are in scratch while rows of a matrix are added up: 8 KB, beside rows of as many bytes; chosen."""

PANELS_FEW_ROWS = 8
"""Products of more rows than this prefetch the next panel while they use one.

With weights that are not in the cache this took MobileNet-v2 from 3.01 to 2.83 ms, and ResNet-50 a few percent down.
With few rows the hardware prefetcher keeps up with memory, and instructions for it only take time: 1, 4 and 8 rows by
1024 x 4096 take 150, 163 and 273 us without them and 176, 230 and 296 with them, 14 rows 586 and 496 (Zen 5).
"""
PANELS_PART = 512
"""Elements of a part of an inner sum, which is summed separately; up to twice as many where parts are rows of a filter.

The partial sums are kept in memory while registers hold those of the next part; that takes three instructions for each
sum, 0.3 % of a part. With 256 elements products of 768 and 3072 by 768 would round 1.3 times less.
"""
PANELS_ROWS_SHARE = 2
"""From so many times the second-level cache on, tiles wait for memory when they read all rows again for each panel.

With 1 MB (Zen 5, one thread) 4096 x 256 x 1024 runs at 203 GFLOP/s instead of 232 where blocks of rows stay there,
25088 x 256 x 128 at 145 instead of 206, 3136 x 256 x 128 at 196 instead of 212, while 3136 x 64 x 256 and 784 x 512 x
128 are as fast.
"""
PANELS_OF_A_GROUP = 60
"""Fixed cost of a tile of a group of channels, in products of each sum: with 3x3 filters of one channel, 16 of each, 64
channels of 28x28 pixels take 0.45 ms where the products alone would take 0.06 (Zen 5)."""
PANELS_TILES_PER_THREAD = 4
"""Tiles of rows per thread where threads divide the rows; fewer would leave some threads without work."""
PANELS_WIDE = 4
"""Registers of the wider panels that the tuner tries besides those of two."""
PANELS_BLOCK_TILES = 4
"""Tiles of a computed left-hand side in one block: the panels are read once for all of them."""

POOL_CACHE_SHARE = 1
"""A register of pictures is at most the second-level cache divided by this; chosen."""
POOL_TRANSPOSED = 12
"""Instructions of an element that is brought into a register of pictures, or back; those of a tap are 2. With them,
estimates are 0.7 to 1.6 of the time of ten pools (Zen 5)."""
POOL_STRIDES = 4
"""Strides up to which elements that are not next to each other are loaded as so many registers (lane_access.py)."""
POOL_ROW = 20
"""Instructions of a row of the result besides its taps: rows of 7 to 20 results take 2 to 8 ns (Zen 5)."""

RECURRENCE_PANELS_AT_ONCE = 4
"""Panels whose sums are in registers at the same time: one panel of two registers would wait for each multiply-add,
which takes four cycles at two per cycle on Zen 5."""
RECURRENCE_TILES_AT_ONCE = 2
"""Largest number of tiles of batch elements in a block: with one, GRUs of batch 8 with a hidden state of 512, whose
recurrent weights don't fit the second-level cache, took 15 % longer on Zen 3 (AVX2, 6 rows a tile). Not more, since a
block keeps the input's part of the gates for each element."""

RESIZE_GATHERED = 40
"""Instructions for each neighbour of an element where elements are computed one by one: 0.25 to 0.4 ns on Zen 5."""
RESIZE_ROWS = 64
"""Rows that are resampled before sums of them are made: four registers of rows with AVX-512; chosen."""
RESIZE_CACHE_SHARE = 2
"""They are at most the second-level cache divided by this; chosen."""

ROWS_SUMMING, ROWS_KEEPING = 4, 2
"""Registers of sums for each vector of rows: 4 hide the latency of additions; 2 where each lane keeps a row and many
values of it are live."""

WINOGRAD_BLOCK = 28
"""Approximate number of tiles of a block: two register tiles of rows with AVX-512.

Twice as many where the filters don't fit the second-level cache, so that each block reads them from memory: 28x28x512
by 512 filters take 0.94 of the time on 1 thread, 56x56x256 by 256 0.96 on 2 threads; 224x224x64 by 64 would take 1.02.
Fewer where each thread then has a block of its own: two threads take 28x28x512 by 512 in 0.91 to 0.97 of the time of
one block, whose filters they divide and whose tiles both transform (Zen 5).
"""
WINOGRAD_CHUNK = 64
"""Largest number of output channels of a chunk, whose sums of all coordinates and tiles are kept until transformed."""
WINOGRAD_LARGE_PICTURE = 10
"""Rows and columns from which on tiles of 4 are as fast as those of 2, or faster: 14 x 14 of 256 channels take 0.32 ms
by the ones and 0.42 by the others, 7 x 7 of 512 channels 0.96 and 0.64 (Zen 5)."""
WINOGRAD_FEW = 16
"""Fewest channels for Winograd: products of fewer channels take as long as of so many."""

# Parameters of the estimate of Winograd's time, fitted to the times of 39 layers of 16 to 512 channels and 7 to 224
# pixels in their models (Zen 5, one thread), with tiles of 2 and of 4 and both packings of filters: the estimates of
# eight in ten are within 8 %.
WINOGRAD_BUSY = 1.07
"""Time of products relative to their multiply-adds."""
WINOGRAD_MOVED = 3
"""Instructions of a transform for each element of a coordinate that it reads or writes."""
WINOGRAD_MADE = 6
"""The same for each element of half-transformed filters, in each block; a third of it in the first."""
WINOGRAD_HIDDEN = 0.55
"""Share of the products' time that hides the reading of filters, which are prefetched."""
WINOGRAD_WAITED = 0.05
"""Share of the time of reading filters that prefetching does not hide."""

WEIGHTS_KEPT, WEIGHTS_PRICE = 16 << 20, 10e-12
"""Bytes of weights that a CPU's caches may hold, and the price, in seconds, of each byte beyond: it is read from
memory, and takes memory. On one thread of Zen 5 VGG-16 takes no longer with half-transformed 3x3 filters of 512 by 512
channels at 28x28 pixels too, and packs 38 MB less."""
WEIGHTS_COMPACT = 1.5
"""Largest factor by which a schedule with smaller weights may be slower. Chosen so that 3x3 filters are transformed for
tiles of 4 from pictures of 28 pixels on, and for tiles of 2 below, where tiles of 4 are 0 to 30 % faster."""

TREE_WALKS = 16
"""Walks down trees at once. 1,000 trees of depth 8 take 3.7 ns for a row and a tree with 16, 5.1 with 8, 7.2 with 4 and
5.8 with 32; one row takes 13.5 us with 16, 17 with 8 and 14.5 with 32 (Zen 5, one thread)."""
TREE_ROWS = 128
"""Rows of a block: 32 take 1.14 times as long, 512 as long (Zen 5, 32 features)."""
TREE_VECTORS = 4
"""Vectors of rows that a tree tests at once. 1,000 trees of 31 leaves take 0.90 ns for a row and a tree, 1.13 with 2,
and 0.80 with 8, which leave more rows for single vectors: 64 rows take 2.0 times as long. Walks take 7.2 ns (Zen 5)."""
TREE_FEW, TREE_FEW_LINKED = 4, 10
"""Tests that take the time of one row's walk down a complete tree, and down a linked one. A vector of rows takes as
long as 7 rows down trees of depth 5, as 15 of depth 6, and as 3 down trees of 31 leaves that LightGBM grows (Zen 5)."""
TREE_CACHE = 4
"""Columns of a block's features take at most this part of the second-level cache."""
