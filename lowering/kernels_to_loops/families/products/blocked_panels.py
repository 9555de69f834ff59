"""Register tiles over packed panels with cache blocking: blocks of rows by groups of panels, by parts of the depth.

for item in this thread's share:                item = (right-hand side, row, block of tiles, group of panels)
    for each part of the inner sum:             one, where it is short
        for each panel of the group:
            tiles(a, panel, scratch, ...)       the last part's: bias, epilogue operands, out, ...

Where rows come from memory, tiles of a group's first panel ask for the next tile's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from .....passes.kernels.schedules.cpu.products.blocked_panels import BlockedPanels
from ....kernel_code.extents import Extent
from ....kernel_code.loop_builder import Index
from ...kernel_instance import KernelInstance
from .contraction_nest import argument_buffer
from .tile_calls import DepthPart, TileCalls, Tiling, tiles_of
from .tiled_product import product_of, site_of, tiling_of


@dataclass(frozen=True)
class _Blocks:
    """A product divided into blocks of `tall` tiles and groups of `group` panels."""

    tiling: Tiling
    tall: Index
    group: Index
    ahead: bool


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    schedule, (form, epilogue) = k.schedule_as(BlockedPanels), product_of(k)
    tiling = tiling_of(k, form, epilogue)
    weight = k.buffers.index(argument_buffer(k, form.rhs))
    blocks = _Blocks(tiling, Extent(schedule.tall), Extent(schedule.group), schedule.ahead)
    scratch = None if tiling.parts == "none" else k.scratch_part("sums")

    def write(k: KernelInstance, blocks: _Blocks) -> None:
        _write(k, blocks, TileCalls(k, blocks.tiling, form, epilogue), weight)

    k.outlined("blocked_panels", blocks, (weight, epilogue.key), write, scratch)


def _write(k: KernelInstance, blocks: _Blocks, calls: TileCalls, weight: int) -> None:
    b, tiling, nest = k.b, calls.tiling, calls.nest
    tall, group, part = blocks.tall, blocks.group, tiling.part
    tiles, rank = tiles_of(b, nest), len(nest.outer)
    sizes = [
        *nest.outer,
        *nest.pixels[:-1],
        *(b.div(b.add(count, b.sub(size, 1)), size) for count, size in ((tiles, tall), (tiling.panels, group))),
    ]

    def item(i: Index) -> None:
        *place, block, number = b.delinearize(i, sizes)
        rhs, row = place[:rank], place[rank:]
        first, first_panel = b.mul(block, tall), b.mul(number, group)
        last = b.min(b.add(first, tall), tiles)
        last_panel = b.min(b.add(first_panel, group), tiling.panels)

        def over_panels(parts: Callable[[Index], DepthPart | None]) -> None:
            def panel(panel: Index, _: Sequence[SSAValue]) -> None:
                def strips(asks_rows: bool) -> None:
                    site = site_of(k, tiling, weight, rhs, panel, row)
                    calls.strips(site, first, last, part=parts(panel), asks_rows=asks_rows)

                if blocks.ahead:
                    is_far = b.conjunction(b.compare("eq", panel, first_panel), b.compare("sgt", sizes[-2], 1))
                    b.when(is_far, lambda: strips(True), lambda: strips(False))
                else:
                    strips(False)

            b.loop(first_panel, last_panel, panel)

        if tiling.parts == "none":
            over_panels(lambda _: None)
            return

        def sum_up(start: Index, depth: Index, *, is_first: bool, is_last: bool) -> None:
            def part_of(panel: Index) -> DepthPart:
                waiting = b.place(k.places[-1], b.mul(b.sub(panel, first_panel), tiling.nr))
                return DepthPart(start, depth, is_first, is_last, waiting, b.mul(group, tiling.nr), first)

            over_panels(part_of)

        def between(start: Index, _: Sequence[SSAValue]) -> None:
            sum_up(start, part, is_first=False, is_last=False)

        end = b.mul(b.div(b.sub(nest.depth, 1), part), part)  # where the last part begins, which may be shorter
        sum_up(0, part, is_first=True, is_last=False)
        b.loop(part, end, between, step=part)
        sum_up(end, b.sub(nest.depth, end), is_first=False, is_last=True)

    k.items(b.product(sizes), item)
