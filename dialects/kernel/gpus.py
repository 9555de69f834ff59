"""Tables of known GPUs and of precisions for matrix products; no imports, as the tools read them at start."""

from __future__ import annotations

PRECISIONS = ("fp32", "tf32", "3xtf32", "fp16", "bf16")
"""How a GPU multiplies in contractions: as floats of 32 bits; rounded to 19 bits, or as sums of three such products; or
rounded to 16 bits. Sums are always of 32 bits."""

GPUS: dict[str, dict[str, int]] = {
    "sm_80": {},
    "sm_90a": {
        "multiprocessors": 132,
        "shared": 227 << 10,
        "l2": 50 << 20,
        "gflops": 67_000,
        "tensor_gflops": 494_000,
        "gbytes": 4_300,
    },
    "sm_100a": {
        "multiprocessors": 148,
        "shared": 227 << 10,
        "l2": 126 << 20,
        "gflops": 75_000,
        "tensor_gflops": 1_100_000,
        "gbytes": 7_700,
    },
}
"""What stands for an architecture where its limits are not given: an A100, an H200 and a B200 by their datasheets, the
H200's memory as it was measured."""
