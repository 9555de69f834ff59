"""The kernel and the ONNX node at which a culprit makes values wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...dialects.errors import MiniInferError
from ...dialects.graph.base import describe, node_name
from ...dialects.graph.host import kernels_of, main_of
from ...dialects.graph.interpreter import input_names
from ...dialects.graph.ops.structure import CallOp as TensorCallOp
from ...dialects.graph.values import Array
from ...passes.memory.analysis.buffer_interpreter import BufferRun
from ...runtime.compile.module_to_plan import build_plan
from ..comparison.exposed_values import ExposedCode, expose_values
from ..comparison.references import References
from .search import Culprit
from .values import CLOSE, first_unmatched, values_of
from .watched_compile import State, WatchedCompile


@dataclass(frozen=True)
class Place:
    """A kernel, and the nodes of the op, or of the kernel; "" and () where they are not known."""

    kernel: str = ""
    nodes: Sequence[str] = ()
    op: str = ""
    remark: str = ""


def place_of(culprit: Culprit, compiled: WatchedCompile, references: References) -> Place:
    """Where a culprit's values part from those before it."""
    after = culprit.after_state
    if after is None:
        return _in_code(compiled, references)
    if after.level in ("graph", "kernels"):
        return _in_values(culprit, after, references)
    return _in_calls(culprit.state, after, references)


def _in_values(culprit: Culprit, after: State, references: References) -> Place:
    way = "float64" if culprit.how.endswith("float64") else "own types"
    precision: Any = np.float64 if way == "float64" else None
    inputs, store = references.inputs, references.ctx.blobs
    try:
        before, _ = values_of(culprit.state.module, inputs, store, precision)
        made, outputs = values_of(after.module, inputs, store, precision)
    except Exception:  # what can't be evaluated was told with the verdict
        return Place()
    found = first_unmatched(before, made, outputs, CLOSE[way])
    if found is None:
        return Place()
    if isinstance(found.op, TensorCallOp):
        return _of_kernel(after, found.kernel)
    return Place(found.kernel, _named([found.op]), describe(found.op))


def _named(ops: Sequence[Operation]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for op in ops if (name := node_name(op))))


def _of_kernel(state: State, name: str, remark: str = "") -> Place:
    kernel = kernels_of(state.module).get(name)
    nodes = () if kernel is None else _named(list(kernel.body.block.ops)) or _named([kernel])
    return Place(name, nodes, "", remark)


@dataclass(frozen=True)
class _Called:
    """A call in a run: which kernel, for which node, the how manieth of these; what it read and gave."""

    key: tuple[str, str, int]
    operands: Sequence[Array]
    results: Sequence[Array]


def _in_calls(before: State, after: State, references: References) -> Place:
    """The first call on buffers that reads or gives something else than before the pass."""
    known = {each.key: each for each in _calls(before, references)[0]}
    calls, stopped = _calls(after, references)
    for each in calls:
        old = known.get(each.key)
        if old is None:
            continue
        if not _same(old.operands, each.operands):
            return _of_kernel(after, each.key[0], "it reads other values than before the pass")
        if not _same(old.results, each.results):
            return _of_kernel(after, each.key[0])
    return _of_kernel(after, stopped) if stopped else Place()


def _same(before: Sequence[Array], after: Sequence[Array]) -> bool:
    return len(before) == len(after) and all(
        old.size == new.size and np.allclose(new.reshape(-1), old.reshape(-1), rtol=1e-5, atol=1e-12, equal_nan=True)
        for old, new in zip(before, after, strict=True)
    )


def _calls(state: State, references: References) -> tuple[list[_Called], str]:
    """The calls of a run, in order; and the kernel at which it stopped, "" if it went through."""
    made: list[_Called] = []
    counts: Counter[tuple[str, str]] = Counter()

    def note(op: Operation, callee: str, operands: Sequence[Array], results: Sequence[Array]) -> None:
        key = callee, node_name(op)
        made.append(_Called((*key, counts[key]), operands, [np.array(each) for each in results]))
        counts[key] += 1

    if state.level in ("graph", "kernels"):
        return _tensor_calls(state, references), ""
    run = BufferRun(
        state.module,
        references.ctx.blobs,
        lambda op, operands, results: note(op, op.callee.string_value(), operands, results),
    )
    try:
        run.run(references.inputs)
    except Exception:  # what can't be evaluated was told with the verdict
        return made, "" if run.current is None else run.current.callee.string_value()
    return made, ""


def _tensor_calls(state: State, references: References) -> list[_Called]:
    made, _ = values_of(state.module, references.inputs, references.ctx.blobs, None)
    counts: Counter[tuple[str, str]] = Counter()
    found: list[_Called] = []
    main = main_of(state.module)
    arrays: dict[SSAValue, Array] = {
        value: np.asarray(references.inputs[name]) for value, name in zip(main.args, input_names(main), strict=True)
    }
    for each in made:
        arrays.update(zip(each.op.results, each.results, strict=True))
        if isinstance(each.op, TensorCallOp):
            key = each.kernel, node_name(each.op)
            operands = [arrays[value] for value in each.op.operands if value in arrays]
            found.append(_Called((*key, counts[key]), operands, each.results))
            counts[key] += 1
    return found


def _in_code(compiled: WatchedCompile, references: References) -> Place:
    """The first kernel whose code is wrong on what it is given, when every value is an output."""
    scheduled = [step.number for step in compiled.steps if step.phase in ("graph", "kernels")]
    state = compiled.states[max(scheduled, default=-1) + 1]
    if state.level != "kernels":
        return Place()
    copy = state.module.clone()
    outputs = expose_values(copy)

    def run() -> Mapping[str, Array]:
        plan = build_plan(copy.clone(), compiled.ctx, compiled.config)
        return plan.create_execution_context().run(references.inputs)

    code = ExposedCode(copy, compiled.ctx, outputs, run)
    try:
        wrong = references.first_wrong(code, code.run())
    except MiniInferError as error:
        return Place(remark=f"kernel by kernel: {error}")
    if wrong is None:
        return Place(remark="the code of each kernel is right by itself")
    op, verdict = wrong
    if not isinstance(op, TensorCallOp):
        return Place("", _named([op]), describe(op), verdict.text)
    return _of_kernel(state, op.callee.string_value(), verdict.text)
