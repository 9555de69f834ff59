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
from ...dialects.graph.model_nodes import computed_nodes
from ...dialects.graph.ops.structure import CallOp as TensorCallOp
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.graph.values import Array
from ...dialects.kernel.calls import CallOp
from ...passes.memory.analysis.buffer_interpreter import BufferRun
from ...runtime.compile.module_to_plan import build_plan
from ..comparison.exposed_values import ExposedCode, expose_values
from ..comparison.references import References
from .computed_values import CLOSE, Computed, Matches, Values, first_wrong, lost_before, values_of
from .judge import Way
from .pass_search import Culprit
from .watched_compile import State, WatchedCompile


@dataclass(frozen=True)
class Place:
    """A kernel, and the nodes of the ops, or of the kernel; "" and () where they are not known.

    `old` is the op before the pass whose value is lost, and `new` the one after it whose value is wrong.
    """

    kernel: str = ""
    nodes: Sequence[str] = ()
    remark: str = ""
    old: str = ""
    new: str = ""


def place_of(culprit: Culprit, compiled: WatchedCompile, references: References) -> Place:
    """Where a culprit's values part from those before it."""
    after = culprit.after_state
    if culprit.failure:
        return Place()
    if after is None:
        return _in_code(compiled, references)
    if after.level in ("graph", "kernels"):
        return _in_values(culprit, after, references)
    return _in_calls(culprit.state, after, references)


def _in_values(culprit: Culprit, after: State, references: References) -> Place:
    way = "float64" if culprit.how.endswith("float64") else "own types"
    before, made = (_values(each, references, way) for each in (culprit.state, after))
    if made.stopped is not None:
        kernel = made.stopped.parent_op()
        name = kernel.sym_name.data if isinstance(kernel, KernelOp) else ""
        return Place(name, _named([made.stopped]), new=describe(made.stopped))
    kept, new = Matches(made, CLOSE[way]), first_wrong(made, Matches(before, CLOSE[way]))
    if new is None:  # all values were there before, and an output is another of them
        outputs = zip(before.outputs, made.outputs, strict=False)
        return next((_of_ops(after, now, old) for old, now in outputs if kept.lack(old)), Place())
    if isinstance(new.op, TensorCallOp):
        return _of_kernel(after, new.kernel, call=new.op)
    return _of_ops(after, new, lost_before(before, kept, new))


def _of_ops(after: State, new: Computed, old: Computed | None) -> Place:
    """The place of an op whose value is wrong, and of the one before the pass whose value is lost."""
    ops = [new.op] if old is None else [new.op, old.op]
    kernel = "" if old is None else _kernel_of(after, node_name(old.op))
    return Place(kernel or new.kernel, _named(ops), old="" if old is None else describe(old.op), new=describe(new.op))


def _kernel_of(state: State, node: str) -> str:
    """The kernel that computes a node; "" where none says so."""
    calls = (op for op in main_of(state.module).body.walk() if isinstance(op, TensorCallOp))
    return next((op.callee.string_value() for op in calls if node and node in computed_nodes(op)), "")


def _values(state: State, references: References, way: Way) -> Values:
    precision: Any = np.float64 if way == "float64" else None
    return values_of(state.module, references.inputs, references.ctx.blobs, precision)


def _named(ops: Sequence[Operation]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for op in ops if (name := node_name(op))))


def _of_kernel(state: State, name: str, remark: str = "", call: Operation | None = None) -> Place:
    """A kernel's place: the nodes that the call computes, or those of the kernel."""
    kernel = kernels_of(state.module).get(name)
    nodes = () if call is None else tuple(dict.fromkeys(filter(None, computed_nodes(call)))) or _named([call])
    if not nodes and kernel is not None:
        nodes = _named(list(kernel.body.block.ops)) or _named([kernel])
    return Place(name, nodes, remark)


@dataclass(frozen=True)
class _Called:
    """A call in a run: which kernel, for which node, the how manieth of these; what it read and gave."""

    op: Operation
    key: tuple[str, str, int]
    operands: Sequence[Array]
    results: Sequence[Array]


def _in_calls(before: State, after: State, references: References) -> Place:
    """The first call on buffers that reads or gives something else than before the pass."""
    earlier = _calls(before, references)[0]
    known = {each.key: each for each in earlier}
    calls, stopped = _calls(after, references)
    there = {each.key for each in calls}
    for each in calls:
        old = known.get(each.key)
        if old is None:
            continue
        if not _same(old.operands, each.operands):
            return _misread(after, old, [one for one in earlier if one.key not in there])
        if not _same(old.results, each.results):
            return _of_kernel(after, each.key[0], call=each.op)
    if stopped is None:
        return Place()
    key = (stopped.callee.string_value(), node_name(stopped))
    old = known.get((*key, sum(each.key[:2] == key for each in calls)))
    if old is None:
        return _of_kernel(after, key[0], call=stopped)
    left = [op for op in main_of(after.module).body.walk() if isinstance(op, CallOp)]
    kept = {op.callee.string_value() for op in left}
    return _misread(after, old, [one for one in earlier if one.key[0] not in kept])


def _misread(after: State, old: _Called, missing: Sequence[_Called]) -> Place:
    """The place of a call that reads other values than before: that of the call that made them, if it is missing."""
    for each in missing:
        if any(_same([result], [operand]) for result in each.results for operand in old.operands):
            return _of_kernel(after, each.key[0], f"its call is gone, and {old.key[0]} reads other values", each.op)
    return _of_kernel(after, old.key[0], "it reads other values than before the pass", old.op)


def _same(before: Sequence[Array], after: Sequence[Array]) -> bool:
    return len(before) == len(after) and all(
        old.size == new.size and np.allclose(new.reshape(-1), old.reshape(-1), rtol=1e-5, atol=1e-12, equal_nan=True)
        for old, new in zip(before, after, strict=True)
    )


def _calls(state: State, references: References) -> tuple[list[_Called], CallOp | None]:
    """The calls of a run, in order; and the one at which it stopped, None if it went through."""
    made: list[_Called] = []
    counts: Counter[tuple[str, str]] = Counter()

    def note(op: Operation, callee: str, operands: Sequence[Array], results: Sequence[Array]) -> None:
        key = callee, node_name(op)
        made.append(_Called(op, (*key, counts[key]), operands, [np.array(each) for each in results]))
        counts[key] += 1

    if state.level in ("graph", "kernels"):
        return _tensor_calls(state, references), None
    run = BufferRun(
        state.module,
        references.ctx.blobs,
        lambda op, operands, results: note(op, op.callee.string_value(), operands, results),
    )
    try:
        run.run(references.inputs)
    except Exception:  # what can't be evaluated was told with the verdict
        return made, run.current
    return made, None


def _tensor_calls(state: State, references: References) -> list[_Called]:
    made = _values(state, references, "own types").made
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
            found.append(_Called(each.op, (*key, counts[key]), operands, each.results))
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
        return Place("", _named([op]), verdict.text, new=describe(op))
    return _of_kernel(state, op.callee.string_value(), f"by itself: {verdict.text}", op)
