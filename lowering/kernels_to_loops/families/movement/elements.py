"""The elements family: every element of the results is computed independently.

    for each element of the result's box, vectors along its innermost axis:
        result[i] = value of the body at i

The loops are planned in domain.py and written in nests.py; what an element is comes from element_values.py.

Of windows, taps along the innermost spatial axis are written out and its border pixels have loops of their own, so
nothing is asked inside; how many filter rows are inside is computed per row of pixels. See window_rules.py.

Scatters copy first and then apply their updates one after the other; each thread keeps to its own part of
the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation

from .....dialects.graph.base import ContractionOp, ElementwiseOp, ReductionOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....passes.kernels.kernel_facts import scatter_of, slide_of
from ....kernel_code.arithmetic import bits_of
from ....kernel_code.domain import Canvas, Domain, Trial, domain_for
from ....kernel_code.elements.element_values import Values
from ....kernel_code.index_expr import Expr, Var, delinearize, linear
from ....kernel_code.loop_builder import memref_type, strides_of
from ....kernel_code.scatter_elements import lower_scatter
from ...kernel_instance import KernelInstance
from ...nests import choose_lanes, write_nest
from .slide import lower_slide

# Registers that one vector takes: more chains in flight for short bodies, fewer spills for long ones.
_SHORT_REGISTERS, _LONG_REGISTERS = 4, 2


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops: over all elements of the results, grouped by shape."""
    scatter = scatter_of(k.kernel)
    if scatter is not None:
        lower_scatter(k, scatter)
        return
    slide = slide_of(k.kernel)
    if slide is not None:
        lower_slide(k, slide)
        return
    values = Values(k.b, k.kernel, k.operands)
    numbered = sorted(enumerate(k.yielded), key=lambda pair: shape_of(pair[1]))
    for shape, group in groupby(numbered, key=lambda pair: shape_of(pair[1])):
        if 0 not in shape:
            _write_group(k, values, shape, [number for number, _ in group])


def _write_group(k: KernelInstance, values: Values, shape: Sequence[int], numbers: Sequence[int]) -> None:
    """All results of one shape, in one loop nest."""
    outputs = [(k.yielded[number], k.results[number]) for number in numbers]

    def element(canvas: Canvas, index: list[Expr]) -> None:
        place = delinearize(index[0], shape)
        computed = [canvas.values.at(value, place) for value, _ in outputs]
        for value, buffer in zip(computed, canvas.results, strict=True):
            canvas.values.store(value, buffer, linear(place, buffer.strides))

    trial = Trial(k.kernel, [value.type for value in k.operands], [buffer.type for _, buffer in outputs])
    domain = domain_for(trial, [shape], element)
    steps = store_steps(domain, shape, [memref_type(buffer) for _, buffer in outputs])
    lanes = choose_lanes(trial, domain, element, vector_sizes(k), steps, _computes_much(k))
    canvas = Canvas(values, [values.line(buffer) for _, buffer in outputs])
    write_nest(k, canvas, domain, element, lanes)


def vector_sizes(k: KernelInstance) -> tuple[int, int]:
    """Lanes of one register for the widest type in the body, and the most lanes of one vector."""
    values = [*k.kernel.arguments, *(result for op in k.body for result in op.results)]
    bits = max((bits_of(element_type_of_value(value)) for value in values), default=32)
    native = k.target.lanes(max(bits, 8))
    registers = _LONG_REGISTERS if any(map(_is_long, k.body)) else _SHORT_REGISTERS
    return native, native * registers


def store_steps(domain: Domain, shape: Sequence[int], buffers: Sequence[MemRefType[Attribute]]) -> list[int]:
    """The stride of stores along each axis of the domain; 0 if results differ."""
    variables = [Var(0, 0, domain.size(axis) - 1) for axis in domain.axes()]
    index = delinearize(domain.flat([Expr.of(var) for var in variables])[0], shape)
    places = [linear(index, strides_of(type)) for type in buffers]
    steps = [{place.coefficient(var) for place in places} for var in variables]
    return [step.pop() or 0 if len(step) == 1 else 0 for step in steps]


def _computes_much(k: KernelInstance) -> bool:
    """Whether elements are expensive enough to be gathered lane by lane."""
    return any(_is_long(op) or isinstance(op, ContractionOp | ReductionOp) for op in k.body)


def _is_long(op: Operation) -> bool:
    return isinstance(op, ElementwiseOp) and op.CODE == "long"
