"""The register tile: rows x lanes sums held in registers over the whole inner sum, then the epilogue.

    for kh: for tap: for k:
        b = panel[kh, tap, k, 0:lanes]
        acc[i] += broadcast(a[kh, i, tap, k]) * b        for every row i whose tap lies inside the picture
    out[i, 0:lanes] = epilogue(acc[i])

One accumulator is a vector of `lanes` elements, which LLVM splits over registers. The schedule is that of
Goto and van de Geijn's inner kernel ("Anatomy of high-performance matrix multiplication", 2008), without its
blocking, which the sizes at hand do not need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType, VectorType
from xdsl.ir import Attribute, SSAValue

from ..instance import KernelInstance
from ..writing.arithmetic import Arithmetic
from ..writing.builder import Index, LoopBuilder, memref_type, strides_of
from .epilogue import Epilogue

# Taps of a filter row that are written out one after the other; beyond it a loop over them is as fast.
_MOST_WRITTEN_OUT = 16


@dataclass(frozen=True)
class Tile:
    """A register tile.

    `taps` are [low, high) rows for each tap of a filter row; `run` is the length of the inner loop for one tap;
    `filter_rows` the number of filter rows, of which a call says how many it visits. `valid` of the `lanes`
    columns exist.
    """

    rows: int
    lanes: int
    valid: int
    taps: tuple[tuple[int, int], ...]
    run: int
    filter_rows: int
    rows_vary: bool = False  # whether a call may visit fewer filter rows than there are
    chains: int = 1  # independent sums that each element is made of, see chains_of
    prefetch: int = 0  # elements of a cache line, where the next panel is asked for; 0: it is not

    @property
    def suffix(self) -> str:
        """A name for the tile's function."""
        clip = (
            "" if all(tap == (0, self.rows) for tap in self.taps) else "_" + "_".join(f"{a}to{b}" for a, b in self.taps)
        )
        return f"tile_{self.rows}x{self.valid}{clip}"


def tile_function(
    k: KernelInstance,
    tile: Tile,
    a_type: Attribute,
    b_type: Attribute,
    bias_type: Attribute | None,
    operand_types: Sequence[Attribute | None],
    out_type: Attribute,
    epilogue: Epilogue,
    prefix: str = "",
) -> func.FuncOp:
    """The function of a tile: (a, panel, number of filter rows, [bias], [epilogue operands], out).

    Windows are [filter row, row, tap, k] for a, [filter row, tap and k, column] for the panel and [row, column]
    for the epilogue's operands and the result. An operand whose type is None is the result's own bytes.
    """
    given = [a_type, b_type, IndexType()]
    given += [bias_type] if bias_type is not None else []
    given += [type for type in operand_types if type is not None]
    function, b = k.helper(prefix + tile.suffix, [*given, out_type])
    arguments = list(function.body.block.args)
    a, panel, filter_rows = arguments[:3]
    rest = arguments[3:-1]
    out = arguments[-1]
    bias = rest.pop(0) if bias_type is not None else None
    windows = [out if type is None else rest.pop(0) for type in operand_types]
    vector = VectorType(memref_type(panel).element_type, [tile.lanes])
    start = b.constant(0.0, vector) if bias is None else b.vload(bias, [0], tile.lanes, tile.valid)
    sums = _sums(b, tile, a, panel, filter_rows, [start] * tile.rows)
    writer = _Rows(b, tile, epilogue, windows, out)
    if epilogue.inline:
        for row in range(tile.rows):
            b.vstore(writer.emit(sums[row], row), out, [row, 0], tile.valid)
    else:
        for row in range(tile.rows):
            b.vstore(sums[row], out, [row, 0], tile.valid)

        def second_pass(row: Index, _: Sequence[SSAValue]) -> None:
            value = b.vload(out, [row, 0], tile.lanes, tile.valid)
            b.vstore(writer.emit(value, row), out, [row, 0], tile.valid)

        b.loop(0, tile.rows, second_pass)
    b.ret()
    return function


