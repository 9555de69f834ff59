"""Small models have no batch that it pays to work off entry by entry; tests of tile-batch want it done all the same."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from mini_infer.dialects.graph.base import GraphOp
from mini_infer.passes.graph import tile_batch


@contextmanager
def everything_tiled() -> Generator[None]:
    """In models that are compiled meanwhile, each op that may run entry by entry does, whatever it costs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tile_batch, "_saved", _a_byte)
        patch.setattr(tile_batch._Run, "pays", _always)  # pyright: ignore[reportPrivateUsage]
        yield


def _a_byte(op: GraphOp, entries: int, cache: int) -> float:
    return 1.0


def _always(run: object) -> bool:
    return True
