"""What a language model says, token by token, compared with ONNX Runtime.

    python docs/generate.py                        # a small Llama with random weights
    python docs/generate.py MODEL.onnx --tokens 200 --prompt 5 17 230

A model takes "input_ids" [batch, sequence], caches "past_key_values.N.key" and ".value" [batch, heads, past, size], and
perhaps "position_ids" and "attention_mask"; it gives "logits" and the caches with what is new joined to them, which are
called "present.N.key" and ".value".
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import onnx
from google.protobuf.message import DecodeError

import mini_infer as mi
from mini_infer.tools.demos.llama import LlamaSizes, llama
from mini_infer.tools.one_line_errors import status_of

Array = np.ndarray[Any, np.dtype[Any]]


class Session:
    """A model's inputs, and what its caches hold so far."""

    def __init__(self, run: Callable[[dict[str, Array]], Sequence[Array]], model: onnx.ModelProto) -> None:
        self.run = run
        self.shapes = {each.name: each.type.tensor_type.shape.dim for each in model.graph.input}
        self.pasts = [name for name in self.shapes if name.startswith("past_key_values")]
        sizes = [[dim.dim_value for dim in self.shapes[name]] for name in self.pasts]
        self.caches: Sequence[Array] = [np.zeros((1, size[1], 0, size[3]), np.float32) for size in sizes]
        self.length = 0

    def read(self, tokens: Sequence[int]) -> Array:
        """The logits behind the last of these tokens."""
        end = self.length + len(tokens)
        inputs = {
            "input_ids": np.array([tokens]),
            "position_ids": np.arange(self.length, end)[None],
            "attention_mask": np.ones((1, end), np.int64),
        }
        given = {name: value for name, value in inputs.items() if name in self.shapes}
        logits, *self.caches = self.run({**given, **dict(zip(self.pasts, self.caches, strict=True))})
        self.length = end
        return logits[0, -1]


def generate(session: Session, prompt: Sequence[int], count: int) -> tuple[list[int], list[Array], float]:
    """The most likely tokens behind a prompt, the logits of each, and the seconds that each took but the first."""
    logits = [session.read(prompt)]
    start = time.perf_counter()
    for _ in range(count - 1):
        logits.append(session.read([int(np.argmax(logits[-1]))]))
    return [int(np.argmax(each)) for each in logits], logits, (time.perf_counter() - start) / max(1, count - 1)


def profile_of(model: onnx.ModelProto, prompt: int, tokens: int) -> mi.OptimizationProfile:
    """One batch entry, a prompt or a single token, and caches that are empty at first."""
    inputs = {each.name: [dim.dim_param for dim in each.type.tensor_type.shape.dim] for each in model.graph.input}
    try:
        batch, sequence = inputs["input_ids"]
        _, _, past, _ = next(shape for name, shape in inputs.items() if name.startswith("past_key_values"))
    except (KeyError, StopIteration, ValueError):
        wanted = "input_ids [batch, sequence] and past_key_values.N.key [batch, heads, past, size]"
        raise mi.InvalidModelError(f"inputs {wanted} are wanted; there are {', '.join(inputs) or 'none'}") from None
    last = prompt + tokens
    return mi.OptimizationProfile(dims={batch: (1, 1, 1), sequence: (1, 1, prompt), past: (0, last // 2, last)})


def loaded(path: str) -> onnx.ModelProto:
    """The model in a file, without the weights beside it."""
    try:
        return cast(Any, onnx).load(path, load_external_data=False)
    except DecodeError:
        raise mi.InvalidModelError(f"{path}: not an ONNX model") from None


def positive(text: str) -> int:
    """A number of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 where both say the same tokens; what is wrong with the arguments is told in a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--tokens", type=positive, default=40)
    parser.add_argument("--prompt", type=int, nargs="+", default=[3, 1, 4, 1, 5, 9, 2, 6])
    parser.add_argument("--threads", type=positive, default=1)
    given = parser.parse_args(arguments)
    return status_of("generate.py", lambda: compare(given))


def compare(given: argparse.Namespace) -> int:
    """Prints the tokens and how near the logits are to ONNX Runtime's; 1 where the tokens differ."""
    sizes = LlamaSizes(layers=1, capacity=len(given.prompt) + given.tokens)
    model = loaded(given.model) if given.model else llama("attention", sizes)
    profile = profile_of(model, len(given.prompt), given.tokens)
    pasts = [each.name for each in model.graph.input if each.name.startswith("past_key_values")]
    caches = {past: past.replace("past_key_values", "present") for past in pasts}
    engine: Any = mi.compile(given.model or model, profile=profile, caches=caches, threads=given.threads)
    ours = Session(lambda inputs: tuple(engine(inputs).values()), model)
    tokens, logits, seconds = generate(ours, given.prompt, given.tokens)
    print("tokens:", *tokens)
    print(f"{seconds * 1e3:.2f} ms per token, compiles: {engine.compiles}")

    try:
        import onnxruntime as ort
    except ImportError:
        return 0
    options = cast(Any, ort).SessionOptions()
    options.intra_op_num_threads = given.threads
    reference = cast(Any, ort).InferenceSession(given.model or model.SerializeToString(), options)
    theirs = Session(lambda inputs: reference.run(None, inputs), model)
    expected, wanted, seconds = generate(theirs, given.prompt, given.tokens)
    error = max(float(np.max(np.abs(a - b))) for a, b in zip(logits, wanted, strict=True))
    print(f"ONNX Runtime: {seconds * 1e3:.2f} ms per token, logits differ by {error:.1e} at most")
    print("the same tokens" if tokens == expected else f"other tokens: {expected}")
    return int(tokens != expected)


if __name__ == "__main__":
    raise SystemExit(main())
