"""C++ for products by warpgroups, barriers that count bytes and bulk copies, by functions of warpgroup.cuh."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.gpu.mbarriers import (
    BulkCopyOp,
    MBarrierCreateOp,
    MBarrierExpectOp,
    MBarrierInitOp,
    MBarrierWaitOp,
)
from ...dialects.gpu.warpgroup import ROWS, WarpgroupMmaOp, WarpgroupWaitOp
from .expressions import Expression, literal, subscript
from .kernel_text import SHARED, Handler, KernelText, memref_type
from .memref_ops import bytes_of, indices_of
from .names import warpgroup_prelude
from .types import Types

_KINDS = {"float": "tf32", "f16": "f16", "bf16": "bf16"}
"""What PTX calls the elements of a product, by their name in C++."""


def prelude_for(functions: Iterable[Operation], types: Types) -> str:
    """What is needed beside the prelude: "" without such operations; else functions, of products those that occur."""
    used = [op for function in functions for op in function.walk() if op.name in HANDLERS]
    if not used:
        return ""
    shapes = {(op.columns, _element(op, types)) for op in used if isinstance(op, WarpgroupMmaOp)}
    products = "\n".join(_product(columns, element) for columns, element in sorted(shapes))
    return warpgroup_prelude() + (f"\n#ifndef MINI_INFER_EMULATED\n{products}\n#endif\n" if products else "")


def _element(op: WarpgroupMmaOp, types: Types) -> str:
    return types.stored(cast("VectorType[Attribute]", op.a.type).element_type)


def _product(columns: int, element: str) -> str:
    """The function `wgmma` for so many columns: sums += a b, where b is in shared memory, of `line` columns there."""
    wide, count = element == "float", columns // 2
    held, depth = (4, 8) if wide else (8, 16)
    shape = f"m{ROWS}n{columns}k{depth}.f32.{_KINDS[element]}.{_KINDS[element]}"
    numbers = _lines([f"%{i}" for i in range(count)], 16)
    sums = _lines([f'"+f"(sums[{i // 4}][{i % 4}])' for i in range(count)], 4)
    left = ", ".join(f"%{count + i}" for i in range(4))
    parts = [f"__float_as_uint(a[{i}])" if wide else f"pair(a[{2 * i}], a[{2 * i + 1}])" for i in range(4)]
    given = _lines([*(f'"r"({part})' for part in parts), '"l"(tile_descriptor(b, line))'], 2)
    flags = "p, 1, 1" if wide else "p, 1, 1, 0"
    return "\n".join(
        [
            f"DEVICE void wgmma(float (&sums)[{columns // 8}][4], vec<{element}, {held}> a, const {element}* b, "
            "int line) {",
            "  asm volatile(",
            '      "{\\n.reg .pred p;\\nsetp.eq.b32 p, 0, 0;\\n"',
            f'      "wgmma.mma_async.sync.aligned.{shape} {{"',
            *(f'      "{line}"' for line in numbers),
            f'      "}}, {{{left}}}, %{count + 4}, {flags};\\n}}"',
            *(f"      {'  ' if i else ': '}{line}" for i, line in enumerate(sums)),
            *(f"      {'  ' if i else ': '}{line}" for i, line in enumerate(given[:-1])),
            f"        {given[-1]});",
            "}",
        ]
    )


def _lines(parts: Sequence[str], most: int) -> list[str]:
    """A list of parts, so many in a line."""
    lines = [", ".join(parts[i : i + most]) for i in range(0, len(parts), most)]
    return [*(f"{line}, " for line in lines[:-1]), lines[-1]]


def _create(kernel: KernelText, op: MBarrierCreateOp) -> None:
    name = kernel.names.take(op.barriers.name_hint or "barriers")
    kernel.line(f"BARRIERS({name}, {op.barriers.type.num_barriers.data});", op)
    kernel.variable(op.barriers, name)


def _barrier(kernel: KernelText, barriers: SSAValue, index: SSAValue) -> str:
    """A pointer to one barrier."""
    place = subscript(kernel.scalar(barriers).text, kernel.scalar(index), frozenset())
    return f"&{place.text}"


def _init(kernel: KernelText, op: MBarrierInitOp) -> None:
    kernel.line(f"barrier_init({_barrier(kernel, op.barriers, op.index)}, {kernel.scalar(op.count).text});", op)


def _fence(kernel: KernelText, op: Operation) -> None:
    kernel.line("barrier_fence();", op)


def _expect(kernel: KernelText, op: MBarrierExpectOp) -> None:
    kernel.line(f"barrier_expect({_barrier(kernel, op.barriers, op.index)}, {kernel.scalar(op.txcount).text});", op)


def _wait(kernel: KernelText, op: MBarrierWaitOp) -> None:
    kernel.changed()
    barrier, rest = _barrier(kernel, op.barriers, op.index), (kernel.scalar(each).text for each in (op.phase, op.ticks))
    kernel.line(f"barrier_wait({barrier}, {', '.join(rest)});", op)


def _copy(kernel: KernelText, op: BulkCopyOp) -> None:
    source = kernel.place(op.source).address(indices_of(kernel, op.source_indices))
    destination = kernel.place(op.destination).address(indices_of(kernel, op.destination_indices))
    size = bytes_of(memref_type(op.source).element_type) * op.elements.value.data
    barrier = _barrier(kernel, op.barriers, op.index)
    kernel.changed(SHARED)
    kernel.line(f"copy_bulk({destination}, {source}, {literal(size).text}, {barrier});", op)


def _products_fence(kernel: KernelText, op: Operation) -> None:
    kernel.changed()
    kernel.line("warpgroup_fence();", op)


def _proxy_fence(kernel: KernelText, op: Operation) -> None:
    kernel.line("proxy_fence();", op)


def _commit(kernel: KernelText, op: Operation) -> None:
    kernel.line("warpgroup_commit();", op)


def _products_wait(kernel: KernelText, op: WarpgroupWaitOp) -> None:
    kernel.changed()
    kernel.line(f"warpgroup_wait<{op.groups.value.data}>();", op)


def _mma(kernel: KernelText, op: WarpgroupMmaOp) -> None:
    tile = kernel.place(op.b).address(indices_of(kernel, op.indices))
    a: Expression = kernel.whole(op.a)
    sums = kernel.place(op.sums)
    kernel.changed(sums.space)
    kernel.line(f"wgmma({sums.pointer}, {a.text}, {tile}, {op.line});", op)


HANDLERS: dict[str, Handler] = {
    "nvgpu.mbarrier.create": _create,
    "nvgpu.mbarrier.init": _init,
    "nvgpu.mbarrier.fence": _fence,
    "nvgpu.mbarrier.arrive.expect_tx": _expect,
    "nvgpu.mbarrier.try_wait.parity": _wait,
    "nvgpu.bulk_async_copy": _copy,
    "nvgpu.warpgroup.fence": _products_fence,
    "nvgpu.proxy_fence": _proxy_fence,
    "nvgpu.warpgroup.mma": _mma,
    "nvgpu.warpgroup.commit": _commit,
    "nvgpu.warpgroup.wait": _products_wait,
}
