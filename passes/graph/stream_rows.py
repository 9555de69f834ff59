"""stream-rows: runs layers a band of rows at a time."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.graph.host import main_of
from ...dialects.graph.values import nbytes_of, type_of
from ...dialects.sizes.sizes import now
from ..statistics import count
from .streams.find_streams import find_stream
from .streams.row_schedule import Stream, bands, firings, peak
from .streams.write_stream import StreamWriter


@dataclass(frozen=True)
class StreamRows(ModulePass):
    """Runs layers a band of rows at a time."""

    name = "stream-rows"
    band: int = 0
    """Bytes."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.band:
            return
        block = main_of(op, self.name).body.block
        stream, later = find_stream(block)
        if not stream.ops:
            return
        for part in reversed(_parts(stream, self.band)):
            _write(part, self.band)
            count(ctx, self.name, "layers run by rows", len(part.ops))


def _part(stream: Stream, i: int, j: int) -> Stream:
    ops = stream.ops[i:j]
    values = {v for op in ops for v in (*op.results, *op.operands) if v in stream.axis}
    return Stream(ops, {op: stream.reads[op] for op in ops}, {v: a for v, a in stream.axis.items() if v in values})


def _size(v: SSAValue) -> int:
    return now(nbytes_of(type_of(v)))


def _parts(s: Stream, nb: int) -> list[Stream]:
    n = len(s.ops)
    cuts = [0]
    for j in range(1, n + 1):
        u = _part(s, 0, j)
        if len(u.outputs) == 1 and (j == n or s.ops[j].products or len(s.ops[j].operands) > 1):
            cuts.append(j)
    best: dict[int, tuple[int, int, list[Stream]]] = {0: (0, 0, [])}
    for b in range(1, len(cuts)):
        for a in range(b):
            if cuts[b] - cuts[a] > 60:
                continue
            u = _part(s, cuts[a], cuts[b])
            inb = 0 if a == 0 else _size(s.ops[cuts[a] - 1].results[0])
            out = _size(s.ops[cuts[b] - 1].results[0])
            pk, c = peak(u, bands(u, nb))
            prev = best[cuts[a]]
            cand = (max(prev[0], pk + inb + out), prev[1] + c, [*prev[2], u])
            if cuts[b] not in best or cand[:2] < best[cuts[b]][:2]:
                best[cuts[b]] = cand
    return best[n][2]


def _write(stream: Stream, nb: int) -> None:
    last = stream.ops[-1]
    assert last.next_op is not None
    whole = StreamWriter(stream, last.next_op).write(firings(stream, bands(stream, nb)))
    for old, new in whole.items():
        old.replace_all_uses_with(new)
    for op in reversed(stream.ops):
        Rewriter.erase_op(op, safe_erase=False)
