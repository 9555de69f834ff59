"""What an engine refuses: each wrong input or option is one error that names it, before anything runs."""

from __future__ import annotations

import copy
import io
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from engine_cases import engine, inputs, perceptron
from typing_extensions import override

import mini_infer as mi
from mini_infer.dialects.threads import MOST_THREADS
from mini_infer.runtime import config
from mini_infer.runtime.config import EngineConfig

pytestmark = pytest.mark.usefixtures("with_cache")

IDS, SCALE = np.zeros(5, np.int64), np.ones((5, 1), np.float32)


class Trained:
    """Refuses to become an array, as a tensor that records gradients does."""

    def __array__(self) -> None:
        raise RuntimeError("it requires grad; call detach()")


WRONG_INPUTS: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"ids": IDS}, "input 'scale' is missing"),
    "all missing": ({}, "input 'ids', 'scale' is missing"),
    "unknown": (
        {"ids": IDS, "scale": SCALE, "mask": SCALE},
        "there is no input 'mask'; the model has 'ids', 'scale'",
    ),
    "misspelt": (
        {"ids": IDS, "scales": SCALE},
        r"there is no input 'scales' \(did you mean scale\?\); the model has 'ids', 'scale'",
    ),
    "shape": ({"ids": IDS, "scale": SCALE[:4]}, r"input 'scale' has shape \[4, 1\] instead of \[5, 1\]"),
    "rank": ({"ids": IDS, "scale": SCALE[:, 0]}, r"input 'scale' has shape \[5\] instead of \[5, 1\]"),
    "type": ({"ids": IDS.astype(np.int32), "scale": SCALE}, "input 'ids' has type int32 instead of int64"),
    "float64": ({"ids": IDS, "scale": SCALE.astype(np.float64)}, "input 'scale' has type float64 instead of float32"),
    "byte order": ({"ids": IDS, "scale": SCALE.astype(">f4")}, "input 'scale' has type >f4 instead of float32"),
    "fractions for integers": ({"ids": [0.5] * 5, "scale": SCALE}, "input 'ids' has type float64 instead of int64"),
    "too large": ({"ids": [2**70] * 5, "scale": SCALE}, "input 'ids'"),
    "ragged": ({"ids": IDS, "scale": [[1], [2, 3]]}, "input 'scale': .*inhomogeneous"),
    "text": ({"ids": IDS, "scale": "one"}, "input 'scale' has type <U3 instead of float32"),
    "None": ({"ids": IDS, "scale": None}, "input 'scale' is None; it takes an array of float32"),
    "trained": ({"ids": IDS, "scale": Trained()}, r"input 'scale': it requires grad; call detach\(\)"),
    "object": ({"ids": IDS, "scale": object()}, "input 'scale' has type object instead of float32"),
}


@pytest.mark.parametrize("case", WRONG_INPUTS)
def test_wrong_input_is_named(case: str) -> None:
    given, message = WRONG_INPUTS[case]
    with pytest.raises(mi.InvalidInputError, match=f"^{message}"):
        engine("lookup")(given)
    with pytest.raises(mi.InvalidInputError, match=f"^{message}"):
        engine("lookup").plan.create_execution_context().run(given)


@pytest.mark.parametrize(
    ("arrays", "named", "message"),
    [
        ((IDS,), {}, "input 'scale' is missing"),
        ((), {}, "input 'ids', 'scale' is missing"),
        ((IDS, SCALE, SCALE), {}, "3 inputs are given; the model has 2: ids, scale"),
        ((IDS,), {"ids": IDS, "scale": SCALE}, "input 'ids' is given twice"),
        ((IDS, SCALE), {"mask": SCALE}, "there is no input 'mask'; the model has 'ids', 'scale'"),
        (({"ids": IDS},), {"scale": SCALE}, "input 'ids' has type object instead of int64"),
    ],
)
def test_wrong_arguments_are_named(arrays: tuple[Any, ...], named: dict[str, Any], message: str) -> None:
    with pytest.raises(mi.InvalidInputError, match=f"^{message}"):
        engine("lookup")(*arrays, **named)


