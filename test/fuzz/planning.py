"""Whether planning memory changes a bit: random graphs, compiled with and without reuse of bytes, compared bit for bit.

    PYTHONPATH=test python -m fuzz.planning --count 20000 --seed 1 --jobs 2

A graph's kernels are formed once. Then `main` is planned twice: every value in bytes of its own, and, by turns, in
place only, copies elided only, or all of it with some strategy. Both mains become one, whose parts have an arena and
outputs each and share inputs, weights and, where types and sharing agree, machine code. Arenas hold garbage at first,
each another kind. Of several shares of a stage the last one is done first.

A NaN equals any other: which one comes out of an operation on two is open.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Annotated, Any

import numpy as np
import typer
from fuzz.chances import Chances
from graph_runs import Model
from kernel_variants import shared_always, small_target
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp

from mini_infer.dialects.graph.host import argument_texts, kernels_of, main_of
from mini_infer.dialects.graph.values import Array, numpy_dtype
from mini_infer.dialects.kernel.calls import CallOp
from mini_infer.lowering import pipelines
from mini_infer.lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
from mini_infer.lowering.loops_to_llvm.runtime_ir import runtime_ir
from mini_infer.passes.memory.analysis.buffers import add_argument, memref_type, nbytes_of
from mini_infer.passes.memory.share_threads import STAGE
from mini_infer.runtime.device import Code
from mini_infer.runtime.memory.host_memory import aligned_bytes
from mini_infer.runtime.module_interface import weight_segment
from mini_infer.runtime.native.cpu_targets import host_target, machine_of
from mini_infer.runtime.native.llvmlite_calls import compile_to_object
from mini_infer.runtime.native.loaded_code import loaded

MOST_STEPS = 5
APART = ("bufferize", "naive")  # passes, and plan-arena's strategy
REUSING = (
    ("order-kernels,mark-inplace,bufferize", "naive"),
    ("order-kernels,bufferize,elide-copies", "auto"),
    *((pipelines.BUFFERS, strategy) for strategy in ("auto", "pools", "first-fit", "best-fit")),
)
GARBAGE = (0x55, 0xFF)


@dataclass(frozen=True)
class Options:
    """How a graph is compiled."""

    bits: int
    registers: int
    threads: int
    l2: int  # bytes
    graph: str  # passes
    kernels: str
    plan: tuple[str, str]  # passes, strategy
    opt_level: int

    @classmethod
    def of(cls, seed: int) -> Options:
        """Options that differ from seed to seed: small targets mostly, as they come to their tiles' ends sooner."""
        random = np.random.default_rng([seed, 1])
        bits = int(random.choice([128, 256, host_target().vector_bits]))
        return cls(
            bits=bits,
            registers=32 if bits == 512 else int(random.choice([8, 16])),
            threads=int(random.choice([1, 1, 1, 2, 3])),
            l2=int(random.choice([256, 16 << 10, 1 << 20])),
            graph=f"{pipelines.GRAPH},{pipelines.DEVICE_GRAPH}" if random.random() < 0.6 else pipelines.PLAIN_GRAPH,
            kernels=pipelines.KERNELS if random.random() < 0.85 else pipelines.PLAIN_KERNELS,
            plan=REUSING[int(random.integers(len(REUSING)))],
            opt_level=3 if random.random() < 0.25 else 1,
        )


def differences(seed: int, steps: int) -> list[str]:
    """The outputs of a graph whose bits are others than without any reuse, each with the plan that makes them."""
    options = Options.of(seed)
    m = Chances(seed, steps).m
    apart, planned = _run(*_compiled(m, options), list(m.inputs.values()))
    outputs = enumerate(zip(apart, planned, strict=True))
    return [f"{options.plan}: output {number}" for number, (one, other) in outputs if not same(one, other)]


def steps_of(seed: int) -> int:
    """How many steps a seed's graph takes."""
    return 1 + int(np.random.default_rng([seed, 2]).integers(MOST_STEPS))


