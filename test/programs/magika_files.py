"""What kind of files these are: their first and last bytes through Magika's model.

python magika_files.py magika_v3_3.onnx FILES...
"""

# pyright: basic
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as rt

Array = np.ndarray[Any, np.dtype[Any]]
BLOCK = 4096
SIDE = 1024
PADDING = 256


class Classifier:
    """The model, and the features that it takes."""

    def __init__(self, path: Path) -> None:
        self._session: Any = rt.InferenceSession(path, providers=["CPUExecutionProvider"])

    def features(self, content: bytes) -> list[int]:
        """The first and the last bytes without white space around, filled up."""
        begin = content[:BLOCK].lstrip()[:SIDE]
        end = content[-BLOCK:].rstrip()[-SIDE:]
        return [*begin, *[PADDING] * (SIDE - len(begin)), *[PADDING] * (SIDE - len(end)), *end]

    def scores(self, contents: list[bytes]) -> Array:
        """The score of each kind of file, for every content."""
        batch = np.array([self.features(content) for content in contents], dtype=np.int32)
        (name,) = (each.name for each in self._session.get_inputs())
        return self._session.run(["target_label"], {name: batch})[0]


def main() -> None:
    classifier = Classifier(Path(sys.argv[1]))
    contents = [Path(file).read_bytes() for file in sys.argv[2:]]
    contents += [b"%PDF-1.7\n" * 90, b"<!doctype html><html><body>hello</body></html>", b"\x7fELF" + bytes(600)]
    for content in contents:
        scores = classifier.scores([content])[0]
        print("kind", scores.argmax(), "score", round(float(scores.max()), 4))
    print("together", *classifier.scores(contents).argmax(-1))


if __name__ == "__main__":
    main()
