"""Queries on host code at every level: `main`, its kernels, its arguments, and uses across nested regions.

Host code is `main`: calls of kernels, weights, and around them loops (scf.for) and branches (scf.if) with scalar bounds
and conditions, computed by arith ops or read from a value:

    %n = tensor.extract %count[] : tensor<i64>
    %last = arith.index_cast %n : i64 to index
    %y = scf.for %i = %c0 to %last step %c1 iter_args(%state = %x) -> (tensor<8xf32>) {
      %next = graph.call @step_0(%state, %x) : ...
      scf.yield %next : tensor<8xf32>
    }

A loop with an early exit is an scf.while whose first region only computes the condition from scalars and forwards all
arguments; the second region is its body. A value captured by a loop or a branch counts, in the enclosing block, as read
by that op.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, ShapedType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.transforms.canonicalization_patterns.utils import const_evaluate_operand

from ..errors import InvalidModelError
from ..symbols import symbol_named
from .base import describe
from .kv_cache_attributes import CacheAttr, cache_of
from .ops.structure import KernelOp

ROLE, NAME = "graph.role", "graph.name"
"""Attributes of main's arguments: the role ("input", "output", "arena", ...), and the user's name."""

Loop: TypeAlias = scf.ForOp | scf.WhileOp

LEVEL = "mini_infer.level"
"""Attribute of a module: its level, set by the pass that established it."""


def state_level(module: ModuleOp, level: str) -> None:
    """Sets the level of a module."""
    module.attributes[LEVEL] = StringAttr(level)


def main_of(module: ModuleOp, who: str = "") -> FuncOp:
    """The function @main. Raises InvalidModelError if there is none, naming the pass that needs it."""
    main = symbol_named(module, "main")
    if not isinstance(main, FuncOp) or main.is_declaration:
        raise InvalidModelError(f"{who}: the module has no function @main".removeprefix(": "))
    return main


def kernels_of(module: ModuleOp) -> dict[str, KernelOp]:
    """The kernels by name, by one walk: a look-up per call would be quadratic."""
    return {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, KernelOp)}


def ops_of(kernel: KernelOp) -> frozenset[str]:
    """The names, without `graph.`, of the graph ops in a kernel."""
    return frozenset(op.name.removeprefix("graph.") for op in kernel.body.block.ops)


def attributes_of_arguments(function: Operation) -> list[DictionaryAttr]:
    """The attributes of each argument of a function with a body, of any dialect.

    Raises InvalidModelError if their number doesn't match the arguments.
    """
    block = function.regions[0].first_block
    return _attributes(function, "arg_attrs", 0 if block is None else len(block.args))


def attributes_of_results(main: FuncOp) -> list[DictionaryAttr]:
    """The attributes of each result of main.

    Raises InvalidModelError if their number doesn't match the results.
    """
    return _attributes(main, "res_attrs", len(main.function_type.outputs))


def _attributes(function: Operation, property: str, count: int) -> list[DictionaryAttr]:
    given = cast("ArrayAttr[DictionaryAttr] | None", function.properties.get(property))
    if given is None:
        return [DictionaryAttr({})] * count
    if len(given) != count:
        raise InvalidModelError(f"{describe(function)}: {property} has {len(given)} entries instead of {count}")
    return list(given.data)


def argument_texts(function: Operation, key: str) -> list[str]:
    """The string attribute `key` of each argument of a function of any dialect, "" if it has none."""
    return _texts(attributes_of_arguments(function), key)


def result_texts(main: FuncOp, key: str) -> list[str]:
    """The string attribute `key` of each result of main, "" if it has none."""
    return _texts(attributes_of_results(main), key)


def _texts(attributes: Sequence[DictionaryAttr], key: str) -> list[str]:
    found = (each.data.get(key) for each in attributes)
    return [value.data if isinstance(value, StringAttr) else "" for value in found]


def caches_of(main: Operation) -> list[CacheAttr | None]:
    """The cache attribute of each argument of a function of any dialect, None if it has none."""
    return [*map(cache_of, attributes_of_arguments(main))]


def blocks_of(main: FuncOp, who: str) -> list[Block]:
    """The block of main and those of its loops and branches, outer ones first.

    Raises InvalidModelError for any other op with regions, naming the pass that asks.
    """
    blocks = [main.body.block]
    for block in blocks:
        for op in block.ops:
            if op.regions and not isinstance(op, scf.IfOp | Loop):
                raise InvalidModelError(
                    f"{describe(op)}: {who} supports no other regions in main than scf.for, scf.while and scf.if"
                )
            if isinstance(op, scf.WhileOp) and not _only_tests(op.before_region.block):
                raise InvalidModelError(
                    f"{describe(op)}: {who} supports an scf.while only where its first region computes on scalars "
                    "and forwards all its arguments"
                )
            blocks += inner_blocks(op)
    return blocks


def _only_tests(before: Block) -> bool:
    """Whether the first region of an scf.while only computes the condition."""
    *scalars, last = before.ops
    return tuple(last.operands[1:]) == tuple(before.args) and all(
        is_scalar(op) and not any(map(is_shaped, op.operands)) for op in scalars
    )


def inner_blocks(op: Operation) -> list[Block]:
    """The bodies of a loop or a branch, without the condition region of an scf.while."""
    regions = [op.after_region] if isinstance(op, scf.WhileOp) else op.regions
    return [block for region in regions for block in region.blocks]


def turn_of(loop: Loop) -> Block:
    """The body of a loop."""
    return loop.after_region.block if isinstance(loop, scf.WhileOp) else loop.body.block


def initial_of(loop: Loop) -> Sequence[SSAValue]:
    """The initial values of a loop's iter_args."""
    return loop.arguments if isinstance(loop, scf.WhileOp) else loop.iter_args


