"""Tests compile: no test finds what an earlier one compiled, and none writes among the user's caches.

Import this before anything compiles. Tests of what is kept say where by themselves.
"""

import os

os.environ["MINI_INFER_CACHE"] = "off"
