"""Instrumentation of passes: timing, and the module before or after them, or its changes.

Written to standard error; or, as with MLIR's option of that name, to files in the folder of --print-ir-tree-dir:
FOLDER/builtin_module_no-symbol-name/004_cse.mlir is the module after the fifth pass.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.errors import ConfigError
from ...lowering.module_text import ComparableTexts, print_module
from ...lowering.pipelines import PassRun
from ...lowering.registry import load_pass
from ..option_values import listed
from .opt_options import OptOptions


class PassWatch:
    """Notified about every pass, in order, of one module after the other."""

    def __init__(self, options: OptOptions, ctx: Context) -> None:
        self._options, self._ctx = options, ctx
        self._before, self._after = listed(options.print_ir_before), listed(options.print_ir_after)
        self._tree = options.print_ir_tree_dir
        chosen = (options.print_ir_before_all, options.print_ir_after_change, options.print_ir_diff)
        self._after_all = options.print_ir_after_all
        if self._tree is not None:
            self._after_all = self._after_all or not any((self._before, self._after, *chosen))
            Path(self._tree).mkdir(parents=True, exist_ok=True)
        self._count = 0  # number of passes that have run

    def begin(self, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
        """Starts another module. Raises ConfigError for the name of an unknown pass, or of none of these passes."""
        names = list(dict.fromkeys(each.name for each in passes))
        for option, wanted in (("--print-ir-before", self._before), ("--print-ir-after", self._after)):
            for name in wanted:
                if load_pass(name).name not in names:
                    known = ", ".join(names) or "none"
                    raise ConfigError(f"{option}={name}: that is none of the passes to run: {known}")
        if self._options.print_ir_after_change:
            self._text = print_module(self._ctx, module)
        if self._options.print_ir_diff:
            self._comparable = ComparableTexts(self._ctx)
            self._lines = self._comparable.text(module).splitlines()

    def before(self, name: str, module: ModuleOp) -> None:
        """Called before a pass."""
        if self._options.print_ir_before_all or name in self._before:
            self._show("before", name, module)

    def after(self, run: PassRun, module: ModuleOp) -> None:
        """Called after a pass."""
        on_change = self._options.print_ir_after_change
        if self._options.time_passes:
            print(f"{run.seconds * 1e3:10.1f} ms  {run.name}", file=sys.stderr)
        changed = True
        if on_change:
            earlier, self._text = self._text, print_module(self._ctx, module)
            changed = earlier != self._text
        chosen = self._after_all or run.name in self._after or (on_change and not self._after)
        if chosen and changed:
            self._show("after", run.name, module)
        if self._options.print_ir_diff:
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
        if self._tree is None:
            print(text, file=sys.stderr)
            return
        symbol = "no-symbol-name" if module.sym_name is None else module.sym_name.data
        folder = Path(self._tree, f"builtin_module_{symbol.replace('/', '_')}")
        folder.mkdir(exist_ok=True)
        Path(folder, f"{self._count:03}_{name}").write_text(f"{text}\n", encoding="utf-8")
