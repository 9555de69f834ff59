"""`mini-infer draw` and `mini_infer.draw`: pictures of a model and their data."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import complaint, saved, told
from matplotlib.text import Text
from models.small import SMALL_MODELS
from text_models import model_of

import mini_infer as mi
from mini_infer.tools import pictures
from mini_infer.tools.mini_opt.command import main as mini_opt

BLOCK = """
    block (float[1,3,8,8] x, float[4,3,3,3] w, float[4,4,3,3] v) => (float[1,4,8,8] y) {
      a = Conv <pads = [1, 1, 1, 1]> (x, w)
      b = Relu (a)
      c = Conv <pads = [1, 1, 1, 1]> (b, v)
      d = Add (c, b)
      y = Softmax <axis = 1> (d)
    }"""


def texts(facts: dict[str, Any], title: str = "") -> str:
    """All that a picture says."""
    figure: Any = import_module(f"{pictures.__name__}.{facts['view']}_view").figure(facts, title)
    return "\n".join(artist.get_text() for artist in figure.findobj(Text))


def test_memory_is_stacked_by_step(tmp_path: Path) -> None:
    facts = mi.draw("memory", model_of(BLOCK), tmp_path / "memory.json", threads=1)
    plan = mi.plan_memory(model_of(BLOCK), threads=1)
    assert json.loads((tmp_path / "memory.json").read_text()) == facts
    assert [each["live_bytes"] for each in facts["steps"]] == plan.live_bytes()
    assert facts["steps"][facts["peak_step"]]["live_bytes"] == facts["lower_bound_bytes"] == plan.lower_bound_bytes
    assert [facts[f"{each}_bytes"] for each in ("weights", "inputs", "outputs")] == [0, (192 + 108 + 144) * 4, 1024]
    told = texts(facts, "block")
    peak = facts["steps"][facts["peak_step"]]
    assert f"peak at step {facts['peak_step']}, {peak['kernel']}: {peak['nodes'][-1]}" in told
    assert "block: arena" in told and "outputs, 1.024 kB" in told and "lower bound" in told


def test_passes_tell_what_they_made_and_removed() -> None:
    facts = pictures.facts_of("passes", model_of(BLOCK), mi.EngineConfig(threads=1))
    passes = facts["passes"]
    assert facts["imported_ops"] == passes[0]["ops_before"]
    assert all(each["ops_after"] - each["ops_before"] == each["made"] - each["removed"] for each in passes)
    assert [*dict.fromkeys(each["phase"] for each in passes)] == ["graph", "kernels", "buffers", "arena"]
    told = texts(facts)
    assert "form-kernels" in told and "prove-order" not in told and f"{passes[-1]['ops_after']:,} at the end" in told


def test_the_graph_has_nodes_and_the_calls_that_compute_them() -> None:
    pytest.importorskip("fast_sugiyama")
    facts = pictures.facts_of("graph", model_of(BLOCK), mi.EngineConfig(threads=1))
    nodes, calls = facts["model"]["nodes"], facts["kernels"]["nodes"]
    assert [each["op"] for each in nodes] == ["Conv", "Relu", "Conv", "Add", "Softmax"]
    edges = sorted((each["from"], each["to"]) for each in facts["model"]["edges"])
    assert edges == [(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)]
    for each in nodes:
        assert each["name"] in calls[each["call"]]["nodes"]
    assert all(each["from"] < each["to"] for each in facts["kernels"]["edges"])
    assert {each["to"] for each in facts["kernels"]["edges"]} >= {each["call"] for each in nodes[2:]}
    assert "5 ONNX nodes" in texts(facts) and nodes[0]["label"] in texts(facts)


def test_nodes_inside_of_kernels_have_their_call() -> None:
    pytest.importorskip("fast_sugiyama")
    facts = pictures.facts_of("graph", SMALL_MODELS["transformer"](), mi.EngineConfig(threads=1))
    calls = facts["kernels"]["nodes"]
    softmax = [calls[each["call"]]["name"] for each in facts["model"]["nodes"] if each["op"] == "Softmax"]
    assert softmax and all("attention" in name or "softmax" in name for name in softmax)
    assert {each["op"] for each in facts["model"]["nodes"] if each["call"] is None} <= {"Constant"}


def test_the_graph_of_a_module_has_its_ops(tmp_path: Path) -> None:
    pytest.importorskip("fast_sugiyama")
    block = Path(__file__).parents[2] / "docs" / "block.mlir"
    facts = pictures.facts_of("graph", str(block), mi.EngineConfig(threads=1))
    assert [each["label"] for each in facts["model"]["nodes"]] == ["conv", "relu", "max_pool"]
    assert [(each["from"], each["to"]) for each in facts["model"]["edges"]] == [(0, 1), (1, 2)]
    assert "3 ops" in texts(facts)
    kernels = tmp_path / "kernels.mlir"
    assert mini_opt([str(block), "--to", "kernels", "--host", "-o", str(kernels)]) == 0
    with pytest.raises(mi.ConfigError, match="the view graph is of a model, or of a module at the graph level, not at"):
        pictures.facts_of("graph", str(kernels), mi.EngineConfig(threads=1))


def test_time_stands_beside_the_limit(tmp_path: Path) -> None:
    file, data = saved(model_of(BLOCK), tmp_path), tmp_path / "time.json"
    np.savez(tmp_path / "in.npz", x=np.ones((1, 3, 8, 8), np.float32))
    told("draw", "time", file, "-i", tmp_path / "in.npz", "--runs", "2", "-j", "1", "-o", data)
    facts = json.loads(data.read_text())
    times = [each["us"] for each in facts["kernels"]]
    assert times == sorted(times, reverse=True) and all(each["limit_us"] > 0 for each in facts["kernels"])
    assert {each["limited_by"] for each in facts["kernels"]} <= {"compute", "memory"}
    assert "least time (roofline)" in texts(facts) and "outside of kernels" in texts(facts)


def test_of_many_kernels_the_longest_have_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    about = {"node": "n", "runs": 1, "limit_us": 1.0, "limited_by": "memory"}
    kernels = [{"kernel": f"k_{number}", "us": 50.0 - number, **about} for number in range(30)]
    kernels[1]["runs"] = 7
    facts = {"view": "time", "kernels": kernels, "run_us": 1200.0, "outside_us": 135.0, "device": "cpu", "threads": 2}
    said = texts(facts)
    assert "10 others" in said and "k_19" in said and "k_20" not in said and "in 7 turns" in said


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
@pytest.mark.parametrize("view", ["memory", "passes"])
def test_equal_models_give_equal_pictures(view: str, kind: str, tmp_path: Path) -> None:
    facts = pictures.facts_of(view, model_of(BLOCK), mi.EngineConfig(threads=1))
    for each in facts.get("passes", []):
        assert isinstance(each.pop("seconds"), float)
    for name in ("one", "other"):
        pictures.write_view(facts, tmp_path / f"{name}.{kind}")
    assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"other.{kind}").read_bytes()


def test_a_compiled_model_has_a_memory_and_no_passes(tmp_path: Path) -> None:
    file, built = saved(model_of(BLOCK), tmp_path), tmp_path / "model.mi"
    told("build", file, "-j", "1", "-o", built)
    told("draw", "memory", built, "-o", tmp_path / "a.svg")
    assert b"peak at step" in (tmp_path / "a.svg").read_bytes()
    words = ("draw", "passes", built, "-o", tmp_path / "a.svg")
    assert complaint(*words) == (
        f"the view passes is of a compile, and {built} is compiled already: take the model it is from"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("arena", "-o", "a.svg"), "the view is 'arena'; it must be one of memory, time, passes, graph"),
        (("memory", "-o", "a.txt"), "a.txt: there are pictures as .png, .svg, .pdf, and their data as .json"),
        (("memory", "-o", "a.svg", "--runs", "3"), "--runs does nothing with the view memory, which runs nothing"),
        (
            ("time", "-o", "a.svg", "--device", "cuda-emulated"),
            "the view time is of a device with a clock, which cuda-emulated has not",
        ),
    ],
)
def test_what_cannot_be_drawn_is_told(words: tuple[str, ...], message: str, model: Path) -> None:
    view, *others = words
    assert complaint("draw", view, model, *others) == message


def test_pictures_are_of_one_shape() -> None:
    profile = mi.OptimizationProfile(dims={"n": (1, 2, 3)})
    with pytest.raises(mi.ConfigError, match="a picture is of one shape: give sizes by dims, without a profile or dyn"):
        mi.draw("memory", model_of(BLOCK), "a.svg", profile=profile)
