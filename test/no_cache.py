"""Tests compile: no test finds what an earlier one compiled, and none writes among the user's caches."""

import os


def compile_always() -> None:
    """From now on, in this process and those that it starts, nothing is kept but where a test says so."""
    os.environ["MINI_INFER_CACHE"] = "off"
