"""CUDA C++ for the kernels of a module at the launches level: one translation unit without includes.

before:  gpu.func @scale(%x: memref<64xf32>, %y: memref<64xf32>) kernel ... {
           %i = gpu.thread_id x
           %0 = memref.load %x[%i] : memref<64xf32>
           %1 = arith.mulf %0, %two : f32
           memref.store %1, %y[%i] : memref<64xf32>
after:   // /layer1/Mul
         extern "C" __global__ void __launch_bounds__(64) scale(const float* __restrict__ x, float* __restrict__ y) {
           const int thread = threadIdx.x;
           y[thread] = x[thread] * 2.0f;
         }

A closed table translates each operation; any other is an error. `#line` directives name the ONNX node of a statement in
place of the file and keep the line numbers. FMA contraction is decided in the IR: compile with contraction off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp as HostFuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.hints import isa

from ...dialects.errors import CompileError
from ...dialects.gpu.kernels import FuncOp
from ...dialects.gpu.kernels import ModuleOp as KernelsOp
from ...dialects.graph.base import node_name
from ...dialects.sizes.sizes import bounds_of
from ...dialects.symbols import symbol_named
from ...passes.geometry.boxes import Box
from ...passes.memory.analysis.access_sets import overlap
from . import arith_ops, cluster_ops, control_flow, gpu_ops, math_ops, memref_ops, vector_ops, warpgroup_ops
from .device_program import DeviceProgram, Launch, LaunchWith, Number, Register, steps_of
from .expressions import Expression
from .kernel_text import BufferAddress, Handler, KernelText, NodeMark, memref_type
from .launch_list import device_program, maps_of
from .names import prelude
from .types import Types

HANDLERS: dict[str, Handler] = {
    **arith_ops.HANDLERS,
    **math_ops.HANDLERS,
    **memref_ops.HANDLERS,
    **vector_ops.HANDLERS,
    **control_flow.HANDLERS,
    **gpu_ops.HANDLERS,
    **warpgroup_ops.HANDLERS,
    **cluster_ops.HANDLERS,
}
_ALL = 2**63
"""The end of what may lie behind an argument of main, in bytes."""
_WIDE = 2**31  # number of elements beyond which int is too small for an index
_MovedLaunch: TypeAlias = tuple[Launch, Sequence[Number]]
"""A launch, and its arguments' offsets where a run computes them."""
_HARMLESS = ("arith.", "math.", "vector.", "memref.", "gpu.thread_id", "gpu.block_id")
_STORES = {
    "memref.store": 1,
    "vector.store": 1,
    "nvgpu.device_async_copy": -1,
    "nvgpu.bulk_async_copy": -1,
    "nvgpu.tma.async.load": -1,
    "nvgpu.grid_barrier": 0,
}
"""The operand that each writes to; of copies it is found otherwise."""


def cuda_text(module: ModuleOp) -> str:
    """The prelude and all kernels. Raises CompileError for an operation without a translation, naming it."""
    kernels = [each for inner in module.ops if isinstance(inner, KernelsOp) for each in inner.body.block.ops]
    functions = [each for each in kernels if isinstance(each, FuncOp)]
    if not functions:
        raise CompileError("the module holds no kernels for a GPU")
    types = Types(any(is_wide(each) for each in functions))
    main = symbol_named(module, "main")
    program = device_program(module) if isinstance(main, HostFuncOp) else DeviceProgram()
    moved = {each.launch: each.offsets for each in steps_of(program.steps) if isinstance(each, LaunchWith)}
    launches = [(each, moved.get(number, ())) for number, each in enumerate(program.launches)]
    lines: list[str | NodeMark] = []
    used = warpgroup_ops.prelude_for(functions, types) + cluster_ops.prelude_for(functions)
    lines += (prelude() + used).splitlines()
    for function in functions:
        mine = [each for each in launches if each[0].kernel == function.sym_name.data]
        _kernel(function, mine, types, lines)
    return "\n".join([*_numbered(lines), ""])


def is_wide(function: FuncOp) -> bool:
    """Whether `index` has 64 bits, as it counts elements of buffers that 32 bits can't."""
    values = [*function.body.block.args, *(result for op in function.walk() for result in op.results)]
    shapes = [each.type.get_shape() for each in values if isa(each.type, MemRefType)]
    return any(bounds_of(prod(shape))[1] >= _WIDE for shape in shapes)


