"""The onnx package's nine real architectures, with seeded weights: as exact as ONNX Runtime, in little memory."""

from __future__ import annotations

import pytest
from models.build import LIGHT_MODELS, light_case, seeded_light_model
from models.judging import Judge, assert_same_bits
from onnx.backend.test.runner import Runner

import mini_infer as mi
from mini_infer.runtime.build import import_model, plan_memory
from mini_infer.runtime.engine import EngineConfig

QUICK = ("shufflenet", "squeezenet")  # the others take half a minute each

# The most that is live at once, in 10^3 bytes, when elementwise ops and views of the plain ONNX graph work in place.
LIVE_KILOBYTES = {
    "bvlc_alexnet": 2_239,
    "densenet121": 7_225,
    "inception_v1": 4_646,
    "inception_v2": 4_014,
    "resnet50": 7_225,
    "shufflenet": 3_111,
    "squeezenet": 3_929,
    "vgg19": 25_690,
    "zfnet512": 9_125,
}

each_model = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in LIVE_KILOBYTES]
)


def test_every_light_model_is_here() -> None:
    assert list(LIVE_KILOBYTES) == LIGHT_MODELS


@each_model
def test_as_exact_as_onnxruntime_and_the_same_without_memory_passes(name: str) -> None:
    judge = Judge.of(seeded_light_model(name))
    outputs = judge.compiled()
    judge.check(outputs)
    assert_same_bits(judge.compiled(enable_memory_planning=False), outputs)
    judge.check(judge.compiled(enable_graph_optimization=False, threads=2))


@each_model
def test_suite(name: str) -> None:
    """With their own weights the numbers grow to 1e23; several models end in a softmax of such numbers, all equal."""
    model, inputs, expected, rtol, atol = light_case(name)
    found = mi.compile(model, threads=1)(*inputs)
    Runner.assert_similar_outputs(expected, [found], rtol=rtol, atol=atol)


@each_model
def test_arena_is_near_what_is_live(name: str) -> None:
    model = seeded_light_model(name)
    for optimize, allowed in ((False, 1.12), (True, 1.0)):
        config = EngineConfig(threads=1, enable_graph_optimization=optimize)
        arena = plan_memory(*import_model(model, config), config).arena_bytes
        assert arena <= allowed * (LIVE_KILOBYTES[name] + 1) * 1000
