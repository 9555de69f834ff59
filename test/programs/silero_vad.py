"""Where someone speaks: chunks of sound through Silero's detector, whose state goes from call to call.

python silero_vad.py silero_vad_v6.onnx
"""

# pyright: basic
import sys
from typing import Any

import numpy as np
import onnxruntime

Array = np.ndarray[Any, np.dtype[Any]]


class OnnxWrapper:
    """The model with its state and the samples before each chunk."""

    def __init__(self, path: str) -> None:
        options = onnxruntime.SessionOptions()
        options.inter_op_num_threads = 1
        options.intra_op_num_threads = 1
        if "CPUExecutionProvider" in onnxruntime.get_available_providers():
            self.session: Any = onnxruntime.InferenceSession(
                path, providers=["CPUExecutionProvider"], sess_options=options
            )
        else:
            self.session = onnxruntime.InferenceSession(path, sess_options=options)
        self.sample_rates = [8000, 16000]
        self.reset_states()

    def reset_states(self, batch_size: int = 1) -> None:
        self._state = np.zeros((2, batch_size, 128), np.float32)
        self._context: Array = np.zeros(0, np.float32)
        self._last_rate = 0
        self._last_batch_size = 0

    def __call__(self, x: Array, rate: int) -> Array:
        if x.ndim == 1:
            x = x[None]
        if rate not in self.sample_rates:
            raise ValueError(f"Supported sampling rates: {self.sample_rates}")
        context_size = 64 if rate == 16000 else 32
        if not self._last_batch_size or self._last_rate != rate or self._last_batch_size != x.shape[0]:
            self.reset_states(x.shape[0])
        if not self._context.size:
            self._context = np.zeros((x.shape[0], context_size), np.float32)
        x = np.concatenate([self._context, x], 1)
        output, state = self.session.run(None, {"input": x, "state": self._state, "sr": np.array(rate, dtype="int64")})
        self._state = state
        self._context = x[..., -context_size:]
        self._last_rate, self._last_batch_size = rate, x.shape[0]
        return output

    def audio_forward(self, sound: Array, rate: int) -> Array:
        """The probability of speech in every chunk of a sound."""
        self.reset_states()
        size = 512 if rate == 16000 else 256
        chunks = np.pad(sound, (0, -len(sound) % size)).reshape(-1, size)
        return np.concatenate([self(chunk, rate) for chunk in chunks], 1)


def sound(rate: int) -> Array:
    """Two seconds: noise, then a buzz that changes its pitch and loudness as a voice does."""
    random, time = np.random.default_rng(0), np.arange(2 * rate) / rate
    pitch = 120 + 20 * np.sin(2 * np.pi * 3 * time)
    voice = sum(np.sin(np.cumsum(2 * np.pi * k * pitch / rate)) / k for k in range(1, 20))
    loudness = (time > 0.7) * (1 + np.sin(2 * np.pi * 4 * time)) / 4
    return (loudness * voice * 0.3 + 0.01 * random.standard_normal(len(time))).astype(np.float32)


def main() -> None:
    model = OnnxWrapper(sys.argv[1])
    for rate in (16000, 8000):
        speech = model.audio_forward(sound(rate), rate)[0]
        print(rate, len(speech), "chunks:", *np.round(speech, 4))
        pair = np.stack([sound(rate), sound(rate)[::-1]])[:, : 512 if rate == 16000 else 256]
        print("two at a time:", *np.round(model(pair, rate)[:, 0], 4))


if __name__ == "__main__":
    main()
