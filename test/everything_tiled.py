"""Small models have no batch that it pays to work off entry by entry; tests of tile-batch want it done all the same."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from mini_infer.passes.graph import tile_batch


@contextmanager
def everything_tiled() -> Generator[None]:
    """In models that are compiled meanwhile, each op that may run entry by entry does, whatever it costs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tile_batch, "_saved", lambda *_: 1.0)
        patch.setattr(tile_batch._Run, "pays", lambda _: True)  # pyright: ignore[reportPrivateUsage]
        yield
