"""C++ for products by warpgroups, barriers that count bytes, and copies that report to them; see warpgroup.cuh."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.gpu.mbarriers import (
    BulkCopyOp,
    MBarrierArriveOp,
    MBarrierCreateOp,
    MBarrierExpectOp,
    MBarrierInitOp,
    MBarrierWaitOp,
)
from ...dialects.gpu.tensor_maps import TensorLoadOp
from ...dialects.gpu.warpgroup import ROWS, SetMaxRegisterOp, WarpgroupMmaOp, WarpgroupWaitOp
from .expressions import Expression, literal, subscript
from .kernel_text import SHARED, Handler, KernelText, memref_type
from .memref_ops import bytes_of, indices_of
from .names import warpgroup_prelude
from .types import Types

_KINDS = {"float": "tf32", "f16": "f16", "bf16": "bf16"}
"""What PTX calls the elements of a product, by their name in C++."""


def prelude_for(kernels: Iterable[Operation], types: Types) -> str:
    """What is needed beside the prelude: "" without such operations; else functions, of products those that occur."""
    used = [op for function in kernels for op in function.walk() if op.name in HANDLERS]
    if not used:
        return ""
    shapes = {(op.columns, _element(op, types)) for op in used if isinstance(op, WarpgroupMmaOp)}
    ranks = {len(op.coordinates) for op in used if isinstance(op, TensorLoadOp)}
    made = [_product(columns, element) for columns, element in sorted(shapes)] + [_box_copy(each) for each in ranks]
    functions = "\n".join(made)
    return warpgroup_prelude() + (f"\n#ifndef MINI_INFER_EMULATED\n{functions}\n#endif\n" if functions else "")


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


def _box_copy(rank: int) -> str:
    """The function `copy_box` for boxes of so many dimensions; PTX counts them from the innermost one on."""
    at = [f"at{i}" for i in range(rank)]
    parameters = ", ".join(f"int {each}" for each in at)
    numbers = ", ".join(f"%{3 + i}" for i in reversed(range(rank)))
    given = ", ".join(f'"r"({each})' for each in at)
    what = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"
    return "\n".join(
        [
            f"DEVICE void copy_box(void* to, const tensor_map& map, u64* barrier, {parameters}) {{",
            f'  asm volatile("{what} [%0], [%1, {{{numbers}}}], [%2];"',
            '               :: "r"(shared_address(to)), "l"(&map), "r"(shared_address(barrier)),',
            f'                  {given} : "memory");',
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


def _arrive(kernel: KernelText, op: MBarrierArriveOp) -> None:
    kernel.changed(SHARED)
    kernel.line(f"barrier_arrive({_barrier(kernel, op.barriers, op.index)});", op)


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


def _map(kernel: KernelText, op: Operation) -> None:
    """It is a parameter of the kernel."""


def _load(kernel: KernelText, op: TensorLoadOp) -> None:
    destination = kernel.place(op.destination).address(indices_of(kernel, op.destination_indices))
    at = ", ".join(each.text for each in indices_of(kernel, op.coordinates))
    map, barrier = kernel.scalar(op.tensorMap).text, _barrier(kernel, op.barriers, op.index)
    kernel.changed(SHARED)
    kernel.line(f"copy_box({destination}, {map}, {barrier}, {at});", op)


def _registers(kernel: KernelText, op: SetMaxRegisterOp) -> None:
    kernel.line(f"{op.action.data}_registers<{op.count.value.data}>();", op)


def _products_fence(kernel: KernelText, op: Operation) -> None:
    kernel.changed()
    kernel.line("warpgroup_fence();", op)


def _proxy_fence(kernel: KernelText, op: Operation) -> None:
    kernel.line("proxy_fence();", op)


def _commit(kernel: KernelText, op: Operation) -> None:
    kernel.line("warpgroup_commit();", op)


def _products_wait(kernel: KernelText, op: WarpgroupWaitOp) -> None:
    kernel.changed()
    for each in op.behind:
        kernel.line(f"behind({kernel.place(each).pointer});", op)
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
    "nvgpu.mbarrier.arrive": _arrive,
    "nvgpu.mbarrier.try_wait.parity": _wait,
    "nvgpu.bulk_async_copy": _copy,
    "nvgpu.tma.create.descriptor": _map,
    "nvgpu.tma.async.load": _load,
    "nvgpu.setmaxregister": _registers,
    "nvgpu.warpgroup.fence": _products_fence,
    "nvgpu.proxy_fence": _proxy_fence,
    "nvgpu.warpgroup.mma": _mma,
    "nvgpu.warpgroup.commit": _commit,
    "nvgpu.warpgroup.wait": _products_wait,
}
