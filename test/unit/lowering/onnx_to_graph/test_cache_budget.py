"""cache_memory: how many tokens fit, what becomes of the ranges of dimensions, and what a call beyond is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from onnx import ModelProto, parser

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.onnx_to_graph.declared_kv_caches import caches_by_name
from mini_infer.runtime.compile import plan_builder
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine
from mini_infer.tools.demos.llama import LlamaSizes, llama
from mini_infer.tools.demos.quantised_llama import BlockWeights, quantised_llama

RANGES = {"B": (1, 1, 2), "P": (0, 8, 60), "S": (1, 1, 5)}
TOKEN = 2 * 2 * 4 * 4  # bytes in the cache of `joined` for two sequences


def model(inputs: str, outputs: str, body: str) -> ModelProto:
    text = f'<ir_version: 9, opset_import: ["" : 18]> g ({inputs}) => ({outputs}) {{ {body} }}'
    return cast("Any", parser).parse_model(text)


def joined(body: str = "c2 = Concat <axis = 2> (c, x)", more: str = "") -> ModelProto:
    return model("float[B, 2, S, 4] x, float[B, 2, P, 4] c", f"float[B, 2, T, 4] c2{more}", body)


def engine_of(given: ModelProto, budget: int | str | None, ranges: Any = RANGES, **options: Any) -> DynamicEngine:
    caches = options.pop("caches", {"c": "c2"})
    profile = mi.OptimizationProfile(dims=ranges)
    options = {"threads": 1, "compile_threads": 1, "profile": profile, "cache_memory": budget} | options
    return cast("DynamicEngine", mi.compile(given, caches=caches, **options))


def rows(batch: int, count: int) -> Array:
    return np.full((batch, 2, count, 4), count, np.float32)


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    made: list[None] = []
    plain = plan_builder.build_plan

    def noted(*arguments: Any, **options: Any) -> Any:
        made.append(None)
        return plain(*arguments, **options)

    monkeypatch.setattr(plan_builder, "build_plan", noted)
    return made


def test_as_many_tokens_as_fit_are_held_and_no_more() -> None:
    engine = engine_of(joined(), 20 * TOKEN + TOKEN - 1)
    assert engine.plan.room("c").shape == (1, 2, 20, 4)
    assert (engine.plan.memory.tokens, engine.plan.memory.token_bytes) == (20, TOKEN // 2)
    present, made = engine(x=rows(1, 5), c=rows(1, 0)), 5
    for count in (5, 5, 4, 1):  # the last one by a single token
        present, made = engine(x=rows(1, count), c=present), made + count
    assert present.shape == (1, 2, 20, 4) and made == 20
    before = present.copy()
    told = rf"cache_memory={21 * TOKEN - 1} holds 20 tokens of {TOKEN} bytes each, B being up to 2$"
    with pytest.raises(mi.InvalidInputError, match=r"'c': dimension 2 is 20, but must be from 0 to 19: " + told):
        engine(x=rows(1, 1), c=present)
    with pytest.raises(mi.InvalidInputError, match=r"^21 tokens in the caches \(P \+ S\) are too many: " + told):
        engine(x=rows(1, 5), c=present[:, :, :16])
    np.testing.assert_array_equal(present, before)
    assert engine(x=rows(2, 1), c=rows(2, 19)).shape == (2, 2, 20, 4)
    with pytest.raises(mi.InvalidInputError, match=r"dimension 2 is 7, but must be from 1 to 5$"):
        engine(x=rows(1, 7), c=rows(1, 1))  # which no budget is to blame for
    context = engine.create_context()
    with pytest.raises(mi.InvalidInputError, match="21 tokens in the caches"):
        context.set_shapes({"x": (1, 2, 5, 4), "c": (1, 2, 16, 4)})


def test_a_budget_for_everything_changes_nothing() -> None:
    for budget in (65 * TOKEN, "1M", None):
        engine = engine_of(joined(), budget)
        assert engine.plan.room("c").shape == (1, 2, 65, 4)
        with pytest.raises(mi.InvalidInputError, match=r"dimension 2 is 61, but must be from 0 to 60$"):
            engine(x=rows(1, 1), c=rows(1, 61))


def test_what_is_optimal_is_within_the_budget() -> None:
    engine = engine_of(joined(), 6 * TOKEN, RANGES | {"S": (1, 4, 5)})
    assert [spec.shape for spec in engine.plan.inputs] == [(1, 2, 4, 4), (1, 2, 2, 4)]


@pytest.mark.parametrize(
    ("given", "ranges", "budget", "message"),
    [
        (joined(), RANGES, TOKEN - 1, f"{TOKEN - 1} bytes hold no token, which takes {TOKEN} in the caches$"),
        (
            joined(),
            RANGES | {"P": (9, 9, 60)},
            9 * TOKEN,
            f"hold 9 tokens of {TOKEN} bytes each, but 'c2' has at least 10",
        ),
        (
            joined("c2 = Add (c, x)"),
            RANGES | {"S": (1, 1, 5), "P": (1, 1, 5)},
            99,
            r"320 bytes at their largest sizes, not 99",
        ),
    ],
)
def test_too_little_for_the_smallest_sizes_is_refused(
    given: ModelProto, ranges: Any, budget: int, message: str
) -> None:
    if "Add" in str(given):
        given = model("float[B, 2, S, 4] x, float[B, 2, S, 4] c", "float[B, 2, S, 4] c2", "c2 = Add (c, x)")
        ranges = {"B": (1, 1, 2), "S": (1, 1, 5)}
    with pytest.raises(mi.PlanError, match=f"^cache_memory: .*{message}"):
        engine_of(given, budget, ranges)


def test_caches_of_one_shape_are_counted_as_they_are() -> None:
    sizes, caches = {"B": 2, "P": 3, "S": 1}, {"c": "c2"}
    options: dict[str, Any] = {"dims": sizes, "caches": caches, "cache_memory": 4 * TOKEN}
    assert mi.compile(joined(), 1, **options).plan.room("c").shape[2] == 4
    assert mi.compile(joined(), 1, **options, tune=0.01).plan.room("c").shape[2] == 4
    with pytest.raises(mi.PlanError, match=f"hold 3 tokens of {TOKEN} bytes each, but 'c2' has at least 4"):
        mi.compile(joined(), 1, dims=sizes, caches=caches, cache_memory="255")


def test_caches_that_do_not_grow_and_those_that_end_earlier_are_counted_first() -> None:
    """Of 40 bytes a state takes 16, and a short cache 4; the long one gets the rest."""
    inputs = "float[1] x, float[P] c, float[Q] d, float[4] s"
    body = "c2 = Concat <axis = 0> (c, x) d2 = Concat <axis = 0> (d, x) s2 = Neg (s)"
    given = model(inputs, "float[T] c2, float[U] d2, float[4] s2", body)
    ranges = {"P": (0, 1, 99), "Q": (0, 0, 0)}
    engine = engine_of(given, 40, ranges, caches={"c": "c2", "d": "d2", "s": "s2"})
    assert [engine.plan.room(name).shape for name in "cds"] == [(5,), (1,), (4,)]
    with pytest.raises(
        mi.PlanError, match="19 bytes hold no token, which takes 8 in the caches, and the others take 16"
    ):
        engine_of(given, 19, {"P": (0, 1, 99), "Q": (0, 1, 99)}, caches={"c": "c2", "d": "d2", "s": "s2"})


def test_a_length_of_its_own_is_cut_too() -> None:
    """As ONNX Runtime's model builder names past and present."""
    sizes = LlamaSizes(vocabulary=50, hidden=64, inner=40, layers=1, heads=4, key_heads=2, capacity=256)
    given = quantised_llama(sizes, BlockWeights(accuracy_level=1))
    ranges = {"batch_size": (1, 1, 1), "sequence_length": (1, 1, 8)}
    ranges |= {"past_sequence_length": (0, 32, 255), "total_sequence_length": (1, 33, 256)}
    caches = caches_by_name(given)
    assert caches == {f"past_key_values.0.{part}": f"present.0.{part}" for part in ("key", "value")}
    engine = engine_of(given, 10_000, ranges, caches=caches)  # of which a token takes 256
    pasts: dict[str, Array] = dict.fromkeys(caches, np.zeros((1, 2, 0, 16), np.float32))

    def inputs(total: int) -> dict[str, Array]:
        return {"input_ids": np.full((1, 1), total), "attention_mask": np.ones((1, total), np.int64), **pasts}

    for total in range(1, 40):
        out = engine(inputs(total))
        pasts = {past: out[present] for past, present in caches.items()}
    with pytest.raises(
        mi.InvalidInputError, match=r"'attention_mask': dimension 1 is 40, but .* holds 39 tokens of 256"
    ):
        engine(inputs(40))