@pytest.mark.parametrize(
    "error",
    [
        mi.OpenDimensionsError(["n"], {"n": 1}, {"x": [1, 3], "y": None}),
        mi.UnknownValueError("k is not known", ("k",)),
        mi.InvalidModelError("no", contradiction=True),
        mi.PlanError("no", ["a"], proven=False),
        mi.ConfigError("no"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_are_sent_to_other_processes_with_all_they_tell(error: mi.MiniInferError) -> None:
    for found in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(found) is type(error) and str(found) == str(error)
        assert (found.args, vars(found)) == (error.args, vars(error))


class WithoutReading(io.BytesIO):
    @override
    def read(self, size: int | None = -1, /) -> bytes:
        raise OSError("the disk is gone")


def test_files_that_can_not_be_read_are_refused(tmp_path: Path) -> None:
    closed = io.BytesIO()
    closed.close()
    with open(tmp_path / "written", "wb") as written:
        for file in (closed, written, WithoutReading()):
            with pytest.raises(mi.InvalidModelError, match="the model's file can't be read: "):
                mi.compile(file)
            with pytest.raises(mi.InvalidModelError, match="the model's file can't be read: "):
                mi.import_onnx(file)
            with pytest.raises(mi.InvalidModelError, match="the model's file can't be read: "):
                mi.build(file, tmp_path / "m.mi")
    with pytest.raises(mi.InvalidModelError, match="the model's path is empty"):
        mi.compile("")


def test_an_engine_goes_on_after_an_error() -> None:
    given = inputs("perceptron")
    expected = engine("perceptron")(given)
    for _ in range(3):
        with pytest.raises(mi.InvalidInputError):
            engine("perceptron")(given["x"][:1])
    np.testing.assert_array_equal(*(run["perceptron/gemm_4"] for run in (engine("perceptron")(given), expected)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "tpu"}, "device 'tpu' is not supported; there is 'cpu', 'cuda'"),
        ({"device": None}, "device is None; it must be a string"),
        ({"device": "cuda-emulated", "gpu": ["sm_80"]}, r"gpu is \['sm_80'\]; it must be one of sm_80"),
        ({"device_id": 1}, "there is no cpu device 1, only 0"),
        ({"threads": 0}, "threads is 0; it must be an integer of at least 1"),
        ({"threads": "two"}, "threads is 'two'; it must be an integer of at least 1"),
        ({"threads": True}, "threads is True; it must be an integer"),
        ({"threads": 1.5}, "threads is 1.5; it must be an integer"),
        ({"beam_width": 0}, "beam_width is 0; it must be an integer of at least 1"),
        ({"memory_alignment": 4}, "memory_alignment is 4; it must be an integer of at least 8"),
        ({"memory_alignment": 96}, "memory_alignment is 96; it must be a power of two"),
        ({"max_workspace_size": -1}, "max_workspace_size is -1; it must be an integer of at least 0"),
        (
            {"memory_alignment": 2**70},
            "memory_alignment is 1180591620717411303424; it must be a power of two of at most",
        ),
        ({"enable_memory_planning": "off"}, "enable_memory_planning is 'off'; it must be True or False"),
        ({"check_memory": None}, "check_memory is None; it must be True or False"),
        ({"disable_inplace": "add"}, "disable_inplace is 'add'; it must be a sequence of graph ops"),
        ({"disable_inplace": [1]}, r"disable_inplace is \[1\]; it must be a sequence of graph ops"),
        ({"disable_inplace": ["rel u"]}, "disable_inplace: there is no op 'rel u' to disable$"),
        ({"disable_inplace": ["add", "my.relu"]}, "disable_inplace: there is no op 'my.relu' to disable$"),
        ({"disable_inplace": ["add}"]}, "disable_inplace: there is no op 'add}' to disable$"),
        ({"disable_inplace": [""]}, "disable_inplace: there is no op '' to disable$"),
        ({"disable_inplace": None}, "disable_inplace is None; it must be a sequence of graph ops"),
        ({"vector_bits": "256"}, "vector_bits is '256'; it must be one of 128, 256, 512"),
        ({"winograd": "fast"}, "winograd is 'fast'; it must be one of auto, compact, off"),
        ({"device": "cuda", "winograd": "off"}, "winograd does nothing on the device 'cuda'"),
        ({"vector_bits": 64}, "vector_bits is 64; it must be one of 128, 256, 512"),
        ({"dims": {"rows": -1}}, "dims: 'rows' is -1; it must be an integer of at least 0"),
        ({"shapes": {"x": (4, "n")}}, "shapes: a dimension of 'x' is 'n'; it must be an integer"),
        ({"dims": None}, "dims is None; it must be a mapping from names of dimensions to sizes"),
        ({"shapes": [1, 2]}, r"shapes is \[1, 2\]; it must be a mapping from names of inputs to shapes"),
        ({"shapes": {"x": 4}}, "shapes: 'x' is 4; it must be a sequence of sizes"),
        ({"shapes": {"x": "4"}}, "shapes: 'x' is '4'; it must be a sequence of sizes"),
        ({"precision": "tf32"}, "precision is 'tf32'; on the device 'cpu' it must be fp32 or bf16"),
        (
            {"precision": "bf16", "enable_graph_optimization": False},
            "precision does nothing with enable_graph_optimization=False",
        ),
        ({"gpu": "sm_90a"}, "gpu does nothing on the device 'cpu'"),
        ({"device": "cuda", "threads": 2}, "threads does nothing on the device 'cuda'"),
        ({"device": "cuda", "vector_bits": 256}, "vector_bits does nothing on the device 'cuda'"),
        ({"device": "cuda", "emulator": "compiled"}, "emulator does nothing on the device 'cuda'"),
        ({"device": "cuda", "precision": "fp8"}, "precision is 'fp8'; it must be one of fp32, tf32, 3xtf32, fp16, bf"),
        ({"device": "cuda", "gpu": "sm_20"}, "gpu is 'sm_20'; it must be one of sm_80, sm_90a, sm_100a"),
        ({"device": "cuda:x"}, "device 'cuda:x' is not supported"),
        ({"device_id": -1}, "device_id is -1; it must be an integer of at least 0"),
        ({"beam_width": 3}, "beam_width does nothing with planner='auto'"),
        (
            {"planner": "pools", "enable_memory_planning": False},
            "planner does nothing with enable_memory_planning=False",
        ),
        (
            {"beam_width": 3, "enable_memory_planning": False},
            "beam_width does nothing with enable_memory_planning=False",
        ),
        (
            {"disable_inplace": ["add"], "enable_memory_planning": False},
            "disable_inplace does nothing with enable_memory_planning=False",
        ),
        (
            {"treads": 2},
            r"there is no option treads \(did you mean threads\?\); there are activations, beam_width, cache_kernels,",
        ),
    ],
)
def test_wrong_option_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(mi.ConfigError, match=f"^{message}"):
        mi.compile(perceptron(), **options)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_ordered_inputs_are_counted(count: int) -> None:
    context = engine("lookup").plan.create_execution_context()
    with pytest.raises(mi.InvalidInputError, match=f"^{count} inputs are given; the model has 2$"):
        context.run_ordered([IDS, SCALE, SCALE][:count])


def test_inputs_by_name_are_a_mapping() -> None:
    context = engine("lookup").plan.create_execution_context()
    with pytest.raises(mi.InvalidInputError, match=r"^inputs by name are expected as a mapping, got list$"):
        context.run(cast("Any", [IDS, SCALE]))


@pytest.mark.parametrize("model", [None, 7, ["model.onnx"], io.StringIO("model")])
def test_what_is_no_model_is_refused(model: Any) -> None:
    with pytest.raises(mi.InvalidModelError, match=r"^(a model is a path, bytes, |the model's file is not opened)"):
        mi.compile(model)


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_machine_code_stays_in_its_process(duplicate: Callable[[object], object]) -> None:
    plan = engine("perceptron").plan
    for each in (engine("perceptron"), plan, plan.create_execution_context()):
        with pytest.raises(mi.UnsupportedError, match=f"^{type(each).__name__} can't be pickled or copied"):
            duplicate(each)


def test_unknown_planner_is_named() -> None:
    with pytest.raises(mi.MiniInferError, match="nonsense"):
        mi.compile(perceptron(), threads=1, planner="nonsense")


def test_options_may_be_numpy_integers() -> None:
    config = EngineConfig.of(threads=cast("int", np.int64(1)), dims={"n": cast("int", np.int32(3))})
    assert config.thread_count == 1 and type(config.thread_count) is int


@pytest.mark.parametrize("threads", [0, -1, True, 2.0, "2"])
def test_threads_are_a_positive_integer(threads: Any) -> None:
    with pytest.raises(mi.ConfigError, match=f"^threads is {threads!r}; it must be an integer of at least 1"):
        mi.compile(perceptron(), threads=threads)


def test_there_are_no_more_threads_than_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "cpu_limit", lambda: None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(3)), raising=False)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert [EngineConfig(threads=threads).thread_count for threads in (1, 2, 3, 4, 10**9)] == [1, 2, 3, 3, 3]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(5000)))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert EngineConfig(threads=10**9).thread_count == EngineConfig().thread_count == MOST_THREADS


def test_threads_default_to_the_cores_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "cpu_limit", lambda: None)
    if hasattr(os, "sched_getaffinity"):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {1, 5, 7})  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        assert EngineConfig().thread_count == 3
        monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert EngineConfig().thread_count == 6
