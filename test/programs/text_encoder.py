"""Sentences as vectors: a transformer over texts of all lengths, and how alike they are.

    python text_encoder.py encoder.onnx

The model takes "ids", int64 [batch, seq], and gives a vector for every token.
"""

# pyright: basic
import sys
from typing import Any

import numpy as np
import onnxruntime as ort

Array = np.ndarray[Any, np.dtype[Any]]
WORDS = ["a", "compiler", "plans", "memory", "before", "it", "runs", "and", "never", "while", "programs", "run", "on"]


def encode(session: Any, text: str) -> Array:
    ids = np.array([[sum(word.encode()) % 97 for word in text.split()]], dtype=np.int64)
    tokens = session.run(None, {session.get_inputs()[0].name: ids})[0]
    vector = tokens[0].mean(0)
    return vector / np.linalg.norm(vector)


def main() -> None:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(sys.argv[1], options, providers=ort.get_available_providers())
    for each in session.get_inputs():
        print("input", each.name, each.type, *each.shape)
    texts = [" ".join((WORDS * 5)[:length]) for length in (5, 9, 31, 2, 17, 48, 5, 64, 23)]
    vectors = np.stack([encode(session, text) for text in texts])
    for row in vectors @ vectors[:3].T:
        print(*np.round(row, 4))


if __name__ == "__main__":
    main()
