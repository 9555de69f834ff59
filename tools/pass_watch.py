"""What mini-opt tells of passes while they run, on standard error: their times, and the module before or after them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..dialects.errors import ConfigError
from ..lowering.module_text import print_module
from ..lowering.pipelines import PassRun
from ..lowering.registry import load_pass


@dataclass(frozen=True)
class Wanted:
    """What to tell. `before` and `after` name passes; with `on_change` alone, `after` means every pass."""

    times: bool = False
    before: Collection[str] = ()
    before_all: bool = False
    after: Collection[str] = ()
    after_all: bool = False
    on_change: bool = False
    """After a pass, only where it changed the module."""

    def check(self, passes: Sequence[ModulePass]) -> None:
        """Raises ConfigError for a name that no pass, or none of these passes, has."""
        names = list(dict.fromkeys(each.name for each in passes))
        for option, wanted in (("--print-ir-before", self.before), ("--print-ir-after", self.after)):
            for name in wanted:
                if load_pass(name).name not in names:
                    raise ConfigError(
                        f"{option}={name}: that is none of the passes to run: {', '.join(names) or 'none'}"
                    )


class PassWatch:
    """Told of every pass of one module, in order."""

    def __init__(self, wanted: Wanted, ctx: Context) -> None:
        self._wanted = wanted
        self._ctx = ctx
        self._text = ""  # of the module before the pass

    def before(self, name: str, module: ModuleOp) -> None:
        """Before a pass."""
        if self._wanted.before_all or name in self._wanted.before:
            self._show("before", name, module)
        if self._wanted.on_change and not self._text:
            self._text = print_module(self._ctx, module)

    def after(self, run: PassRun, module: ModuleOp) -> None:
        """After a pass."""
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

    def _show(self, when: str, name: str, module: ModuleOp) -> None:
        print(f"// {when} {name}\n{print_module(self._ctx, module)}", file=sys.stderr)
