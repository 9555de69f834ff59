"""Models whose runs take as long as an input says, up to for ever: tests of what ends a run before."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import numpy as np
from everything_shared import everything_shared
from text_models import model_of

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

COUNTED = """
    g (int64 n, float[8,16] x) => (float[8,16] y) {
      y = Loop (n, , x) <
        body = b (int64 i, bool on, float[8,16] before) => (bool go, float[8,16] after) {
          go = Identity(on)
          one = Softmax <axis = 1> (before)
          two = Transpose <perm = [1, 0]> (one)
          three = Softmax <axis = 1> (two)
          after = Transpose <perm = [1, 0]> (three)
        }
      >
    }"""
"""n rounds."""
UNTIL = """
    g (int64 n, float[8,16] x) => (float[8,16] y) {
      first = Constant <value = bool {1}> ()
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      y, rounds = Loop (, first, x, zero) <
        body = b (int64 i, bool on, float[8,16] before, int64 count) => (bool go, float[8,16] after, int64 counted) {
          after = Softmax <axis = 1> (before)
          counted = Add(count, one)
          go = Less(counted, n)
        }
      >
    }"""
"""n rounds, as a condition says that is computed in each."""
MODELS = {"a loop of so many rounds": COUNTED, "a loop until something holds": UNTIL}
FOR_EVER = 2**60


@cache
def endless(name: str, threads: int = 1, **options: Any) -> mi.Engine:
    """A model of MODELS; with several threads, all of its calls are stages."""
    with everything_shared():
        return mi.compile(model_of(MODELS[name]), **cast("Any", {"threads": threads, **options}))


def rounds(count: int, seed: int = 0) -> dict[str, Array]:
    """Inputs of a run of so many rounds."""
    x = np.random.default_rng(seed).standard_normal((8, 16)).astype(np.float32)
    return {"n": np.array(count, np.int64), "x": x}


def end_threads(engine: mi.Engine) -> None:
    """Ends the threads of an engine's runs in the background, as `close`; it may start others."""
    background, engine._background = engine._background, None  # pyright: ignore[reportPrivateUsage]
    if background is not None:
        background.close()
