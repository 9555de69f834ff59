"""Measured or hand-chosen constants of the CPU schedules: retuning for another CPU changes this table only.

Beside each number stands what it was measured on. The limits of the machine are the target's (CpuAttr in
dialects/kernel/targets.py), and the operations and bytes that estimates start from are counted in passes/work.py.
"""

from __future__ import annotations

ATTENTION_FEW_QUERIES = 4
"""Queries for which panels are not worth it, for moving a key takes as long as some products with it; chosen."""
ATTENTION_AHEAD_SHARE = 0.5
"""Of the second-level cache: what a head reads may take so much where the next one's is asked for beside it.

With 1 MB (Zen 5, one thread) 32 sequences of 128 tokens take 0.90 of the time that way, 8 of 512 tokens 0.97, and what
is in the cache already as long as before.
"""
ATTENTION_GROUP = 4
"""Heads that are rows of one tile: with two keys at once they are eight sums, which hides an addition's latency."""

# Of the second-level cache: what a head's keys and values take from which on blocks pay, a block of them, and the
# queries and sums that meet it. With 1 MB (Zen 5, one thread, heads of 64) 16384 tokens take 0.92 of the time of whole
# rows, 4096 and 2048 0.90, 1024 0.95, causal ones of 4096 0.92; 768 take as long, 577 1.05 times. Blocks of 256 to 512
# keys are within 2 % of each other; of 16384 tokens, whose keys come from memory, a fourth of the queries takes 0.96.
ATTENTION_BLOCKS_HEAD_SHARE = 0.5
ATTENTION_BLOCKS_BLOCK_SHARE = 0.25
ATTENTION_BLOCKS_QUERIES_SHARE = 0.5
ATTENTION_BLOCKS_PAYING, ATTENTION_BLOCKS_NOT_PAYING = 0.95, 1.01
"""Times as long as whole rows blocks take, from that share on and below it."""
ATTENTION_BLOCKS_MOST_KEYS = 384
"""Keys of a block: 14 rows of scores are then 21 KB."""
ATTENTION_BLOCKS_MOST_TILES = 64
"""Tiles of queries that meet a block of keys while it is near."""

BANDS_CACHE_SHARE = 2
"""Scratch takes one in so many bytes of the second-level cache: bands of a row of tiles took 1.05 times as long, bands
that need all of it 1.02 (Zen 5, with 1 MB)."""
BANDS_WEIGHTS_SHARE = 16
"""All weights are read again for each band: they may take one in so many bytes. Blocks of 8 pictures of 14x14 pixels
and 384 or 576 channels took a few percent longer, band by band."""
BANDS_TILE_ROWS = 3
"""Rows of a tile of the depthwise convolution, at most; chosen."""

BLOCKED_PANELS_MOST_TILES = 24
"""Tiles of a block, of which 512 elements of all rows are to lie in half a second-level cache. With 1 MB (Zen 5), 8 to
24 tiles by 2 to 8 panels are within 3 % of each other."""
BLOCKED_PANELS_WAITING = 4
"""Panels of a group where sums wait; where none do a group has all, or as many as leave each thread so many items:"""
BLOCKED_PANELS_ITEMS_PER_THREAD = 4
BLOCKED_PANELS_LONG_SHARE = 0.3
"""Of the second-level cache: from which on a panel of the whole inner sum is too long. With 1 MB (Zen 5, one thread)
196 x 3072 x 768 runs at 238 GFLOP/s instead of 222, 512 x 4096 x 512 at 232 instead of 211, while 784 x 2304 x 256
and 196 x 2048 x 768 gain 1 %, 196 x 1024 x 768 loses 1 %."""
BLOCKED_PANELS_LONG = 0.95
"""Times as long as with whole panels these take."""

DEPTHWISE_COLUMNS = 7
"""Pixels of a row of a tile, at most."""
DEPTHWISE_WRITTEN_OUT = 9
"""Taps up to which a tile may have several rows: the code of 5x5 would be eight times that of its loop."""
DEPTHWISE_TALL = 8
"""Output rows from which on only row counts that divide the height are taken."""
DEPTHWISE_ITEMS_PER_THREAD = 4
"""Pieces of work that balance the threads to within a quarter."""
DEPTHWISE_BUSY = 1.4
"""Times as long as its multiply-adds a tile takes, whose loads and borders few taps hide (MobileNets, Zen 5)."""
DEPTHWISE_MOST_COLUMNS = 32
"""Columns of a filter: code names them; with more of them it would grow beyond that of small filters."""

LINEAR_ATTENTION_REGISTERS = 2
"""Of one vector: two chains of multiply-adds, of which each waits for itself."""

