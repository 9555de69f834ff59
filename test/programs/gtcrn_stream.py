"""Speech without noise: frames of a spectrum through GTCRN, one at a time, with caches from call to call.

python gtcrn_stream.py gtcrn.onnx
"""

# pyright: basic
import sys
import time
from typing import Any

import numpy as np
import onnxruntime

Array = np.ndarray[Any, np.dtype[Any]]
FRAMES = 200


def spectrum(frames: int) -> Array:
    """The spectrum of a noisy buzz, [1, 257, frames, 2]."""
    random, length = np.random.default_rng(3), 256 * (frames + 1)
    at = np.arange(length) / 16000
    sound = sum(np.sin(2 * np.pi * 110 * k * at) / k for k in range(1, 12)) + 0.5 * random.standard_normal(length)
    window = np.hanning(512) ** 0.5
    found = np.stack([np.fft.rfft(0.1 * sound[256 * i : 256 * i + 512] * window) for i in range(frames)], 1)
    return np.stack([found.real, found.imag], -1)[None].astype(np.float32)


def main() -> None:
    session: Any = onnxruntime.InferenceSession(sys.argv[1], None, providers=["CPUExecutionProvider"])
    conv_cache = np.zeros([2, 1, 16, 16, 33], dtype="float32")
    tra_cache = np.zeros([2, 3, 1, 1, 16], dtype="float32")
    inter_cache = np.zeros([2, 1, 33, 16], dtype="float32")
    inputs = spectrum(FRAMES)
    outputs, times = [], []
    for i in range(inputs.shape[-2]):
        tic = time.perf_counter()
        out, conv_cache, tra_cache, inter_cache = session.run(
            [],
            {
                "mix": inputs[..., i : i + 1, :],
                "conv_cache": conv_cache,
                "tra_cache": tra_cache,
                "inter_cache": inter_cache,
            },
        )
        times.append(time.perf_counter() - tic)
        outputs.append(out)
    enhanced = np.concatenate(outputs, axis=2)
    print("shape", *enhanced.shape, "energy", round(float((enhanced**2).sum()), 3))
    print("frames", *np.round(np.abs(enhanced[0, :, ::20]).sum((0, 2)), 3))
    print("caches", *(round(float(np.abs(each).sum()), 2) for each in (conv_cache, tra_cache, inter_cache)))
    print(f"median {1000 * float(np.median(times)):.3f} ms a frame", file=sys.stderr)


if __name__ == "__main__":
    main()