def test_the_code_of_another_compile_has_the_same_room(tmp_path: Path, compiles: list[None]) -> None:
    """An empty past is summed by other code, and what it gives is extended where it is."""
    body = "c2 = Concat <axis = 2> (c, x) a = Constant <value_ints = [2]> () y = ReduceSum (c, a)"
    for budget, room in ((30 * TOKEN, 30), (None, 65), (30 * TOKEN, 30), ("1M", 65)):
        engine = engine_of(joined(body, ", float[B, 2, 1, 4] y"), budget, cache=tmp_path)
        first, _ = engine(x=rows(1, 3), c=rows(1, 0))
        assert engine.compiles == 2 and first.base is not None and first.strides[1] == room * 4 * 4
        second, _ = engine(x=rows(1, 1), c=first)
        assert second.ctypes.data == first.ctypes.data
    assert len(compiles) == 4


def test_a_budget_that_cuts_nothing_compiles_nothing_anew(tmp_path: Path, compiles: list[None]) -> None:
    def room(budget: int | str | None) -> Sequence[int]:
        engine = engine_of(joined(), budget, cache=tmp_path)
        assert engine(x=rows(1, 2), c=rows(1, 3)).shape == (1, 2, 5, 4)
        return engine.plan.room("c").shape

    assert [room(each)[2] for each in ("1G", None, 65 * TOKEN)] == [65] * 3
    assert len(compiles) == 1
    assert [room(each)[2] for each in (64 * TOKEN, None, 64 * TOKEN, "1G")] == [64, 65, 64, 65]
    assert len(compiles) == 2


