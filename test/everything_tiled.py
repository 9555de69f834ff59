"""Passes that do what they would not do, or not for small models, as tests of them want it done.

There is no batch there that it pays to work off entry by entry, and nobody asked for bands of rows.
"""

from collections.abc import Generator
from contextlib import contextmanager

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from mini_infer.dialects.graph.base import GraphOp
from mini_infer.passes.graph import tile_batch
from mini_infer.passes.graph.streams.stream_rows import StreamRows


@contextmanager
def everything_tiled() -> Generator[None]:
    """In models that are compiled meanwhile, each op that may run entry by entry does, whatever it costs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tile_batch, "_saved", _a_byte)
        patch.setattr(tile_batch._Run, "pays", _always)  # pyright: ignore[reportPrivateUsage]
        yield


@contextmanager
def everything_streamed(nbytes: int = 400) -> Generator[None]:
    """In models that are compiled meanwhile, what computes rows does so in bands of so many bytes."""
    apply = StreamRows.apply

    def apply_streamed(self: StreamRows, ctx: Context, op: ModuleOp) -> None:
        apply(StreamRows(self.band or nbytes), ctx, op)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StreamRows, "apply", apply_streamed)
        yield


def _a_byte(op: GraphOp, entries: int, cache: int) -> float:
    return 1.0


def _always(run: object) -> bool:
    return True
