"""What the code of register tiles over panels begins with: form, epilogue, tiling and packed weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .....dialects.errors import CompileError
from .....dialects.graph.base import describe
from .....dialects.graph.packing.unpack import UnpackOp
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....passes.kernels.forms.contraction import ContractionForm, contraction_form
from .....passes.kernels.schedules.cpu.products.tiled_product import TiledProduct
from ....kernel_code.loop_builder import Index
from ...kernel_instance import KernelInstance
from ...tiles.fused_ops import FusedOps
from .contraction_nest import argument_buffer, nest_of
from .tile_calls import Site, TileCalls, Tiling


def product_of(k: KernelInstance) -> tuple[ContractionForm, FusedOps]:
    """The kernel's form and epilogue.

    Raises CompileError for a form that its schedule is not for, and for weights that should be packed and aren't.
    """
    form, schedule = contraction_form(k.kernel), k.schedule_as(TiledProduct)
    check_packed(k, form)
    if not schedule.suits(form, form.unpack is not None):
        raise CompileError(f"{describe(form.root)}: the schedule '{schedule.name}' is for contractions of another kind")
    return form, FusedOps.of(k, form, schedule.inline)


def tiling_of(k: KernelInstance, form: ContractionForm, epilogue: FusedOps) -> Tiling:
    """The tiling of a product whose left-hand side and result are buffers of the kernel."""
    return Tiling.of(k, form, nest_of(k, form, epilogue, k.schedule_as(TiledProduct).mr))


def write_packed(k: KernelInstance, stem: str, write: Callable[[KernelInstance, TileCalls, int], None]) -> None:
    """A call of the function `stem` for a product by packed weights, shared by kernels that differ in extents only.

    `write(kernel, calls, weight)` builds it; `weight` is the number of the weight's buffer.
    """
    form, epilogue = product_of(k)
    weight = k.buffers.index(argument_buffer(k, form.rhs))

    def body(k: KernelInstance, tiling: Tiling) -> None:
        write(k, TileCalls(k, tiling, form, epilogue), weight)

    k.outlined(stem, tiling_of(k, form, epilogue), (weight, epilogue.key, k.schedule.name), body)


def check_packed(k: KernelInstance, form: ContractionForm) -> None:
    """Raises CompileError for weights that should be packed and aren't."""
    interface = k.kernel.interface
    weights = [form.unpack] if form.blocks is None else [operand.owner for operand in form.blocks.parameters]
    packed = all(isinstance(each, UnpackOp) for each in weights)
    if isinstance(interface, InterfaceAttr) and interface.packed.data and not packed:
        raise CompileError(f"{describe(form.root)}: its weight is not packed; run pack-weights first")


def site_of(
    k: KernelInstance, tiling: Tiling, weight: int, rhs: Sequence[Index], panel: Index, row: Sequence[Index]
) -> Site:
    """The site of a row of tiles whose panel is packed in buffer `weight`."""
    b = k.b
    block: Index = 0  # right-hand sides, and the panels of each, follow each other
    for each, count in zip((*rhs, panel), (*tiling.nest.outer, tiling.panels), strict=True):
        block = b.add(b.mul(block, count), each)
    return Site(tuple(rhs), panel, tuple(row), k.places[weight], b.mul(block, b.mul(tiling.depth, tiling.nr)))
