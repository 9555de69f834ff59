"""Where code would do something with nothing: what a kernel makes of operands without elements.

Dimensions that may be 0 are compiled as if they were not (`InputSymbol`), for a loop over nothing doesn't run. That is
so in elementwise kernels, which join and move; what sums, tiles or packs may count on something. There, and where an op
makes something of nothing (an element of it, say), code is right only where nothing is empty, which a guard says.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.graph.ops.movement import ConcatOp, PadOp
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.graph.values import shape_of
from ...dialects.sizes.guards import note
from ...dialects.sizes.polynomials import InputSymbol, Symbol, value_of
from ...dialects.sizes.sizes import symbols_of, terms_of


def note_empty_operands(kernel: KernelOp, elementwise: bool) -> None:
    """Notes that what the kernel's ops can't do without is not empty: everything, unless it is `elementwise`."""
    for op in kernel.body.block.ops:
        if elementwise and isinstance(op, ConcatOp | PadOp):
            continue
        for operand in op.operands:
            for size in shape_of(operand):
                for symbol in symbols_of(size):
                    made = not elementwise or not all(_is_empty(result, symbol) for result in op.results)
                    if _empties(size, symbol) and made:
                        note(terms_of(size), "positive", True)


def _is_empty(value: SSAValue, symbol: Symbol) -> bool:
    return any(_empties(size, symbol) for size in shape_of(value))


def _empties(size: int, symbol: Symbol) -> bool:
    """Whether a size is 0 where a symbol is that may be."""
    if not isinstance(symbol, InputSymbol) or not symbol.may_be_empty:
        return False
    values = {each: 0 if each is symbol else each.low for each in symbols_of(size)}
    try:
        return value_of(terms_of(size), values) <= 0
    except ZeroDivisionError:  # how much is left of nothing is not told
        return True