def test_a_compiled_file_keeps_its_budget(tmp_path: Path) -> None:
    path, given = tmp_path / "joined.mi", tmp_path / "joined.onnx"
    given.write_bytes(joined().SerializeToString())
    from command_runs import told

    ranges = [f"--range={name}={','.join(map(str, span))}" for name, span in RANGES.items()]
    told("build", given, "-o", path, "--cpu", "native", "-j", "1", *ranges, "--cache", "c=c2", "--cache-memory", "1K")
    engine = mi.load(path)
    with pytest.raises(mi.InvalidInputError, match="from 0 to 14: cache_memory='1K' holds 15 tokens"):
        engine(x=rows(1, 1), c=rows(1, 16))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cache_memory": "1M"}, "cache_memory does nothing without caches"),
        (
            {"cache_memory": "1Q", "caches": {"c": "c2"}},
            "cache_memory is a number of bytes such as 500M or 20G, not '1Q'",
        ),
        ({"cache_memory": -1, "caches": {"c": "c2"}}, "cache_memory is a number of bytes such as 500M or 20G, not -1"),
        (
            {"cache_memory": 1.5, "caches": {"c": "c2"}},
            "cache_memory is a number of bytes such as 500M or 20G, not 1.5",
        ),
    ],
)
def test_wrong_budgets_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(mi.ConfigError, match=message):
        mi.EngineConfig(**options)


def test_caches_are_known_by_the_names_that_exporters_use() -> None:
    named = {
        "past_key_values.0.key": "present.0.key",
        "past_key_values.3.decoder.value": "present.3.decoder.value",
        "past_key_values_1": "present_key_values_1",
        "past_conv.0": "present_conv.0",
    }
    strange = {"past.type": "present.type", "past.shape": "present.shape", "past.alone": "y", "x": "z"}
    inputs = [*(f"float[B, 2, P, 4] {name!r}" for name in named), "float[B, P] 'past.type'", "float[4, 3] 'past.shape'"]
    inputs += ["float[4] 'past.alone'", "float[4] 'x'"]
    outputs = [*(f"float[B, 2, T, 4] {name!r}" for name in named.values()), "int64[B, P] 'present.type'"]
    outputs += ["float[3, 4] 'present.shape'", "float[4] 'y'", "float[4] 'z'"]
    body = " ".join(f"{b!r} = Identity ({a!r})" for a, b in {**named, **strange}.items())
    assert (
        caches_by_name(model(*(text.replace("'", '"') for text in (", ".join(inputs), ", ".join(outputs), body))))
        == named
    )
    assert caches_by_name(llama("attention", LlamaSizes(layers=2))) == {
        f"past_key_values.{layer}.{part}": f"present.{layer}.{part}" for layer in (0, 1) for part in ("key", "value")
    }
