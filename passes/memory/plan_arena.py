"""plan-arena: assigns every allocation an offset in one arena.

before:  func.func @main(%x: ..., %y: ...) {
           %a = memref.alloc() {name = "conv1"} : memref<16x8xf32>
           %p = memref.reinterpret_cast %a to offset: [64], sizes: [8, 8], ... : memref<8x8xf32, strided<...>>
after:   func.func @main(%x: ..., %y: ..., %arena: memref<1024xi8> {graph.role = "arena"})
             attributes {kernel.plan = {strategy = "auto", arena_bytes = 1024, lower_bound = 1024, ...}} {
           %0 = arith.constant 512 : index
           %a = memref.view %arena[%0][] {buffer = 0, name = "conv1", birth = 0, death = 3} : ...
           %1 = arith.constant 768 : index
           %p = memref.view %arena[%1][] {buffer = 0, ...} : ... to memref<8x8xf32>

Lifetimes come from liveness.py, offsets from planning/. Views of an allocation become views of the arena, too, so that
calls of a kernel on equal parts of different buffers have equal types: dense views without a layout, others with
strides but without an offset. They carry the number of their buffer. `birth` and `death` are steps of main
(main_steps.py), half-open. Options: the strategy (`auto`, `naive`, `pools`, ...), the alignment of all offsets, a
capacity in bytes that must not be exceeded, the width of `beam`, the steps that the searches of `exact` and `auto` may
take (with 40,000 a plan of a thousand buffers takes half a second, mostly a few per cent above what more would give).

Raises PlanError where the buffers can't fit, naming those that exceed the capacity together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from typing import Any

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i8,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.errors import PlanError
from ...dialects.graph.host import main_of, state_level
from ...dialects.graph.values import int_attr
from ...dialects.kernel.calls import WindowOp
from ...dialects.sizes.offsets import Offset
from ...dialects.sizes.size_attributes import (
    BUFFERS,
    SIZES,
    SYMBOLS,
    BuffersAttr,
    PlacedBuffer,
    SymbolsAttr,
    sizes_of_module,
)
from ...dialects.sizes.sizes import Size, now, size_of
from ..planning import BUDGETS, Buffer, Plan, Problem, lower_bound, solve
from ..statistics import measure
from .analysis.buffers import (
    ALIGNMENT,
    PLAN,
    SCRATCH,
    VIEWS,
    IndexConstants,
    Place,
    Places,
    add_argument,
    buffer_type,
    cast_to,
    check_alignment,
    insert_before,
    label,
    memref_type,
    nbytes_of,
    padded,
)
from .analysis.liveness import Lifetime, liveness
from .analysis.main_steps import Step, scratch_of, steps_of, written_by

MOST_BYTES = 2**48
SEARCH = 160_000_000  # steps times buffers of a search: 2 to 5 seconds for programs of some hundred buffers


@dataclass(frozen=True)
class PlanArena(ModulePass):
    """Assigns every allocation an offset in one arena."""

    name = "plan-arena"
    strategy: str = "auto"
    alignment: int = ALIGNMENT
    capacity: int | None = None
    width: int | None = None
    budget: int | None = None

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_alignment(self.name, self.alignment)
        main = main_of(op, self.name)
        places = Places()
        lifetimes = liveness(main, places).lifetimes
        symbols = sizes_of_module(op)
        _drop_unused(main, lifetimes)
        allocations = [each for each in main.body.walk() if isinstance(each, memref.AllocOp)]
        problem, plan = self._solve(allocations, lifetimes)
        total = _total(main, places, self.alignment)
        offsets = [plan.offsets[number] for number in range(len(allocations))]
        if symbols:
            names = _distinct([f"buffer {buffer.name}" for buffer in problem.buffers])
            offsets = [
                size_of(Offset(name, 0, MOST_BYTES, buffer.live), offset)
                for name, buffer, offset in zip(names, problem.buffers, offsets, strict=True)
            ]
        whole = problem_of(allocations, lifetimes, self.alignment)
        _carry_out(main, places, allocations, lifetimes, plan, offsets)
        if symbols:
            _state_sizes(op, main, whole, offsets)
        main.attributes[PLAN] = _summary(problem, plan, total)
        state_level(op, "arena")
        measure(ctx, self.name, "bytes of all tensors", total)
        measure(ctx, self.name, "bytes of the arena", plan.height)
        measure(ctx, self.name, "bytes saved", total - plan.height)

    def _solve(self, allocations: list[memref.AllocOp], lifetimes: dict[SSAValue, Lifetime]) -> tuple[Problem, Plan]:
        try:
            problem = settled(problem_of(allocations, lifetimes, self.alignment, self.capacity), now)
            options = {"width": self.width, "budget": self._budget(problem)}
            given: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
            return problem, solve(problem, self.strategy, **given)
        except PlanError as error:
            raise PlanError(f"plan-arena: {error}", error.buffers, proven=error.proven) from error

    def _budget(self, problem: Problem) -> int | None:
        """Steps of the search. By default `auto` takes fewer where there are more buffers: a step looks at all."""
        if self.budget is not None or self.strategy != "auto":
            return self.budget
        return min(BUDGETS["auto"], SEARCH // max(1, len(problem.buffers)))


def _distinct(names: Sequence[str]) -> Iterator[str]:
    """The names, with a number appended to each repeated one."""
    taken = set(names)
    met: set[str] = set()
    for name in names:
        distinct = name
        if name in met:
            distinct = next(each for number in count(2) if (each := f"{name} {number}") not in taken)
        taken.add(distinct)
        met.add(distinct)
        yield distinct


def problem_of(
    allocations: list[memref.AllocOp],
    lifetimes: dict[SSAValue, Lifetime],
    alignment: int,
    capacity: int | None = None,
) -> Problem:
    """The planning problem of a main on buffers: buffer i is allocation i."""
    buffers: list[Buffer] = []
    for number, op in enumerate(allocations):
        life = lifetimes[op.memref]
        buffers.append(
            Buffer(
                id=number,
                size=nbytes_of(memref_type(op.memref)),
                birth=life.birth,
                death=life.death,
                gaps=life.gaps,
                name=label(op),
                role="scratch" if SCRATCH in op.attributes else "intermediate",
            )
        )
    return Problem(tuple(buffers), capacity, alignment)


def arena_problem(module: ModuleOp) -> Problem | None:
    """The symbolic planning problem of a module's arena: buffer i is the one of offset symbol i.

    None where the arena is planned for one shape.
    """
    found = module.attributes.get(BUFFERS)
    if not isinstance(found, BuffersAttr):
        return None
    alignment, buffers = found.data
    return Problem(tuple(_buffer(number, each) for number, each in enumerate(buffers)), None, alignment)


def _buffer(number: int, stated: PlacedBuffer) -> Buffer:
    gaps = tuple((end, start) for (_, end), (start, _) in pairwise(stated.live))
    role = "scratch" if stated.scratch else "intermediate"
    return Buffer(number, stated.size, stated.live[0][0], stated.live[-1][1], gaps=gaps, name=stated.name, role=role)


def settled(problem: Problem, number: Callable[[int], int]) -> Problem:
    """The problem with its symbolic sizes replaced by numbers."""
    return replace(problem, buffers=tuple(replace(each, size=number(each.size)) for each in problem.buffers))


def _state_sizes(module: ModuleOp, main: func.FuncOp, problem: Problem, offsets: Sequence[int]) -> None:
    """Gives main an argument with the table of sizes: the symbols of the shapes, then the offset of each buffer."""
    sizes = (*sizes_of_module(module), *(offset for offset in offsets if isinstance(offset, Size)))
    buffers = (PlacedBuffer(each.name, each.size, each.live, each.role == "scratch") for each in problem.buffers)
    module.attributes[SYMBOLS] = SymbolsAttr(sizes)
    module.attributes[BUFFERS] = BuffersAttr((problem.alignment, tuple(buffers)))
    add_argument(main, MemRefType(i64, [len(sizes)]), SIZES)


def most_live(main: func.FuncOp, alignment: int) -> int:
    """The peak of live bytes of a main on buffers: a lower bound of any plan of its arena."""
    lifetimes = liveness(main).lifetimes
    touched = [op for op in main.body.walk() if isinstance(op, memref.AllocOp) and op.memref in lifetimes]
    return lower_bound(settled(problem_of(touched, lifetimes, alignment), now)).height


def _total(main: func.FuncOp, places: Places, alignment: int) -> int:
    """Bytes of the arena without any sharing: every result and all scratch with bytes of their own."""
    written = (places[value] for step in steps_of(main) for value in (*written_by(step), *scratch_of(step)))
    return sum(padded(now(place.bytes.count), alignment) for place in written if place.root not in main.args)


def _drop_unused(main: func.FuncOp, lifetimes: dict[SSAValue, Lifetime]) -> None:
    """Erases allocations, and views of them, that no call accesses."""
    for op in [op for op in main.body.walk() if isinstance(op, memref.AllocOp) and op.memref not in lifetimes]:
        for use in list(op.memref.uses):
            use.operation.detach()
            use.operation.erase()
        op.detach()
        op.erase()


def _carry_out(
    main: func.FuncOp,
    places: Places,
    allocations: list[memref.AllocOp],
    lifetimes: dict[SSAValue, Lifetime],
    plan: Plan,
    offsets: Sequence[int],
) -> None:
    """Replaces allocations and views of them by views of the arena."""
    arena = add_argument(main, MemRefType(i8, [plan.height]), "arena")
    pools = {member: pool.id for pool in plan.pools for member in pool.members}
    constants = IndexConstants(main)
    number: dict[SSAValue, int] = {op.memref: index for index, op in enumerate(allocations)}
    views = [op for op in main.body.walk() if isinstance(op, VIEWS) and places[op.results[0]].root in number]
    for op in [each for each in main.body.walk() if isinstance(each, WindowOp)]:
        root = places[op.result].root
        if (buffer := number.get(root)) is not None:
            op.attributes |= _attributes(allocations[buffer], buffer, lifetimes[root], pools.get(buffer))
    for op in [*reversed(views), *allocations]:
        result = op.results[0]
        place = places[result]
        if isinstance(op, VIEWS) and not all(isinstance(use.operation, Step) for use in result.uses):
            continue
        if result.uses:
            buffer = number[place.root]
            made = _view(arena, constants[offsets[buffer] + place.bytes.offset], place)
            attributes = _attributes(allocations[buffer], buffer, lifetimes[place.root], pools.get(buffer))
            attributes["name"] = StringAttr(label(op) or label(allocations[buffer]))
            for each in made:
                each.attributes.update(attributes)
                each.location = op.location
                insert_before(each, op)
            made[-1].results[0].name_hint = result.name_hint
            result.replace_all_uses_with(made[-1].results[0])
        op.detach()
        op.erase()


def _attributes(allocation: memref.AllocOp, number: int, life: Lifetime, pool: int | None) -> dict[str, Attribute]:
    """The attributes of a view of the arena: its buffer's number, name, lifetime and pool."""
    found: dict[str, Attribute] = {"buffer": int_attr(number)}
    found |= {"birth": int_attr(life.birth), "death": int_attr(life.death)}
    if life.gaps:
        found["gaps"] = ArrayAttr([ArrayAttr([int_attr(step) for step in gap]) for gap in life.gaps])
    if pool is not None:
        found["pool"] = int_attr(pool)
    if SCRATCH in allocation.attributes:
        found[SCRATCH] = UnitAttr()
    return found