def _kernel(function: FuncOp, launches: Sequence[_MovedLaunch], types: Types, lines: list[str | NodeMark]) -> None:
    name = function.sym_name.data
    kernel = KernelText(types, HANDLERS, _dead(function), lines)
    kernel.written.update(_written(function))
    apart = _apart(function, launches, kernel.written)
    parameters: list[str] = []
    for symbol, argument in function.symbols.items():
        kernel.sizes[symbol] = Expression(kernel.name(argument))
        kernel.variable(argument, kernel.sizes[symbol].text)
    for argument in function.body.block.args[: function.buffers]:
        variable = kernel.name(argument, "y" if argument in kernel.written else "x")
        strides = memref_ops.strides_of(function, argument)
        kernel.put(argument, BufferAddress(variable, strides, kernel.space_of(argument)))
        restrict = "__restrict__ " if argument.index in apart else ""
        parameters.append(f"{kernel.pointer_type(argument)}* {restrict}{variable}")
    parameters += [f"{types.index} {size.text}" for size in kernel.sizes.values()]
    for each in maps_of(function):
        kernel.variable(each.tensorMap, name_of_map := kernel.name(each.tensorMap, "map"))
        parameters.append(f"TENSOR_MAP({name_of_map})")
    nodes = list(dict.fromkeys((*(node for each, _ in launches for node in each.nodes), *_nodes(function))))
    lines += ["", *_comment(nodes or [name])]
    if nodes:
        lines.append(NodeMark(nodes[0]))
        kernel.starts_at(nodes[0])
    lines.append(_head(function, parameters))
    kernel.block(function.body.block)
    lines.append("}")


def _head(function: FuncOp, parameters: Sequence[str]) -> str:
    size = function.known_block_size
    bounds = "" if size is None else f" __launch_bounds__({prod(size.get_values())})"
    cluster = f" __cluster_dims__({function.cluster}, 1, 1)" if function.cluster > 1 else ""
    return f'extern "C" __global__ void{cluster}{bounds} {function.sym_name.data}({", ".join(parameters)}) {{'


def _nodes(function: FuncOp) -> Iterable[str]:
    return (node for op in function.walk() if (node := node_name(op)))


def _comment(nodes: Sequence[str]) -> list[str]:
    """Comment lines that list the nodes, wrapped to the page width."""
    lines: list[str] = []
    line = "//"
    for position, node in enumerate(nodes):
        text = f" {_plain(node)}{',' if position + 1 < len(nodes) else ''}"
        if len(line) + len(text) > 100 and line != "//":
            lines.append(line)
            line = "//"
        line += text
    return [*lines, f"{line}." if line.endswith("\\") else line]


def _plain(name: str) -> str:
    """A name without line breaks."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _written(function: FuncOp) -> set[SSAValue]:
    """The buffers that are stored to, together with those that they are views of."""
    written: set[SSAValue] = set()
    for op in function.walk():
        if op.name not in _STORES:
            continue
        position = _STORES[op.name]
        buffer = op.operands[position] if position >= 0 else gpu_ops.destination(op)
        while True:
            written.add(buffer)
            owner = buffer.owner
            if not memref_ops.is_view(owner):
                break
            buffer = owner.operands[0]
    return written


def _dead(function: FuncOp) -> set[Operation]:
    """Operations without effects whose results are unused."""
    dead: set[Operation] = set()
    for op in reversed(list(function.walk())):
        users = {use.operation for result in op.results for use in result.uses}
        if op.results and op.name.startswith(_HARMLESS) and users <= dead:
            dead.add(op)
    return dead


def _apart(function: FuncOp, launches: Sequence[_MovedLaunch], written: set[SSAValue]) -> set[int]:
    """The arguments for `__restrict__`: no other argument of any launch writes their bytes, nor reads written ones."""
    if not launches:
        return set()
    arguments = function.body.block.args[: function.buffers]
    spans = [_span(each) for each in arguments]
    apart = set(range(len(arguments)))
    for launch, moved in launches:
        boxes = [Box(at.offset, (span,), (1,)) for at, span in zip(launch.arguments, spans, strict=True)]
        for i, offset in enumerate(moved):
            if isinstance(offset, Register):  # it may lie anywhere
                boxes[i] = Box(0, (_ALL,), (1,))
        for i, at in enumerate(launch.arguments):
            for j, other in enumerate(launch.arguments[:i]):
                met = at.root == other.root and overlap(boxes[i], boxes[j])
                if met and (arguments[i] in written or arguments[j] in written):
                    apart -= {i, j}
    return apart


def _span(argument: SSAValue) -> int:
    """Bytes from a buffer's first element to the end of its last."""
    type = memref_type(argument)
    strides = [each for each in memref_ops.strides_of(None, argument) if isinstance(each, int)]
    steps = [(size - 1) * stride for size, stride in zip(type.get_shape(), strides, strict=True) if size]
    return (sum(steps) + 1) * memref_ops.bytes_of(type.element_type)


def _numbered(lines: Sequence[str | NodeMark]) -> Iterable[str]:
    """Inserts `#line` directives that name the node of the lines that follow and keep their numbers."""
    for number, line in enumerate(lines, start=1):
        if isinstance(line, NodeMark):
            name = _plain(line.node).replace("\\", "\\\\").replace('"', '\\"')
            yield f'#line {number + 1} "{name}"'
        else:
            yield line
