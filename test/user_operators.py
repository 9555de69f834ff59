"""Models of users' operators, and C files of their kernels, for tests."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from onnx import ModelProto, parser

from mini_infer.dialects.operators.operator_registry import OPERATORS
from mini_infer.lowering.onnx_to_graph import operators  # registers this package's

assert operators.HANDLERS
SCALED_ADD = """
#include "mini_infer_operator.h"
#include <math.h>

/* y = a + scale * exp(b), by way of scratch */
void scaled_add(const void *const *inputs, void *const *outputs, void *scratch, const int64_t *const *sizes,
                const ScaledAddAttributes *attributes, int64_t thread, int64_t threads) {
  const float *a = inputs[0], *b = inputs[1];
  float *y = outputs[0], *powers = scratch;
  int64_t count = 1;
  for (int64_t axis = 0; axis < MINI_INFER_RANK(sizes[0]); axis++)
    count *= sizes[0][axis];
  for (int64_t i = 0; i < count; i++)
    powers[i] = expf(b[i] + hypotf(0, 0));
  for (int64_t i = 0; i < count; i++)
    y[i] = a[i] + (float)attributes->scale * powers[i];
}
"""


def model_with(text: str, version: int = 1, opset: int = 17) -> ModelProto:
    """A model of which only the graph is given; it imports a version of `my.domain`."""
    imports = f'opset_import: ["" : {opset}, "my.domain" : {version}]'
    return parser.parse_model(f"<ir_version: 8, {imports}> {text}")


def written(folder: Path, name: str, text: str) -> Path:
    """A file with that text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@contextmanager
def own_registry() -> Generator[None]:
    """Operators that are registered meanwhile are forgotten."""
    with pytest.MonkeyPatch.context() as patch:
        known = {key: dict(each) for key, each in OPERATORS._operators.items()}  # pyright: ignore[reportPrivateUsage]
        patch.setattr(OPERATORS, "_operators", known)
        patch.setattr(OPERATORS, "_loaded", True)
        yield