def _view(arena: SSAValue, shift: SSAValue, place: Place) -> list[Operation]:
    """The ops that create a view of the arena at byte `shift`; the last one's result is the view."""
    box, element = place.box, memref_type(place.root).element_type
    if box.is_dense:
        return [memref.ViewOp(arena, shift, [], buffer_type(element, box.sizes))]
    line = memref.ViewOp(arena, shift, [], buffer_type(element, (box.end - box.offset,)))
    return [line, cast_to(line.result, box.moved(-box.offset))]


def _summary(problem: Problem, plan: Plan, total: int) -> DictionaryAttr:
    """The plan's certificate, for reports; sizes in bytes."""
    entries: dict[str, Attribute] = {
        "strategy": StringAttr(plan.strategy),
        "method": StringAttr(plan.method),
        "alignment": int_attr(problem.alignment),
        "arena_bytes": int_attr(plan.height),
        "lower_bound": int_attr(plan.lower_bound),
        "proven_bound": int_attr(plan.proven_bound),
        "optimal": BoolAttr.from_bool(plan.optimal),
        "binding_step": int_attr(plan.bound.step),
        "total_bytes": int_attr(total),
        "original_bytes": int_attr(sum(problem.padded(buffer) for buffer in problem.buffers)),
    }
    if plan.exhausted:
        entries["exhausted"] = StringAttr(plan.exhausted)
    if plan.pools:
        entries["pools"] = ArrayAttr([ArrayAttr([int_attr(pool.offset), int_attr(pool.size)]) for pool in plan.pools])
    return DictionaryAttr(entries)
