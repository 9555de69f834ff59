"""stream-rows: runs layers a band of rows at a time, so that no value is whole.

before:  %1 = graph.conv %x, %w1 {pads = array<i64: 1, 1, 1, 1>, ..} : (tensor<1x512x512x3xf32>, ..)
         %2 = graph.conv %1, %w2 {pads = array<i64: 1, 1, 1, 1>, ..} : (tensor<1x512x512x64xf32>, ..)
after:   %3 = graph.conv (rows 0..5 of %x), %w1 {pads = array<i64: 1, 1, 0, 1>, ..}          rows 0..4 of %1
         %4 = graph.conv (rows 0..4 of %3), %w2 {pads = array<i64: 1, 1, 0, 1>, ..}          rows 0..3 of %2
         %5 = graph.slice %3 (rows 2..4)                                                     what is read again
         %.., %6, %2 = scf.for %i = %c0 to %c126 step %c1 iter_args(%n = %zero, %kept = %5, %all = %rows) {
           %7 = graph.conv (graph.extract_rows %x, 4 * %i + 3), %w1 {pads = array<i64: 0, 1, 0, 1>, ..}
           %8 = graph.concat %kept, %7                                                       six rows of %1
           %9 = graph.conv %8, %w2 {pads = array<i64: 0, 1, 0, 1>, ..}                       four of %2
           %10 = graph.slide %kept, (graph.slice %8, its last two rows)                      in place
           scf.yield %n + 1, %10, (graph.insert_rows %all, %9, 4 * %i + 3)
         }
         ..                                                                                  the last rows likewise

Where windows read many rows again for few new ones, `%kept` has place for the new ones too, and they slide in. Rows
that wait for a branch over many turns lie in a ring: each turn writes over those that nobody needs any more, at a row
that is a remainder of its number. Rows of `%x` are read, and those of `%2` written, where they lie, if each row is one
piece of memory; else they are gathered, and scattered. Of each value only a band is there, with the rows that windows
read again: what an arena holds no longer grows with the height of a picture. Nothing is computed twice, and every row
by the same ops from the same rows, so results have the bits of those of whole values under the same schedules. Weights
are read for each band again, and rows that windows read again are copied.

`band` is the size of a band in bytes; 0, the default, leaves all as it is. Bands are what an op makes or reads at
once, of values of one height equally many rows; where they would be most of a value, it is made whole. Where few bytes
lie between two layers, what comes before and what comes after may be streams of their own, with that value whole:
chosen is what has the lowest peak of live bytes by estimate. What nothing but means of all pixels reads is made a group
of channels at a time; queries, keys and values that products make, of a group of heads at a time, and no stream goes on
into these. A stream begins with a product or a pool, and before that with what it alone reads, by rows. Its result is
written over a value that nobody reads later, where rows of that are read before. Only sizes that are known. Comes last,
when ops have their layouts.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import region_dce

from ....dialects.errors import ConfigError
from ....dialects.graph.blobs import blob_store
from ....dialects.graph.host import main_of
from ...statistics import count
from ..support.pattern_utils import Constants
from .find_streams import find_streams, moved_behind
from .row_schedule import Stream, bands, firings
from .split_channels import split_channels
from .split_heads import split_heads
from .split_streams import split_stream
from .write_stream import StreamWriter


@dataclass(frozen=True)
class StreamRows(ModulePass):
    """Runs layers a band of rows at a time, so that no value is whole."""

    name = "stream-rows"
    band: int = 0
    """Bytes of a band; 0 for no streams."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.band < 0:
            raise ConfigError(f"stream-rows: a band of {self.band} bytes")
        if not self.band:
            return
        main = main_of(op, self.name)
        constants = Constants(blob_store(ctx))
        apart = split_channels(main.body.block, self.band, constants)
        apart |= split_heads(main.body.block, self.band, constants)
        for found in reversed(find_streams(main.body.block, apart)):
            for stream in reversed(split_stream(found, self.band)):
                _write(stream, self.band)
                count(ctx, self.name, "layers run by bands of rows", len(stream.ops))
        region_dce(main.body)  # casts of weights that each band has for itself now


def _write(stream: Stream, nbytes: int) -> None:
    """Replaces the ops of a stream by those that make bands."""
    moved_behind(stream)
    last = stream.ops[-1].next_op
    assert last is not None
    whole = StreamWriter(stream, last).write(firings(stream, bands(stream, nbytes)))
    for old, new in whole.items():
        old.replace_all_uses_with(new)
    for op in reversed(stream.ops):
        Rewriter.erase_op(op)
