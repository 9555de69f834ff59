"""verify-arena: rejects a main at the arena level in which a live value is overwritten; changes nothing.

Checks the final IR and shares no code with the analyses and planners that produced it. Main is executed abstractly,
step by step, calls and loads of scalars (loops twice, to cover values carried around):
1. Every byte is labelled with the buffer that wrote it last; a buffer's first write labels all of its bytes. A read
   must find its own buffer's label on all bytes between the first and the last that it reads, and so must a window,
   which is written in part: it is taken for all that it covers in any turn. Scratch may hold anything. At the end all
   bytes of every output have been written.
2. Within a call, written bytes are disjoint from everything else the call is given, except that a result may be the
   very value of an operand where the kernel's interface allows it. Inputs and weights are never written. Of a cache,
   only bytes that the caller or a call has written are read, and at the end all of its present is written.
3. All pairs of buffers: those live at a common step by the recorded lifetimes share no byte. The recorded lifetimes
   equal those of the accesses, or of the loops around them; the gaps equal those of the accesses where main has no
   loops or branches.
4. Views lie inside the arena, buffers start at multiples of the alignment, and the certificate `kernel.plan` agrees
   with the IR: the arena ends with its highest buffer; the lower bound is the live bytes of the binding step, and no
   step has more; the plan is called optimal exactly where the proven bound equals the size. (That nothing lies between
   the lower bound and a higher proven one is left to the planner.)

5. The proof in `kernel.order`, where prove-order has left one, proves its bound of all orders of the calls.

Needs plan-arena. Raises PlanError with the names of the buffers and the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from typing import cast

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.errors import InvalidModelError, PlanError
from ...dialects.graph.base import describe
from ...dialects.graph.fixed_sizes import settled
from ...dialects.graph.host import attributes_of_arguments
from ...dialects.graph.kv_cache_attributes import CACHE, CacheAttr
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.graph.values import AnyTensor, ints, numpy_dtype
from ...dialects.kernel.calls import CallOp, WeightOp, WindowOp
from ...dialects.kernel.kernel_attributes import InterfaceAttr
from ...dialects.sizes.size_attributes import symbols_of_module
from ..ordering.calls_and_values import OrderProblem, OrderProof
from ..ordering.proof_checker import check_order_proof
from .analysis.byte_map import ByteMap, Region
from .analysis.flow_problem import flow_problem
from .analysis.value_flow import ValueFlow
from .analysis.window_bytes import window_region

_Step = CallOp | memref.LoadOp
_LOOPS = scf.ForOp | scf.WhileOp
_CLAIMS = ("alignment", "arena_bytes", "lower_bound", "binding_step", "proven_bound", "optimal")
_VIEWS = (
    memref.ReinterpretCastOp,
    memref.SubviewOp,
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
    memref.CastOp,
)
_HARMLESS = (*_VIEWS, WindowOp, memref.ViewOp, memref.AllocOp, scf.YieldOp, scf.ConditionOp, func.ReturnOp)


@dataclass(frozen=True)
class VerifyArena(ModulePass):
    """Rejects a main at the arena level in which a live value is overwritten."""

    name = "verify-arena"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if symbols_of_module(op):
            op = settled(op)
        _checker(op).run()


def order_problem(module: ModuleOp) -> OrderProblem:
    """The problem of the order of main's calls, as its proof is checked: see analysis/value_flow.py."""
    checker = _checker(settled(module) if symbols_of_module(module) else module)
    checker.find_buffers()
    return checker.order_problem()


def _checker(module: ModuleOp) -> _Checker:
    interfaces: dict[str, InterfaceAttr] = {}
    main: func.FuncOp | None = None
    for each in module.body.block.ops:
        if isinstance(each, KernelOp) and isinstance(each.interface, InterfaceAttr):
            interfaces[each.sym_name.data] = each.interface
        elif isinstance(each, func.FuncOp) and each.sym_name.data == "main":
            main = each
    if main is None:
        raise InvalidModelError("verify-arena: the module has no function @main")
    return _Checker(main, interfaces)


@dataclass
class _CheckedBuffer:
    """A buffer of the arena: the lifetime that its views record, the bytes they cover, the steps that access them."""

    name: str
    birth: int
    death: int
    gaps: list[tuple[int, int]]
    start: int
    end: int
    steps: list[int] = field(default_factory=list[int])
    seen_gaps: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def touch(self, step: int, *, overwritten: bool) -> None:
        """Records an access; where it overwrites everything, the interval since the previous access is a gap."""
        if overwritten and self.steps and self.steps[-1] + 1 < step:
            self.seen_gaps.append((self.steps[-1] + 1, step))
        self.steps.append(step)

    def live(self) -> list[tuple[int, int]]:
        edges = [self.birth, *(step for gap in self.gaps for step in gap), self.death]
        return list(zip(edges[::2], edges[1::2], strict=True))


