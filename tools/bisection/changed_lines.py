"""What a pass changed in a module, as lines of a diff, those about a kernel and nodes first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import unified_diff

from xdsl.dialects.builtin import ModuleOp

from ...lowering.module_text import ComparableTexts, print_module
from ...lowering.pipelines import run_passes
from .place import Place
from .watched_compile import State, Step, WatchedCompile

MOST, WIDTH = 12, 150  # lines, and characters of each


def changed_lines(compiled: WatchedCompile, step: Step, before: State, after: State | None, place: Place) -> list[str]:
    """Lines that begin with "- " or "+ ", and how many are left out."""
    changed = _by_running(compiled, step, before.module.clone())
    if not changed and after is not None:
        changed = _by_text(compiled, before, after)
    words = [f'"{name}"' for name in place.nodes] + ([f"@{place.kernel}("] if place.kernel else [])
    inner = [line for line in changed if not line[2:].startswith("builtin.module")]
    shown = [line for line in inner if any(word in line for word in words)] or inner
    lines = [line if len(line) <= WIDTH else f"{line[:WIDTH]}..." for line in shown[:MOST]]
    left = len(changed) - len(lines)
    return [*lines, f"({left} more lines changed)"] if left else lines


def _by_running(compiled: WatchedCompile, step: Step, module: ModuleOp) -> list[str]:
    """The pass is run once more, in a module whose values keep their names."""
    texts = ComparableTexts(compiled.ctx)
    before = texts.text(module).splitlines()
    try:
        run_passes(compiled.ctx, module, [step.made])
    except Exception:  # then its error has been told
        return []
    lines = unified_diff(before, texts.text(module).splitlines(), lineterm="", n=0)
    return [f"{line[0]} {line[1:].strip()}" for line in lines if re.match(r"[+-](?![+-]{2})", line)]


def _by_text(compiled: WatchedCompile, before: State, after: State) -> list[str]:
    """Lines that only one of the texts has, whatever its values are called."""

    def lines(state: State) -> Sequence[str]:
        return re.sub(r"%\w+", "%_", print_module(compiled.ctx, state.module)).splitlines()

    old, new = lines(before), lines(after)
    gone, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
    return [f"- {line.strip()}" for line in gone.elements()] + [f"+ {line.strip()}" for line in come.elements()]
