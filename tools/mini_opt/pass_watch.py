"""Instrumentation of passes: timing, and the module before or after them, or its changes.

Written to standard error; or, as with MLIR's option of that name, to files in the folder of --print-ir-tree-dir:
FOLDER/builtin_module_no-symbol-name/004_cse.mlir is the module after the fifth pass.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.errors import ConfigError
from ...lowering.module_text import ComparableTexts, print_module
from ...lowering.pipelines import PassRun
from ...lowering.registry import load_pass


@dataclass(frozen=True)
class Wanted:
    """What to print. `before` and `after` name passes; with `on_change` alone, `after` means every pass."""

    times: bool = False
    before: Collection[str] = ()
    before_all: bool = False
    after: Collection[str] = ()
    after_all: bool = False
    on_change: bool = False
    """Print after a pass only if it changed the module."""
    diff: bool = False
    """Print the lines that a pass changed."""
    tree: str | None = None
    """The folder for modules and changes."""

    def check(self, passes: Sequence[ModulePass]) -> None:
        """Raises ConfigError for the name of an unknown pass, or of none of these passes."""
        names = list(dict.fromkeys(each.name for each in passes))
        for option, wanted in (("--print-ir-before", self.before), ("--print-ir-after", self.after)):
            for name in wanted:
                if load_pass(name).name not in names:
                    raise ConfigError(
                        f"{option}={name}: that is none of the passes to run: {', '.join(names) or 'none'}"
                    )


class PassWatch:
    """Notified about every pass, in order, of one module after the other."""

    def __init__(self, wanted: Wanted, ctx: Context) -> None:
        self._wanted, self._ctx = wanted, ctx
        self._count = 0  # number of passes that have run
        if wanted.tree is not None:
            Path(wanted.tree).mkdir(parents=True, exist_ok=True)

    def begin(self, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
        """Starts another module. Raises ConfigError if none of its passes is asked for."""
        self._wanted.check(passes)
        if self._wanted.on_change:
            self._text = print_module(self._ctx, module)
        if self._wanted.diff:
            self._comparable = ComparableTexts(self._ctx)
            self._lines = self._comparable.text(module).splitlines()

    def before(self, name: str, module: ModuleOp) -> None:
        """Called before a pass."""
        if self._wanted.before_all or name in self._wanted.before:
            self._show("before", name, module)

    def after(self, run: PassRun, module: ModuleOp) -> None:
        """Called after a pass."""
        wanted = self._wanted
        if wanted.times:
            print(f"{run.seconds * 1e3:10.1f} ms  {run.name}", file=sys.stderr)
        changed = True
        if wanted.on_change:
            earlier, self._text = self._text, print_module(self._ctx, module)
            changed = earlier != self._text
        chosen = wanted.after_all or run.name in wanted.after or (wanted.on_change and not wanted.after)
        if chosen and changed:
            self._show("after", run.name, module)
        if wanted.diff:
            earlier, self._lines = self._lines, self._comparable.text(module).splitlines()
            names = f"before {run.name}", f"after {run.name}"
            self._put(module, f"{run.name}.diff", "\n".join(unified_diff(earlier, self._lines, *names, lineterm="")))
        self._count += 1

    def _show(self, when: str, name: str, module: ModuleOp) -> None:
        file = f"{name}.mlir" if when == "after" else f"{name}.before.mlir"
        self._put(module, file, f"// {when} {name}\n{print_module(self._ctx, module)}")

    def _put(self, module: ModuleOp, name: str, text: str) -> None:
        """Writes a text, unless it is empty, to a numbered file of that name, or to standard error."""
        if not text:
            return
        if self._wanted.tree is None:
            print(text, file=sys.stderr)
            return
        symbol = "no-symbol-name" if module.sym_name is None else module.sym_name.data
        folder = Path(self._wanted.tree, f"builtin_module_{symbol.replace('/', '_')}")
        folder.mkdir(exist_ok=True)
        Path(folder, f"{self._count:03}_{name}").write_text(f"{text}\n", encoding="utf-8")