class _Checker:
    def __init__(self, main: func.FuncOp, interfaces: dict[str, InterfaceAttr]) -> None:
        self.main = main
        self.interfaces = interfaces
        self.memory: dict[SSAValue, ByteMap] = {}
        self.regions: dict[SSAValue, Region] = {}
        self.buffers: dict[object, _CheckedBuffer] = {}
        self.steps: dict[Operation, int] = {}
        self.outputs: list[SSAValue] = []
        self.caches: dict[SSAValue, CacheAttr] = {}
        self.read_only: set[SSAValue] = set()
        self.arena = self.arguments()
        self.plan = self.certificate()

    def certificate(self) -> dict[str, int]:
        """The numbers in `kernel.plan`."""
        plan = self.main.attributes.get("kernel.plan")
        if not isinstance(plan, DictionaryAttr):
            raise PlanError("verify-arena: main has no kernel.plan; run plan-arena first")
        numbers = {key: each.value.data for key, each in plan.data.items() if isinstance(each, IntegerAttr)}
        for key in _CLAIMS:
            if key not in numbers:
                raise PlanError(f"verify-arena: the kernel.plan of main lacks {key}")
        return numbers

    def arguments(self) -> SSAValue:
        """Sorts main's arguments by role; returns the arena."""
        arena: SSAValue | None = None
        for argument, given in zip(self.main.args, attributes_of_arguments(self.main), strict=True):
            cache = given.data.get(CACHE)
            match given.data.get("graph.role"):
                case StringAttr(data="cache") if isinstance(cache, CacheAttr):
                    self.caches[argument] = cache
                    self.write(self.part(argument, cache.past))
                case StringAttr(data="arena"):
                    arena = argument
                case StringAttr(data="output"):
                    self.outputs.append(argument)
                case _:
                    self.read_only.add(argument)
        if arena is None:
            raise PlanError("verify-arena: main has no argument with the role 'arena'; run plan-arena first")
        return arena

    def run(self) -> None:
        """Runs all checks; returns if none fails."""
        self.find_buffers()
        for step in self.calls(self.main.body.block, 2):
            self.step(step)
        for output in self.outputs:
            region = self.region(output)
            for position, _ in self.memory.get(output, ByteMap()).strangers(region.start, region.end, output):
                raise PlanError(f"byte {position} of output {_name(output)} is never written")
        for cache, given in self.caches.items():
            for start, _ in self.strangers(self.part(cache, given.present)):
                raise PlanError(f"byte {start} of cache {_name(cache)} is never written")
        self.check_lifetimes()
        self.check_pairs()
        self.check_certificate()
        self.check_order()

    def check_order(self) -> None:
        """The proof that `kernel.order` holds, if any, proves its bound."""
        stated = self.main.attributes.get("kernel.order")
        if stated is None:
            return
        match stated:
            case DictionaryAttr(
                data={
                    "bound": IntegerAttr() as bound,
                    "window": DenseArrayBase() as window,
                    "sets": ArrayAttr() as sets,
                }
            ):
                try:
                    masks = frozenset(int(each.data, 16) for each in sets if isinstance(each, StringAttr))
                except ValueError as error:
                    raise PlanError(f"verify-arena: a set of the kernel.order of main: {error}") from None
                proof = OrderProof(bound.value.data, tuple(ints(window)), masks)
            case _:
                raise PlanError("verify-arena: the kernel.order of main needs a bound, a window and sets")
        check_order_proof(self.order_problem(), proof)
        if proof.bound > self.plan["arena_bytes"]:
            raise PlanError(f"the proof of the order claims {proof.bound} bytes, more than the arena has")

    def find_buffers(self) -> None:
        """Numbers the steps, and determines the extent of each buffer."""
        self.steps = {op: step for step, op in enumerate(self.calls(self.main.body.block, 1))}
        for step in self.steps:
            for value in step.operands:
                if isinstance(value.type, MemRefType):
                    self.region(value)

    def order_problem(self) -> OrderProblem:
        """The problem of the order of main's calls."""
        held = {argument: self.region(argument).count for argument in (*self.outputs, *self.caches)}
        flow = ValueFlow(self.region, self.is_whole, held, self.interfaces, self.plan["alignment"])
        flow.run(self.calls(self.main.body.block, 1))
        return flow_problem(flow, self.caches)

    def calls(self, block: Block, rounds: int) -> Iterator[_Step]:
        """The calls and loads in execution order: loop bodies `rounds` times, both branches one after the other."""
        for op in block.ops:
            if isinstance(op, CallOp | memref.LoadOp):
                yield op
            elif not op.regions and not isinstance(op, _HARMLESS) and any(map(_is_memref, op.operands)):
                raise PlanError(f"{describe(op)}: verify-arena can't tell what it does to its buffers")
            for region in op.regions:
                if not isinstance(op, _LOOPS | scf.IfOp):
                    raise PlanError(f"{describe(op)}: verify-arena supports no other regions than loops and branches")
                for _ in range(rounds if isinstance(op, _LOOPS) else 1):
                    for inner in region.blocks:
                        yield from self.calls(inner, rounds)

    def step(self, op: _Step) -> None:
        is_call = isinstance(op, CallOp)
        ins, outs, scratch = (op.ins, op.outs, op.scratch) if is_call else ((op.memref,), (), ())
        if is_call:
            self.check_sharing(op)
        step = self.steps[op]
        reads = {self.region(value).owner for value in ins}
        overwritten = {region.owner for region in map(self.region, outs) if self.is_whole(region)} - reads
        touched = {*reads, *(self.region(value).owner for value in (*outs, *scratch))}
        buffers = {owner: self.buffers[owner] for owner in touched if owner in self.buffers}
        begun = {owner for owner, buffer in buffers.items() if buffer.steps}
        left = [value for value in outs if isinstance(value.owner, WindowOp) and self.region(value).owner in begun]
        for owner, buffer in buffers.items():
            buffer.touch(step, overwritten=owner in overwritten)
        for value in (*ins, *left):
            region = self.region(value)
            if region.space in self.caches:
                for position, _ in self.strangers(region):
                    raise PlanError(
                        f"{describe(op)}, step {step}: reads cache {_name(region.space)}, but nobody has written byte "
                        f"{position}"
                    )
            if region.space is not self.arena:
                continue  # an input, a weight, or an output, which nothing else can write
            found = self.memory.setdefault(region.space, ByteMap())
            for position, owner in found.strangers(region.start, region.end, region.owner):
                writer = "nobody has written" if owner is None else f"{self.title(owner)} has written"
                raise PlanError(
                    f"{describe(op)}, step {step}: reads {self.title(region.owner)}, but {writer} byte {position}"
                )
        for value in (*scratch, *outs):
            region = self.region(value)
            if region.space in self.read_only:
                raise PlanError(f"{describe(op)}, step {step}: writes {_name(region.space)}, which is read-only")
            if region.space in self.caches:
                self.write(region)
                continue
            start, end = region.start, region.end
            buffer = buffers.get(region.owner)
            if buffer is not None and (buffer.birth == step or region.owner not in begun):
                start, end = buffer.start, buffer.end
            self.memory.setdefault(region.space, ByteMap()).write(start, end, region.owner)

    def part(self, cache: SSAValue, type: AnyTensor) -> Region:
        """The bytes of a cache's past or present, which starts where the cache's buffer does."""
        strides = cast("MemRefType[Attribute]", cache.type).get_strides()
        return _region(cache, cache, 0, type, strides or ())

    def write(self, region: Region) -> None:
        """Labels the bytes of a region's rows, not those between them, with its owner."""
        for start in region.rows():
            self.memory.setdefault(region.space, ByteMap()).write(int(start), int(start) + region.run, region.owner)

    def strangers(self, region: Region) -> Iterator[tuple[int, object]]:
        """The bytes of a region last written by another owner, or never."""
        for start in region.rows():
            found = self.memory.setdefault(region.space, ByteMap())
            yield from found.strangers(int(start), int(start) + region.run, region.owner)

    def check_sharing(self, op: CallOp) -> None:
        """Within one call, only pairs that the interface allows alias."""
        interface = self.interfaces.get(op.callee.string_value())
        allowed = set(interface.inplace_pairs) if interface is not None else set[tuple[int, int]]()
        written = [("result", number, value) for number, value in enumerate(op.outs)]
        written += [("scratch", number, value) for number, value in enumerate(op.scratch)]
        for index, (kind, number, value) in enumerate(written):
            region = self.region(value)
            others = [("operand", position, other) for position, other in enumerate(op.ins)]
            for what, position, other in (*others, *written[:index]):
                same = what == "operand" and kind == "result" and value is other
                if same and (position, number) in allowed:
                    continue
                if region.meets(self.region(other)):
                    raise PlanError(
                        f"{describe(op)}, step {self.steps[op]}: {kind} {number} and {what} {position} share "
                        f"bytes, which @{op.callee.string_value()} does not allow"
                    )

    def is_whole(self, region: Region) -> bool:
        """Whether the region covers its whole arena buffer."""
        buffer = self.buffers.get(region.owner)
        return buffer is not None and not region.dims and (region.start, region.end) == (buffer.start, buffer.end)

    def region(self, value: SSAValue) -> Region:
        """The bytes that a value covers."""
        if value not in self.regions:
            self.regions[value] = self.find_region(value)
        return self.regions[value]

    def find_region(self, value: SSAValue) -> Region:
        if isinstance(value.owner, WindowOp):
            source = self.region(value.owner.source)
            exact = source.space in self.outputs or source.space in self.caches
            return window_region(value.owner, source, _name(value), exact=exact)
        type = cast("MemRefType[Attribute]", value.type)
        strides, offset = type.get_strides(), type.get_offset()
        op = value.owner
        base = value
        shift, owner = 0, cast(object, value)
        while isinstance(op, Operation) and not isinstance(op, memref.ViewOp | WeightOp):
            if not isinstance(op, _VIEWS):
                raise PlanError(f"verify-arena can't see through {op.name}")
            base = op.operands[0]
            op, owner = base.owner, base
        if isinstance(op, memref.ViewOp) and op.source in self.read_only:
            base = owner = op.source
        elif isinstance(op, memref.ViewOp):
            shift, owner = self.arena_view(op)
            base = op.source
        elif isinstance(op, WeightOp):
            self.read_only.add(base)
        elif base not in self.main.args:
            raise PlanError("verify-arena can't tell which buffer a loop or a branch yields")
        if strides is None or offset is None or None in strides:
            raise PlanError(f"{type} is not a buffer with constant strides")
        shift += offset * numpy_dtype(type.element_type).itemsize
        return _region(base, owner, shift, type, strides)

    def arena_view(self, op: memref.ViewOp) -> tuple[int, object]:
        """The first byte of a view of the arena, and the number of its buffer."""
        constant = op.byte_shift.owner
        if op.source is not self.arena or not isinstance(constant, arith.ConstantOp):
            raise PlanError(f"{describe(op)}: not a view of the arena at a constant byte")
        shift = cast("IntegerAttr", constant.value).value.data
        type = op.result.type
        end = shift + numpy_dtype(type.element_type).itemsize * _count(type)
        numbers = {key: op.attributes.get(key) for key in ("buffer", "birth", "death")}
        found = [number.value.data for number in numbers.values() if isinstance(number, IntegerAttr)]
        if len(found) != 3:
            raise PlanError(f"{describe(op)}: a view of the arena needs the attributes {', '.join(numbers)}")
        if shift < 0 or end > _count(cast("MemRefType[Attribute]", self.arena.type)):
            raise PlanError(f"{_name(op.result)}: bytes [{shift}, {end}) lie outside of the arena")
        gaps = cast("ArrayAttr[ArrayAttr[IntegerAttr]]", op.attributes.get("gaps", ArrayAttr([])))
        steps = [(gap.data[0].value.data, gap.data[1].value.data) for gap in gaps]
        buffer = self.buffers.get(found[0])
        if buffer is None:
            buffer = _CheckedBuffer(_name(op.result), found[1], found[2], steps, shift, end)
            self.buffers[found[0]] = buffer
        if (buffer.birth, buffer.death, buffer.gaps) != (found[1], found[2], steps):
            raise PlanError(f"{_name(op.result)}: the views of buffer {found[0]} disagree about its lifetime")
        buffer.start, buffer.end = min(buffer.start, shift), max(buffer.end, end)
        return shift, found[0]

    def check_lifetimes(self) -> None:
        """The recorded lifetimes equal those of the accesses, or extend over the loops that contain them."""
        straight = not any(op.regions for op in self.main.body.block.ops)
        loops = [self.steps_in(op) for op in self.main.body.walk() if isinstance(op, _LOOPS)]
        for buffer in self.buffers.values():
            first, last = min(buffer.steps), max(buffer.steps)
            births = {first, *(loop.start for loop in loops if first in loop)}
            deaths = {last + 1, *(loop.stop for loop in loops if last in loop)}
            if buffer.birth not in births or buffer.death not in deaths:
                raise PlanError(
                    f"{buffer.name}: recorded as live in [{buffer.birth}, {buffer.death}), "
                    f"but accessed in [{first}, {last + 1})"
                )
            if straight and buffer.gaps != buffer.seen_gaps:
                raise PlanError(
                    f"{buffer.name}: recorded as free in {_intervals(buffer.gaps)}, "
                    f"but its bytes are dead in {_intervals(buffer.seen_gaps)}"
                )

    def steps_in(self, op: Operation) -> range:
        """The steps inside an op's regions."""
        steps = [self.steps[inner] for inner in op.walk() if isinstance(inner, _Step)]
        return range(min(steps), max(steps) + 1) if steps else range(0)

    def check_pairs(self) -> None:
        """Buffers that are live at a common step share no byte, by comparing all pairs."""
        ordered = sorted(self.buffers.values(), key=lambda buffer: buffer.start)
        for index, a in enumerate(ordered):
            for b in ordered[index + 1 :]:
                if b.start >= a.end:
                    break
                if b.start == b.end or b.birth >= a.death or a.birth >= b.death:
                    continue
                for birth, death in a.live():
                    for other_birth, other_death in b.live():
                        if birth < other_death and other_birth < death:
                            raise PlanError(
                                f"{a.name} and {b.name} are live together at step "
                                f"{max(birth, other_birth)} and share bytes [{b.start}, {min(a.end, b.end)})"
                            )

    def check_certificate(self) -> None:
        """`kernel.plan` agrees with the IR."""
        plan = self.plan
        size, alignment = _count(cast("MemRefType[Attribute]", self.arena.type)), plan["alignment"]
        if alignment < 1 or alignment & (alignment - 1):
            raise PlanError(f"the plan's alignment {alignment} is not a power of two")
        if size != plan["arena_bytes"]:
            raise PlanError(f"the arena has {size} bytes, the plan claims {plan['arena_bytes']}")
        changes = [0] * (len(self.steps) + 1)
        highest = 0
        for buffer in self.buffers.values():
            if buffer.start % alignment:
                raise PlanError(f"{buffer.name} starts at {buffer.start}, which is not aligned to {alignment}")
            taken = (buffer.end - buffer.start + alignment - 1) // alignment * alignment
            highest = max(highest, buffer.start + taken if taken else 0)
            for birth, death in buffer.live():
                changes[birth] += taken
                changes[death] -= taken
        if size != highest:
            raise PlanError(f"the arena has {size} bytes, but its highest buffer ends at {highest}")
        live = list(accumulate(changes))
        most, binding = max(live), plan["binding_step"]
        if plan["lower_bound"] != most:
            raise PlanError(
                f"{most} bytes are live at step {live.index(most)}, the plan's bound is {plan['lower_bound']}"
            )
        if not 0 <= binding < len(live) or live[binding] != most:
            raise PlanError(f"the plan's bound is reached at step {live.index(most)}, not at step {binding}")
        if not most <= plan["proven_bound"] <= size:
            raise PlanError(f"the plan claims to prove {plan['proven_bound']}, which is not in [{most}, {size}]")
        if bool(plan["optimal"]) != (plan["proven_bound"] == size):
            raise PlanError(f"the arena has {size} bytes and {plan['proven_bound']} are proven: optimal is wrong")

    def title(self, owner: object) -> str:
        """The name of the buffer with this owner number."""
        buffer = self.buffers.get(owner)
        if buffer is not None:
            return buffer.name
        return _name(cast("SSAValue[Attribute]", owner)) if isinstance(owner, SSAValue) else str(owner)


def _is_memref(value: SSAValue) -> bool:
    return isinstance(value.type, MemRefType)


def _region(
    space: SSAValue, owner: object, start: int, type: AnyTensor | MemRefType[Attribute], strides: Sequence[int | None]
) -> Region:
    """The bytes of elements of the given type and strides from byte `start` on."""
    itemsize = numpy_dtype(type.element_type).itemsize
    return Region.of(space, owner, start, itemsize, type.get_shape(), cast("Sequence[int]", strides))


def _count(type: MemRefType[Attribute]) -> int:
    return prod(type.get_shape())


def _intervals(steps: list[tuple[int, int]]) -> str:
    return " ".join(f"[{low}, {high})" for low, high in steps) or "no steps"


def _name(value: SSAValue) -> str:
    """The name of a view or an argument, for errors."""
    op = value.owner
    name = op.attributes.get("name") if isinstance(op, Operation) else None
    return name.data if isinstance(name, StringAttr) else value.name_hint or "an argument"
