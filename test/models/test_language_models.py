"""Language models with caches of keys and values: every spelling of them gives the same text."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from mini_infer.dialects.graph.values import Array
from mini_infer.tools.demo_llama import Style, first_inputs, llama, next_inputs

STYLES: list[Style] = ["concat", "attention", "scatter", "microsoft"]


def _by_onnxruntime(style: Style, ids: Array, steps: int) -> Array:
    """The logits of a prompt and of the most likely tokens behind it."""
    options = cast("Any", ort).SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    run = cast("Any", ort.InferenceSession(llama(style).SerializeToString(), options)).run
    logits, *presents = run(None, first_inputs(style, ids))
    parts = [logits]
    for step in range(steps):
        token = np.argmax(parts[-1][:, -1:], -1)
        logits, *presents = run(None, next_inputs(style, token, ids.shape[1] + step, presents))
        parts.append(logits)
    return np.concatenate(parts, 1)


@pytest.mark.parametrize("style", STYLES)
def test_every_spelling_of_the_demo_says_the_same(style: Style) -> None:
    model = llama(style)
    cast("Any", onnx.checker).check_model(model)
    ids = np.random.default_rng(0).integers(0, 200, (2, 7))
    np.testing.assert_allclose(_by_onnxruntime(style, ids, 3), _by_onnxruntime("concat", ids, 3), rtol=0, atol=1e-5)
