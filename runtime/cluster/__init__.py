"""Models on a cluster of Ray: over datasets (`infer`), and behind requests (`deployment`).

Neither Ray nor a compiler is imported before it is needed.
"""

from .datasets import infer
from .serving import deployment

__all__ = ["deployment", "infer"]