PANELS_INLINE_EPILOGUE = 6
"""Epilogues of more operations than this run in a second pass over the tile instead of once per register: code size and
compile time grow with rows x operations (14 x 9 of them took LLVM 0.4 s on Zen 5). So does one whose code is not
short."""
PANELS_FEW_ROWS = 8
"""Of more rows than this, tiles ask for the next panel while they use one.

With weights that are not in the cache that took MobileNet-v2 from 3.01 to 2.83 ms, and ResNet-50 a few percent down.
With few rows the CPU reads ahead by itself as fast as memory is, and is only held up: 1, 4 and 8 rows by 1024 x 4096
take 150, 163 and 273 us without it and 176, 230 and 296 with it, 14 rows 586 and 496 (Zen 5).
"""
PANELS_PART = 512
"""Elements of an inner sum that are summed apart, up to twice as many where rows of the filter are parts.

Their sums wait in memory while the next part has the registers, which takes three instructions for each: 0.3 % of a
part. With 256 elements products of 768 and 3072 by 768 would round 1.3 times less.
"""
PANELS_ROWS_SHARE = 2
"""Second-level caches that rows fill from which on tiles wait for them, panel after panel.

With 1 MB (Zen 5, one thread) 4096 x 256 x 1024 runs at 203 GFLOP/s instead of 232 where blocks of rows stay there,
25088 x 256 x 128 at 145 instead of 206, 3136 x 256 x 128 at 196 instead of 212, while 3136 x 64 x 256 and 784 x 512 x
128 are as fast.
"""
PANELS_OF_A_GROUP = 60
"""Products of a sum as long as which a tile of a group of channels takes to begin and to end: with 3x3 filters of one
channel, 16 of each, 64 channels of 28x28 pixels take 0.45 ms where the products alone would take 0.06 (Zen 5)."""
PANELS_TILES_PER_THREAD = 4
"""Of the rows, where threads share those out: fewer would leave some without work."""
PANELS_WIDE = 4
"""Registers of a panel that a tuner tries beside those of two."""
PANELS_BLOCK_TILES = 4
"""Tiles of a left-hand side that is computed: the panels are read once for all of them."""

RECURRENCE_PANELS_AT_ONCE = 4
"""Panels whose sums are kept in registers together: one panel of two registers would wait for each multiply-add, which
takes four cycles at two per cycle on Zen 5."""
RECURRENCE_TILES_AT_ONCE = 2
"""A hidden state of 512 has recurrent weights beyond the second-level cache: with one tile a block, GRUs of batch 8
took 15 % longer on Zen 3 (AVX2, 6 rows a tile). The input's share of the gates is kept for each element, so no more."""

ROWS_SUMMING, ROWS_KEEPING = 4, 2
"""Registers that one vector takes: 4 keep enough sums in flight to hide the additions' latency. Where many values of
each row are alive, and a row is kept for each lane, it is 2."""

WINOGRAD_BLOCK = 28
"""Tiles of a block, about: two register tiles of rows with AVX-512.

Where filters are larger than the second-level cache, which has lost them from a block before, twice as many: 28x28x512
by 512 filters take 0.94 of the time on 1 thread, 56x56x256 by 256 0.96 on 2 threads; 224x224x64 by 64 would take 1.02.
But each thread has a block where it can: two take 28x28x512 by 512 in 0.91 to 0.97 of the time that it takes to share
out the filters of one block, whose tiles both transform (Zen 5).
"""
WINOGRAD_CHUNK = 64
"""Output channels of a chunk, at most: so many sums of each coordinate and tile wait for their transform."""
WINOGRAD_FEW = 16
"""Channels below which a convolution is better done as it stands: products of fewer take as long as of so many."""

# What Winograd's estimate of time is made of, fitted to what 39 layers of 16 to 512 channels and 7 to 224 pixels took
# in their models on Zen 5, one thread, with tiles of 2 and of 4 and both packings of filters: within 8 % of eight in
# ten.
WINOGRAD_BUSY = 1.07
"""Times as long as their multiply-adds products take."""
WINOGRAD_MOVED = 3
"""Instructions that a transform takes for each number that it makes or reads of a coordinate."""
WINOGRAD_MADE = 6
"""The same for each number of filters that are half transformed, in each block; in the first one a third."""
WINOGRAD_HIDDEN = 0.55
"""How much of the time that products take filters are read in, which are asked for ahead."""
WINOGRAD_WAITED = 0.05
"""How much of the time that reading filters takes is waited for in any case."""

WEIGHTS_KEPT, WEIGHTS_PRICE = 16 << 20, 10e-12
"""Bytes of weights that a CPU's caches may hold, and seconds that each beyond them is worth: it comes from memory, and
takes some. On one thread of Zen 5 VGG-16 takes as long with 3x3 filters of 512 by 512 channels half transformed at
28x28 pixels, too, and packs 38 MB less."""
WEIGHTS_COMPACT = 1.5
"""How many times as long the schedule of a kernel may take for smaller weights. It is chosen so that 3x3 filters are
transformed for tiles of 4 from pictures of 28 pixels on and for tiles of 2 below, where tiles of 4 gain 0 to 30 %."""
