"""Command lines have the options of a compile from where they are declared, and only from there."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pytest
import typer

from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.option_declarations import options_of
from mini_infer.tools import mini_infer, one_line_errors
from mini_infer.tools.mini_opt import command as mini_opt
from mini_infer.tools.option_values import FLAGS, flags_of

GROUP: Any = typer.main.get_command(mini_infer.app)
COMMANDS: dict[str, Any] = {**GROUP.commands, "mini-opt": typer.main.get_command(mini_opt.app)}
OWN = {"allocate": {"strategy", "capacity", "alignment", "beam_width"}, "plan": {"prove_order"}}
"""Options of the same names: those of `allocate`, which compiles nothing, have own limits; `plan` proves unasked."""


def test_verbs_are_those_that_there_are() -> None:
    verbs = {verb for option in FLAGS.values() if option.flag is not None for verb in option.flag.verbs.split()}
    assert verbs <= set(COMMANDS) and {"run", "plan", "mini-opt"} <= verbs


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_verb_takes_the_options_that_name_it(verb: str) -> None:
    taken = {each.name: each for each in COMMANDS[verb].params}
    for name in flags_of(verb):
        option, parameter = FLAGS[name], taken[name]
        assert option.flag is not None
        spelled = [*parameter.opts, *parameter.secondary_opts]
        assert {option.spelling, *option.flag.names.split()} <= set(spelled)
        assert (parameter.help, parameter.metavar) == (option.flag.help, option.flag.metavar)
    assert {name for name in taken if name in FLAGS} == {*flags_of(verb), *OWN.get(verb, ())}


@pytest.mark.parametrize("verb", mini_infer.VERBS, ids=lambda verb: verb.__name__)
def test_no_verb_lists_an_option_again(verb: Any) -> None:
    assert set(signature(verb).parameters) & {*FLAGS, "at", "json"} == OWN.get(verb.__name__, set())


def test_messages_name_options_as_command_lines_spell_them() -> None:
    flagged = {name: option for name, option in options_of(EngineConfig).items() if option.flag is not None}
    assert {name: one_line_errors.SPELLINGS[name] for name in flagged} == {
        name: option.spelling for name, option in flagged.items()
    }
    assert one_line_errors.SPELLINGS["enable_memory_planning"] == "--no-plan-memory"
    assert one_line_errors.SPELLINGS["check_memory"] == "--check-memory"
