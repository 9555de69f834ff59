"""Guards for empty operands: kernels whose code is wrong if an operand has no elements.

Dimensions that may be 0 are compiled as if they were not (`InputSymbol`), since a loop over nothing doesn't run. That
suffices for elementwise kernels, which may also concatenate and move; reductions, tiles and packing may rely on
elements. There, and where an op computes something from an empty operand, a guard states that nothing is empty.
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
    """Notes guards that operands are not empty: all of them, or in an `elementwise` kernel those that matter."""
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
    """Whether a size becomes 0 when the symbol, which may be 0, does."""
    if not isinstance(symbol, InputSymbol) or not symbol.may_be_empty:
        return False
    values = {each: 0 if each is symbol else each.low for each in symbols_of(size)}
    try:
        return value_of(terms_of(size), values) <= 0
    except ZeroDivisionError:  # how much is left of nothing is not told
        return True