def smallest(seed: int) -> tuple[int, list[str]]:
    """The fewest steps of a failing graph that still fail, and how."""
    for steps in range(steps_of(seed)):
        found = differences(seed, steps)
        if found:
            return steps, found
    return steps_of(seed), differences(seed, steps_of(seed))


def same(one: Array, other: Array) -> bool:
    """Whether two outputs have the same bits, but for those of NaNs."""
    if one.tobytes() == other.tobytes():
        return True
    if one.dtype.kind != "f":
        return False
    bits = np.dtype(f"u{one.dtype.itemsize}")
    differ = one.view(bits) != other.view(bits)
    return bool((np.isnan(one) & np.isnan(other))[differ].all())


@dataclass(frozen=True)
class _Code:
    """Machine code of both plans together: `main` takes a pointer per role, each role belonging to a plan."""

    code: Code
    roles: list[tuple[str, int]]  # of each argument: its role and the plan it belongs to
    sizes: list[int]  # bytes of each
    dtypes: list[np.dtype[Any]]
    shapes: list[tuple[int, ...]]


def _compiled(m: Model, options: Options) -> tuple[_Code, Array]:
    module = m.module
    target = small_target(options.bits, options.registers, options.l2, options.threads)
    module.attributes["kernel.target"] = target
    down = [pipelines.Phase("graph", options.graph), pipelines.Phase("kernels", shared_always(options.kernels))]
    pipelines.run_phases(m.ctx, module, down, verify=False)
    planned: list[ModuleOp] = []
    for buffers, strategy in (APART, options.plan):
        one = module.clone()
        arena = pipelines.with_options(pipelines.ARENA, {"plan-arena": {"strategy": strategy}})
        pipelines.run_passes(m.ctx, one, pipelines.parse_passes(f"{buffers},{arena}"))
        planned.append(one)
    together, roles = _together(planned)
    loops = shared_always(pipelines.LOOPS.removesuffix(",insert-cancellation-points"))  # nobody stops this code
    pipelines.run_passes(m.ctx, together, pipelines.parse_passes(loops))
    made = argument_texts(main_of(together), "graph.role")[len(roles) : -1]  # the last is the team
    roles += [(role, 0) for role in made]
    types = [memref_type(value) for value in main_of(together).args[: len(roles)]]
    weights = weight_segment(together, m.ctx)
    stages = {
        op.sym_name.data: (len(roles), len(op.function_type.inputs) - len(roles) - 3)
        for op in together.ops
        if isinstance(op, FuncOp) and _is_stage(op)
    }
    pipelines.run_passes(m.ctx, together, pipelines.parse_passes(pipelines.LLVM))
    text, support = emit_llvm_ir(together), runtime_ir(len(roles), stages)
    code = loaded([compile_to_object(text, machine_of(target), options.opt_level, link=[support])])
    dtypes = [numpy_dtype(type.element_type) for type in types]
    shapes = [type.get_shape() for type in types]
    return _Code(code, roles, [nbytes_of(type) for type in types], dtypes, shapes), weights


def _is_stage(function: FuncOp) -> bool:
    return function.sym_name.data.startswith(STAGE)


def _together(planned: Sequence[ModuleOp]) -> tuple[ModuleOp, list[tuple[str, int]]]:
    """One module whose main does what all mains do, one after the other; the role and the plan of each argument."""
    first, *others = planned
    main = main_of(first)
    end = main.body.block.last_op
    assert isinstance(end, ReturnOp)
    roles = [(role, 0) for role in argument_texts(main, "graph.role")]
    kernels = kernels_of(first)
    for number, other in enumerate(others, 1):
        names: dict[str, str] = {}
        for own_name, kernel in kernels_of(other).items():
            name = own_name
            # Kernels that copy what wasn't elided are numbered anew in each plan.
            while name in kernels and not kernels[name].is_structurally_equivalent(kernel):
                name += "_"
            names[own_name] = name
            if name not in kernels:
                kernel.detach()
                kernel.sym_name = StringAttr(name)
                first.body.block.add_op(kernel)
                kernels[name] = kernel
        own = main_of(other)
        inputs = iter(main.args)
        for argument, role in zip(own.args, argument_texts(own, "graph.role"), strict=True):
            if role == "input":
                argument.replace_all_uses_with(next(inputs))
            else:
                argument.replace_all_uses_with(add_argument(main, memref_type(argument), role))
                roles.append((role, number))
        for op in list(own.body.block.ops):
            if isinstance(op, ReturnOp):
                continue
            op.detach()
            if isinstance(op, CallOp):
                op.callee = SymbolRefAttr(names[op.callee.string_value()])
            main.body.block.insert_op_before(op, end)
    return first, roles


_WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)  # team, share, shares, seat
_SHARE = ctypes.CFUNCTYPE(None, _WORK, ctypes.c_void_p, *[ctypes.c_int64] * 2)  # work, team, shares, seats


def _last_share_first(work: Callable[[int, int, int, int], None], team: int, shares: int, seats: int) -> None:
    """Has a stage done as the runtime's team may do it."""
    for share in reversed(range(shares)):
        work(team, share, shares, share % seats)


def _run(code: _Code, weights: Array, inputs: Sequence[Array]) -> list[list[Array]]:
    """The outputs of each plan."""
    memory: list[Array] = []
    given = iter(inputs)
    for (role, plan), nbytes in zip(code.roles, code.sizes, strict=True):
        if role == "weights":
            memory.append(weights)
            continue
        bytes_here = aligned_bytes(nbytes, 256)
        bytes_here[:] = GARBAGE[plan > 0]
        if role == "input":
            bytes_here[:] = np.ascontiguousarray(next(given)).reshape(-1).view(np.uint8)
        memory.append(bytes_here)
    pointers = (ctypes.c_void_p * len(memory))(*[each.ctypes.data for each in memory])
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _SHARE)(code.code.address("mini_infer_run"))
    run(ctypes.addressof(pointers), _SHARE(_last_share_first))
    outputs: list[list[Array]] = [[], []]
    for (role, plan), data, dtype, shape in zip(code.roles, memory, code.dtypes, code.shapes, strict=True):
        if role == "output":
            outputs[plan].append(data.view(dtype).reshape(shape))
    return outputs


def judged(seed: int, reduce: bool = True) -> str:
    """What is wrong with a seed's graph, "" for nothing; `reduce` looks for fewer steps that fail."""
    try:
        found = differences(seed, steps_of(seed))
        if found and reduce:
            steps, found = smallest(seed)
            return f"seed {seed}, {steps} steps: {', '.join(found)}"
        return ", ".join(found)
    except Exception as error:  # whatever it is, the campaign goes on and names the seed
        return f"seed {seed}: {type(error).__name__}: {error}"


def main(
    count: Annotated[int, typer.Option(help="Graphs, each with the next seed.")] = 200,
    seed: Annotated[int, typer.Option(help="The first seed.")] = 1,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    steps: Annotated[int, typer.Option(help="With a count of 1: print this many steps of the graph.")] = 0,
) -> None:
    """Looks for graphs whose results hang on where their values lie."""
    if steps:
        print(Options.of(seed))
        print(Chances(seed, steps).m.module)
        print(differences(seed, steps))
        return
    start, wrong = time.monotonic(), 0
    with ProcessPoolExecutor(jobs) as pool:
        for number, told in enumerate(pool.map(judged, range(seed, seed + count), repeat(True), chunksize=8), 1):
            if told:
                wrong += 1
                print(told, flush=True)
            if number % 200 == 0 or number == count:
                rate = number / (time.monotonic() - start)
                print(f"{number} graphs, {wrong} wrong, {rate:.2f} a second", file=sys.stderr, flush=True)
    raise typer.Exit(int(wrong > 0))


if __name__ == "__main__":
    typer.run(main)
