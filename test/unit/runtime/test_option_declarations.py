"""The table of options: each field of EngineConfig is declared once, and all that is made from it knows it."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

import mini_infer as mi
from mini_infer.lowering.levels import LEVELS
from mini_infer.lowering.pipelines import phases
from mini_infer.lowering.registry import PASSES
from mini_infer.runtime.compile.engine_phases import engine_phases
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.kept.keys import options_text
from mini_infer.runtime.option_declarations import Option, options_of

OPTIONS = options_of(EngineConfig)
SAMPLES: dict[str, Any] = {
    "memory_alignment": 64,
    "max_workspace_size": 1000,
    "planner": "greedy-by-size",
    "beam_width": 3,
    "disable_inplace": ("add", "mul"),
    "weights": "int4",
    "weights_memory": "1M",
    "cache_type": "int8",
    "next_token": 1,
}
"""Values of the options that passes are told of as they are."""


def test_types_of_keyword_arguments_are_those_of_the_fields() -> None:
    types = get_type_hints(mi.CompileOptions, localns={"ArrayLike": object})
    threads = {"threads": int | None}
    assert {**types, **threads} == {name: option.type for name, option in OPTIONS.items()}
    assert set(types) | set(threads) == {each.name for each in fields(EngineConfig)}


@pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS)
def test_an_option_is_declared(option: Option) -> None:
    assert f"\n    {option.name}: " in (EngineConfig.__doc__ or ""), "it is not described"
    assert option.decided in ("", "import", *LEVELS)
    assert option.device in ("", "cpu", "cuda", "cuda-emulated")
    option.check_value(option.default)
    if option.passes:
        assert option.decided, "what passes are told comes too late at some level"
    if option.not_in_key:
        assert len(option.not_in_key.split()) > 2, "a reason"
    assert option.changes(option.default) == "" or isinstance(option.passes, str)


@pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS)
def test_an_option_is_in_the_key_or_says_why_not(option: Option) -> None:
    told = json.loads(options_text(EngineConfig(threads=1)))
    assert (option.name in told) == (not option.not_in_key or option.name in ("threads", "specialize"))


def test_passes_are_told_of_the_options_that_name_them() -> None:
    usual = phases(changes=[option.changes(option.default) for option in OPTIONS.values()])
    assert usual == engine_phases(EngineConfig())
    assert usual == engine_phases(EngineConfig(profile=mi.OptimizationProfile(dims={"n": (1, 2, 3)}), vector_bits=128))
    for option in filter(lambda option: option.passes, OPTIONS.values()):
        for value in [SAMPLES[option.name]] if isinstance(option.passes, str) else option.passes:
            change = option.changes(value)
            assert phases(changes=[change]) != phases(), change
            for name in re.findall(r"(?:^|,)-?([\w-]+)(?=[{,]|$)", re.sub(r"{.*?}", "", change)):
                assert name in PASSES


def test_an_option_that_needs_another_is_refused_without() -> None:
    assert all(set(option.requires) <= set(OPTIONS) for option in OPTIONS.values())
    mi.EngineConfig(enable_memory_planning=False, disable_inplace=[])
    mi.EngineConfig(planner="beam", beam_width=2)
    with pytest.raises(mi.ConfigError, match=r"^beam_width does nothing with planner='auto'$"):
        mi.EngineConfig(beam_width=2)


@pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS)
def test_an_option_is_known_without_the_others(option: Option) -> None:
    """Commands have some of the options only."""
    assert option.useless({option.name: SAMPLES.get(option.name, True)}) is None


def test_a_change_leaves_passes_out_and_gives_options() -> None:
    changed = phases(changes=["-cse,choose-schedule{compact=true}"])
    assert ",cse" in phases()[0].passes and changed[0].passes == phases()[0].passes.replace(",cse", "")
    assert "choose-schedule{compact=true}" in changed[2].passes
    assert "poison-dead" not in str(phases()) and "poison-dead,insert-checks" in str(phases(changes=["poison-dead"]))