def _sums(
    b: LoopBuilder, tile: Tile, a: SSAValue, panel: SSAValue, filter_rows: SSAValue, start: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """The tile's sums, beginning with `start`."""
    chains = tile.chains
    m = Arithmetic(b, start[0].type)

    def filter_row(kh: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        current = list(sums)
        first = 0
        for (low, high), alike in groupby(tile.taps):
            last = first + len(list(alike))
            if low < high and last - first > _MOST_WRITTEN_OUT:
                step = partial(run, kh, low)
                current[low:high] = b.loop(first, last, step, carried=current[low:high])
            elif low < high:
                for tap in range(first, last):
                    current[low:high] = run(kh, low, tap, current[low:high])
            first = last
        return current

    def run(kh: Index, low: int, tap: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """One tap's inner loop; with several chains, every chain sums its own part of each step."""

        def multiply(i: Index, totals: Sequence[SSAValue]) -> list[SSAValue]:
            at = b.add(i, b.mul(tap, tile.run))
            column = b.vload(panel, [kh, at, 0], tile.lanes)
            if tile.prefetch:
                # The same row of the next panel, which begins where this one ends.
                for lane in range(0, tile.lanes, tile.prefetch):
                    b.prefetch(panel, [b.add(kh, tile.filter_rows), at, lane])
            return [
                b.fma(b.splat(b.load(a, [kh, low + row, tap, i]), tile.lanes), column, total)
                for row, total in enumerate(totals)
            ]

        count, whole = len(sums), tile.run // chains * chains
        if chains == 1 or whole == 0:
            return b.loop(0, tile.run, lambda i, carried: multiply(i, carried), carried=sums)

        def step(i: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            parts = [multiply(b.add(i, c), carried[c * count : (c + 1) * count]) for c in range(chains)]
            return [total for part in parts for total in part]

        zeros = [m.constant(0.0)] * (count * (chains - 1))
        parts = b.loop(0, whole, step, step=chains, carried=[*sums, *zeros])
        while len(parts) > count:
            half = len(parts) // 2
            parts = [m.add(x, y) for x, y in zip(parts[:half], parts[half:], strict=True)]
        return b.loop(whole, tile.run, lambda i, carried: multiply(i, carried), carried=parts)

    count: Index = filter_rows if tile.rows_vary else tile.filter_rows
    return b.loop(0, count, filter_row, carried=start)


def chains_of(rows: int) -> int:
    """How many independent sums each element of a product with so few rows is made of.

    A multiply-add takes four cycles at two per cycle (Zen 5), and a row is two registers: fewer than four rows would
    wait for themselves. Shorter chains also round less. It is decided for a whole product and not for a tile, because
    how rows are cut into tiles depends on the buffers, and no bit of a result may.
    """
    return {1: 8, 2: 4, 3: 2}.get(rows, 1)


class _Rows:
    """The epilogue's operands, row by row of a tile."""

    def __init__(
        self, b: LoopBuilder, tile: Tile, epilogue: Epilogue, windows: Sequence[SSAValue], out: SSAValue
    ) -> None:
        self.b, self.tile, self.epilogue = b, tile, epilogue
        self.windows = dict(zip(epilogue.operands, windows, strict=True))
        # What does not change from row to row is loaded once, ahead of the rows.
        self.fixed = {
            value: self._load(window, 0)
            for value, window in self.windows.items()
            if window is not out and strides_of(memref_type(window))[0] == 0
        }

    def _load(self, window: SSAValue, row: Index) -> SSAValue:
        lanes = self.tile.lanes
        if strides_of(memref_type(window))[1] == 0:
            return self.b.splat(self.b.load(window, [row, 0]), lanes)
        return self.b.vload(window, [row, 0], lanes, self.tile.valid)

    def emit(self, sums: SSAValue, row: Index) -> SSAValue:
        """The stored vector for row `row`."""

        def load(value: SSAValue) -> SSAValue:
            return self.fixed[value] if value in self.fixed else self._load(self.windows[value], row)

        return self.epilogue.emit(self.b, sums, self.tile.lanes, load)