def carried_of(loop: Loop) -> Sequence[SSAValue]:
    """The block arguments for a loop's carried values."""
    return turn_of(loop).args if isinstance(loop, scf.WhileOp) else turn_of(loop).args[1:]


def runs_of(op: Operation) -> int:
    """How often an op of main runs in an inference: the turns of the loops around it, where their bounds are known."""
    runs, parent = 1, op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        if isinstance(parent, scf.ForOp):
            bounds = [const_evaluate_operand(each) for each in (parent.lb, parent.ub, parent.step)]
            if None not in bounds:
                low, high, step = (cast("int", each) for each in bounds)
                runs *= len(range(low, high, step))
        parent = parent.parent_op()
    return runs


def ancestor_in(block: Block, op: Operation) -> Operation:
    """The op of the block that is `op` or contains it."""
    found = block.find_ancestor_op_in_block(op)
    assert found is not None, "a value is used only where it is defined, or deeper"
    return found


def users_in(block: Block, value: SSAValue) -> list[Operation]:
    """The ops of the block that read the value directly or in their regions, each once, in any order."""
    return list(dict.fromkeys(ancestor_in(block, use.operation) for use in value.uses))


def captured(op: Operation) -> list[SSAValue]:
    """The values from outside that an op's regions read, each once, in order of first use."""
    seen = (value for region in op.regions for inner in region.walk() for value in inner.operands)
    return [value for value in dict.fromkeys(seen) if not _is_inside(op, value)]


def read_by(op: Operation) -> list[SSAValue]:
    """The operands of an op and the values that its regions capture."""
    return [*op.operands, *captured(op)] if op.regions else list(op.operands)


def _is_inside(op: Operation, value: SSAValue) -> bool:
    owner = value.owner
    return op.is_ancestor(owner) if owner is not op else False


def handed_on(block: Block) -> tuple[SSAValue, ...]:
    """The operands of the block's terminator."""
    last = block.last_op
    return tuple(last.operands) if last is not None else ()


def is_scalar(op: Operation) -> bool:
    """Whether an op computes on host scalars only, or reads a scalar from a tensor."""
    if op.name in ("tensor.extract", "memref.load"):
        return True
    values: Iterable[SSAValue] = (*op.operands, *op.results)
    return op.name.startswith("arith.") and not any(isinstance(value.type, ShapedType) for value in values)


def is_shaped(value: SSAValue) -> bool:
    """Whether the value is a tensor or a buffer, not a scalar."""
    return isinstance(value.type, ShapedType)
