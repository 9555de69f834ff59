"""Inference on a Ray cluster: over datasets (`infer`), and as a service (`deployment`).

Neither Ray nor a compiler is imported before it is needed.
"""

from .datasets import infer
from .serving import deployment

__all__ = ["deployment", "infer"]
