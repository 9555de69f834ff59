"""Small models of the usual architectures on an emulated GPU, whose every access is checked."""

from __future__ import annotations

import pytest
from gpu_runs import EMULATORS
from models.build import SMALL_MODELS
from models.judging import Judge


@pytest.mark.thinned(5)
@pytest.mark.parametrize("emulator", EMULATORS)
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_as_exact_as_onnxruntime(name: str, emulator: str) -> None:
    judge = Judge.of(SMALL_MODELS[name]())
    judge.check(judge.compiled(device="cuda-emulated", emulator=emulator))
