"""The references of a model for given inputs, and verdicts by them on outputs, nodes and kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.graph.blobs import MiniContext
from ...dialects.graph.host import handed_on, kernels_of, main_of
from ...dialects.graph.interpreter import interpret, output_names
from ...dialects.graph.ops.structure import CallOp
from ...dialects.graph.values import Array
from .exposed_values import ExposedCode
from .rounding import Looseness, Verdict, judged, of_outputs, of_result
from .tolerances import Tolerances


class References:
    """The graph as it was imported, evaluated in float64 and in its own types.

    `step` is that of products by a precision, as in `rounding`.
    """

    def __init__(
        self,
        module: ModuleOp,
        ctx: MiniContext,
        inputs: Mapping[str, Array],
        tolerances: Tolerances,
        step: float = 0.0,
    ) -> None:
        self.module, self.ctx, self.inputs, self.tolerances = module, ctx, inputs, tolerances
        self._step = step
        tolerances.check(self.exact)

    def _interpreted(self, precision: Any = None) -> dict[str, Array]:
        return interpret(self.module, self.inputs, self.ctx.blobs, precision=precision)

    @cached_property
    def exact(self) -> Mapping[str, Array]:
        """The outputs in float64."""
        return self._interpreted(np.float64)

    @cached_property
    def own(self) -> Mapping[str, Array]:
        """The outputs in the model's own types."""
        return self._interpreted()

    def _looseness(self) -> Sequence[Looseness]:
        """What types allow of each output."""
        return of_outputs(self.module, self._step)

    def verdicts(self, found: Mapping[str, Array], unfused: Mapping[str, Array] | None = None) -> dict[str, Verdict]:
        """The verdict on each output. The unfused code is a further reference once its nodes are known to be right."""
        loose = self._looseness()

        def owns(name: str) -> Iterator[Array]:
            if self.tolerances.for_output(name) is None:
                yield self.own[name]
                if unfused is not None and name in unfused:
                    yield unfused[name]

        return {
            name: judged(found[name], array, _loosened(each, self.tolerances.for_output(name)), owns(name))
            for (name, array), each in zip(self.exact.items(), loose, strict=False)  # counts come behind the outputs
        }

    def first_wrong(self, code: ExposedCode, values: Mapping[str, Array]) -> tuple[Operation, Verdict] | None:
        """The first op of main, in order, whose value is wrong given its operands' values in the code."""
        main, tolerance = main_of(code.module), self.tolerances.default
        names = dict(zip(handed_on(main.body.block), output_names(main), strict=True))
        bodies = kernels_of(code.module)
        doubtful: dict[SSAValue, Array] = {}
        wrong: list[tuple[Operation, Verdict]] = []

        def verdict(op: Operation, result: SSAValue, exact: Array, owns: Sequence[Array] = ()) -> Verdict:
            body = bodies[op.callee.string_value()] if isinstance(op, CallOp) else op
            by_types = _loosened(of_result(result, body, self._step), tolerance)
            return judged(values[names[result]], exact, by_types, owns)

        def given(op: Operation, arrays: Sequence[Array]) -> list[Array]:
            """What the code gave, which the run goes on with."""
            return [values[names[each]] if each in names else old for each, old in zip(op.results, arrays, strict=True)]

        def doubt(op: Operation, arrays: Sequence[Array]) -> Sequence[Array]:
            for result, exact in zip(op.results, arrays, strict=True):
                if result in names and not verdict(op, result, exact).is_right:
                    doubtful[result] = exact
            return given(op, arrays)

        def judge(op: Operation, arrays: Sequence[Array]) -> Sequence[Array]:
            for result, own in zip(op.results, arrays, strict=True):
                if result in doubtful:
                    found = verdict(op, result, doubtful[result], [own] if tolerance is None else [])
                    wrong.extend([] if found.is_right else [(op, found)])
            return given(op, arrays)

        interpret(code.module, self.inputs, code.ctx.blobs, precision=np.float64, on_value=doubt)
        if doubtful:
            interpret(code.module, self.inputs, code.ctx.blobs, on_value=judge)
        return wrong[0] if wrong else None


def _loosened(by_types: Looseness, tolerance: float | None) -> Looseness:
    return by_types if tolerance is None else replace(by_types, float=tolerance)
