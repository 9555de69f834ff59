"""Small models of the usual architectures on an emulated GPU, whose every access is checked."""

from __future__ import annotations

import pytest
from models.build import SMALL_MODELS
from models.judging import Judge

WITHOUT_CODE = {"lstm"}  # there are no recurrences on a GPU yet


@pytest.mark.parametrize("emulator", ["interpreter", "compiled"])
@pytest.mark.parametrize("name", sorted(set(SMALL_MODELS) - WITHOUT_CODE))
def test_as_exact_as_onnxruntime(name: str, emulator: str) -> None:
    judge = Judge.of(SMALL_MODELS[name]())
    judge.check(judge.compiled(device="cuda-emulated", emulator=emulator))
