"""TfIdfVectorizer of integers, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from import_cases import onnxruntime
from text_models import model_of

import mini_infer as mi
from mini_infer.dialects.errors import InvalidModelError, UnsupportedError
from mini_infer.lowering.onnx_to_graph import import_onnx

TEXT = """
    g (int64[3,9] x) => (float[3,7] y) {
      y = TfIdfVectorizer <mode = "TF", min_gram_length = 1, max_gram_length = 3, max_skip_count = 2,
        pool_int64s = [1, 3, 0, 1, 1, 1, 2, 0, 2, 1, 0], ngram_counts = [0, 2, 8], ngram_indexes = [4, 0, 6, 1, 3, 5],
        weights = [0.5, 2.0, 3.0, 0.25, 1.5, 4.0]> (x)
    }"""


@pytest.mark.thinned(5)
@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("lengths", ["1, max_gram_length = 3", "2, max_gram_length = 2"])
def test_runs_of_integers_are_counted(mode: str, lengths: str) -> None:
    model = model_of(TEXT.replace('"TF"', f'"{mode}"').replace("1, max_gram_length = 3", lengths), 9)
    x = np.random.default_rng(0).integers(0, 4, (3, 9))
    np.testing.assert_array_equal(mi.compile(model, threads=1)(x), onnxruntime(model, {"x": x})[0])


@pytest.mark.parametrize(
    ("before", "after", "error", "message"),
    [
        (
            "pool_int64s = [1, 3, 0, 1, 1, 1, 2, 0, 2, 1, 0]",
            'pool_strings = ["a"]',
            UnsupportedError,
            "looks for strings",
        ),
        ("ngram_counts = [0, 2, 8]", "ngram_counts = [0, 2, 7]", InvalidModelError, "5 numbers can't be n-grams of 2"),
        ("[4, 0, 6, 1, 3, 5]", "[4, 0, 6, 1, 3]", InvalidModelError, "has 5 entries for 6 runs"),
        ("[4, 0, 6, 1, 3, 5]", "[4, 0, 6, 1, 3, 4]", InvalidModelError, "must be distinct"),
        ('"TF"', '"DF"', InvalidModelError, "mode DF is unknown"),
    ],
)
def test_what_is_wrong_is_named(before: str, after: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        import_onnx(model_of(TEXT.replace(before, after), 9))
