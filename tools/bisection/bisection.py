"""`mini-infer bisect`: names the pass that makes an output wrong, with the kernel, the node, and what was changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

from ...dialects.errors import ConfigError, MiniInferError
from ...dialects.graph.blobs import blobs_of
from ...dialects.graph.host import caches_of
from ...dialects.graph.values import Array
from ...lowering.levels import level_of
from ...runtime.compile.module_to_plan import build_plan
from ...runtime.compile.source import source_of
from ...runtime.config import EngineConfig
from ...runtime.module_interface import entry_of, input_specs
from .. import json_reports as facts
from ..arrays import load_inputs
from ..comparison.comparison import unfused
from ..comparison.exposed_values import ExposedCode, expose_values
from ..comparison.references import References
from ..comparison.rounding import PRECISION
from ..comparison.tolerances import Tolerances
from ..json_reports import Facts
from ..mini_opt.destination import MODULE
from ..mini_opt.reproducer import command_of, write_reproducer
from .changed_lines import changed_lines
from .judge import BufferReferences, Judge, Judgement
from .pass_search import Culprit, find_culprit, left_out
from .place import place_of
from .watched_compile import Step, WatchedCompile

REFERRED = ("graph", "kernels", "buffers", "arena")
"""Levels with an interpreter, and so with a reference."""
CODE = "the code generator: lower-kernels / lower-to-llvm / LLVM"


def bisect(
    model: str,
    options: Mapping[str, Any],
    files: Sequence[str],
    seed: int | None,
    tolerances: Tolerances,
    output: str | None,
    reproducer: str | None,
    console: Console,
) -> Facts:
    """Prints what is found, and returns it for programs; `right`: every output is, so that there is nothing to find."""
    if reproducer is not None and Path(reproducer).suffix != MODULE:
        raise ConfigError(f"--reproducer {reproducer}: the name must end in {MODULE}")
    config = EngineConfig.of(**options)
    module, ctx = source_of(model).load(config)
    if config.is_dynamic or config.profile is not None:
        raise ConfigError("bisect is for one shape, and the model has ranges of sizes")
    if any(caches_of(entry_of(module))):
        raise ConfigError("bisect is for models without caches, which are inputs and outputs at once")
    level = level_of(module)
    if level not in REFERRED:
        raise ConfigError(f"bisect needs a reference, which a module at the {level} level has not")
    inputs = load_inputs(files, input_specs(module), seed)
    kind = References if level in ("graph", "kernels") else BufferReferences
    with console.status("reference"):
        references = kind(module, ctx, inputs, tolerances, PRECISION.get(config.precision, 0.0))
    if output is not None and output not in references.exact:
        raise ConfigError(f"--output: there is no output {output}; outputs are {', '.join(references.exact)}")
    with np.errstate(all="ignore"):  # wrong code gives garbage, which is computed with
        return _Bisection(model, references, config, output, reproducer, console).facts()


class _Bisection:
    def __init__(
        self,
        model: str,
        references: References,
        config: EngineConfig,
        output: str | None,
        reproducer: str | None,
        console: Console,
    ) -> None:
        self.model, self.references, self.console = model, references, console
        self.reproducer = reproducer
        self.judge = Judge(references, output)
        self.compiled = WatchedCompile(references.module, references.ctx, config, references.inputs)
        self.found: dict[str, Any] = {
            "model": model,
            "right": False,
            "inputs": facts.arrays(references.inputs),
            **dict.fromkeys(("output", "error", "allowed", "culprit", "pass", "number", "phase")),
            **dict.fromkeys(("kernel", "old_op", "new_op")),
            "nodes": [],
            "changed": [],
            "remarks": [],
            "reproducer": None,
        }

    def facts(self) -> Facts:
        """Looks for the culprit, and prints it."""
        final = self._final()
        self.found |= {"output": final.output, "error": final.verdict.error, "allowed": final.verdict.allowed}
        if final.is_right:
            self.found["right"] = True
            self.console.print(f"nothing is wrong: the worst output is {final.output}, {final.verdict.text}")
            return self.found
        with self.console.status("pass by pass"):
            culprit = find_culprit(self.compiled, self.judge, final)
        if culprit is None:
            self._say(
                f"no pass is to blame: output {final.output} has {_text(final)}, and the model evaluated op by op in"
                " its own types is no better"
            )
            return self.found
        self._tell(culprit, final)
        return self.found

    def _final(self) -> Judgement:
        """The verdict on the compiled code. Unfused code is a further reference, if all its nodes are right."""
        with self.console.status("compiled"):
            outputs = self.compiled.run()
        if outputs is None:
            return self.judge.of_run(lambda: _raise(self.compiled.failure))
        final = self.judge.of_outputs(outputs)
        if not final.is_right and not final.failure and level_of(self.references.module) == "graph":
            with self.console.status("node by node, unfused"):
                self.judge.unfused = self._unfused(outputs)
            final = self.judge.of_outputs(outputs)
        return final

    def _unfused(self, outputs: Mapping[str, Array]) -> Mapping[str, Array] | None:
        """The outputs of code by nodes, if the compiled `outputs` are right beside them and every node is right."""
        references, ctx = self.references, self.references.ctx
        config = unfused(self.compiled.config)

        def run(module: ModuleOp) -> Mapping[str, Array]:
            return build_plan(module.clone(), ctx, config).create_execution_context().run(references.inputs)

        try:
            alike = self.judge.of_outputs(outputs, run(references.module))
            if not alike.is_right:
                return None
            copy = references.module.clone()
            named = expose_values(copy)
            code = ExposedCode(copy, ctx, named, partial(run, copy))
            values = code.run()
            if references.first_wrong(code, values) is not None:
                return None
        except Exception:  # where passes are wrong, those of this pipeline may fail, too
            return None
        return {name: values[value] for name, value in named.items()}

    def _tell(self, culprit: Culprit, final: Judgement) -> None:
        step = culprit.step
        with self.console.status("kernel by kernel"):
            place = place_of(culprit, self.compiled, self.references)
        self.found |= {"kernel": place.kernel or None, "nodes": list(place.nodes)}
        self.found |= {"old_op": place.old or None, "new_op": place.new or None}
        rows: list[tuple[str, str]] = []
        if step is None:
            number = culprit.state.number
            last = self.compiled.steps[number - 1].made.name if number else "the import"
            known = culprit.state.level == "arena"  # else no interpreter knew the modules in between
            self.found["culprit"] = CODE if known else f"a pass after {last}, or the code generator"
            self._say(f"{self.found['culprit']} makes output {final.output} wrong")
        else:
            self.found |= {
                "culprit": step.made.name,
                "pass": step.made.name,
                "number": step.number + 1,
                "phase": step.phase,
            }
            self._say(f"{step.text} makes output {culprit.after.output} wrong")
            rows.append(("pass", f"{step.number + 1} of {len(self.compiled.steps)}, to the {step.phase} level"))
        rows += [("before", _text(culprit.before)), ("after", _text(culprit.after)), ("judged", culprit.how)]
        rows += [("kernel", place.kernel or "-"), ("node", ", ".join(place.nodes) or "-")]
        rows += [("op before", place.old)] if place.old else []
        rows += [("op after", place.new)] if place.new else []
        rows += [("", place.remark)] if place.remark else []
        rows += [("compiled", _text(final))] if step is not None else []
        if step is not None:
            rows += self._remarks(culprit, step)
        rows += self._written(culprit)
        self._print(rows)
        if step is not None:
            self.found["changed"] = changed_lines(self.compiled, step, culprit.state, culprit.after_state, place)
            for line in self.found["changed"]:
                self.console.print(line, soft_wrap=True)

    def _remarks(self, culprit: Culprit, step: Step) -> list[tuple[str, str]]:
        rows: list[tuple[str, str]] = []
        if culprit.after_state is not None and culprit.after_state.complaint:
            rows.append(("verifier", culprit.after_state.complaint))
        with self.console.status("without the pass"):
            without = left_out(self.compiled, self.judge, step)
        if without is not None:
            rows.append(("without it", f"{_text(without)}: {'right' if without.is_right else 'wrong, too'}"))
        return rows

    def _written(self, culprit: Culprit) -> list[tuple[str, str]]:
        """The reproducer: the module before the pass, or before the code generator, and the passes to run."""
        if self.reproducer is None:
            return [("reproduce", "with -o FILE.mlir: the module before it, and the command that runs it")]
        made = [step.made for step in self.compiled.steps[culprit.state.number :]]
        module, number = culprit.state.module.clone(), culprit.state.number
        if culprit.step is not None and culprit.step.number > number:
            module = self.compiled.after(culprit.state, made[: culprit.step.number - number])
        ours = Path(self.model).suffix == MODULE
        inherited = {blob for blob in blobs_of(self.references.module) if ours or blob.file.data}
        passes = made if culprit.step is None else [culprit.step.made]
        flags, ctx = ["--verify-each"], self.references.ctx
        try:
            write_reproducer(self.reproducer, self.model, ctx, module, passes, inherited, flags)
        except (MiniInferError, OSError) as error:  # what was found is told all the same
            return [("reproduce", f"there is no reproducer: {error}")]
        self.found["reproducer"] = self.reproducer
        return [("reproduce", command_of(self.reproducer))]

    def _say(self, text: str) -> None:
        self.found["remarks"].append(text)
        self.console.print(text, soft_wrap=True)

    def _print(self, rows: Sequence[tuple[str, str]]) -> None:
        table = Table(box=None, show_header=False, padding=(0, 2))
        for row in rows:
            table.add_row(*row)
        self.console.print(table)


def _text(judgement: Judgement) -> str:
    return judgement.failure or judgement.verdict.text


def _raise(text: str) -> Mapping[str, Array]:
    raise ConfigError(text)
