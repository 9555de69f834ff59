"""Splits a module at the loops level into parts that are lowered and compiled separately.

The first part has the public functions, above all `main`. Every kernel goes to one of the others, with the functions
that only it calls. Functions called from several parts are defined in one and declared in the rest; constant tables and
functions to be inlined are copied to each. The parts depend on the module alone, so their code is reproducible. Kernels
whose loops are in final form are separated from the others, on which LLVM spends most of its optimisation time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.kernel.calls import AS_WRITTEN
from ...dialects.sizes.sizes import is_fixed

_NAMING = {"func.call", "func.constant", "llvm.call", "llvm.mlir.addressof", "memref.get_global"}
"""Ops that refer to a function or a table."""
_LOOPS = {"scf.for", "scf.while"}
PART_OPS = 2500  # size that LLVM takes about 50 ms for; an additional part costs it 2 ms
FEW_TURNS = 400  # total iterations of a module's loops: at most half a microsecond, too little to optimise


@dataclass(frozen=True)
class ModulePart:
    """A module, and those of its functions that other parts call."""

    module: ModuleOp
    shared: frozenset[str]
    as_written: bool = False  # whether all loops are in final form


def split_module(module: ModuleOp) -> list[ModulePart]:
    """The parts of a module at the loops level, which becomes the first of them."""
    symbols = {name: op for op in module.ops if (name := _name(op))}
    naming: dict[str, list[Operation]] = {}
    lengths: dict[str, int] = {}
    as_written: dict[str, bool] = {}
    for name, op in symbols.items():
        inner = [*op.walk()]
        naming[name], lengths[name] = [each for each in inner if each.name in _NAMING], len(inner)
        as_written[name] = AS_WRITTEN in op.attributes or not any(each.name in _LOOPS for each in inner)
    if sum(lengths.values()) <= PART_OPS:
        return [ModulePart(module, frozenset(), all(as_written.values()) or _is_soon_done(symbols))]
    _know_constants(symbols, naming.values())
    calls = {name: [each for each in _references(ops) if each in symbols] for name, ops in naming.items()}
    callers: dict[str, set[str]] = {name: set() for name in symbols}
    for name, called in calls.items():
        for each in called:
            callers[each].add(name)
    outside = [name for name, op in symbols.items() if _is_public(op)]
    copied = {name for name, op in symbols.items() if isinstance(op, memref.GlobalOp) or _is_inlined(op)}
    place: dict[str, int] = dict.fromkeys(outside, 0)
    sizes: dict[str, int] = {}

    def root(name: str) -> str:
        """The kernel whose part a function goes to."""
        while name not in place and len(callers[name]) == 1:
            (caller,) = callers[name]
            if caller in place or as_written[caller] != as_written[name]:
                break
            name = caller
        return name

    for name in symbols:
        if name not in copied and name not in place:
            sizes[root(name)] = sizes.get(root(name), 0) + lengths[name]
    parts: dict[str, int] = {}
    flags = [False]  # by part: whether its loops are in final form
    open_parts: dict[bool, tuple[int, int]] = {}  # the last part with final-form loops, and without
    for name, ops in sizes.items():
        kind = as_written[name]
        number, size = open_parts.get(kind, (0, PART_OPS))
        if size + ops > PART_OPS:
            number, size = len(flags), 0
            flags.append(kind)
        parts[name], open_parts[kind] = number, (number, size + ops)
    for name in symbols:
        if name not in copied and name not in place:
            parts.setdefault(name, parts[root(name)])
    place |= parts
    return _separate(module, symbols, calls, copied, place, flags)


def _is_soon_done(symbols: dict[str, Operation]) -> bool:
    """Whether all loops of a module together have few iterations, so that optimisation cannot gain much."""
    main = symbols.get("main")
    return main is not None and _turns(main, symbols, 1) <= FEW_TURNS


def _turns(op: Operation, symbols: dict[str, Operation], times: int) -> int:
    """Total loop iterations of an op that runs `times` times; more than FEW_TURNS if unknown."""
    if times > FEW_TURNS or op.name == "scf.while":
        return FEW_TURNS + 1
    turns = 0
    if isinstance(op, scf.ForOp):
        times *= _count(op)
        turns = times
    for inner in (inner for region in op.regions for block in region.blocks for inner in block.ops):
        if turns > FEW_TURNS:
            break
        if isinstance(inner, func.CallOp):
            called = symbols.get(inner.callee.string_value())
            turns += FEW_TURNS + 1 if called is None else _turns(called, symbols, times)
        elif inner.regions:
            turns += _turns(inner, symbols, times)
    return turns


def _count(loop: scf.ForOp) -> int:
    bounds = [value.owner.value for value in (loop.lb, loop.ub, loop.step) if isinstance(value.owner, arith.ConstantOp)]
    known = [each.value.data for each in bounds if isinstance(each, IntegerAttr) and is_fixed(each.value.data)]
    if len(known) < 3:
        return FEW_TURNS + 1
    low, high, step = known
    return max(-(-(high - low) // step), 0)


def _know_constants(symbols: dict[str, Operation], naming: Iterable[list[Operation]]) -> None:
    """Replaces arguments that are the same constant in all calls, as LLVM would do within one module."""
    calls: dict[str, list[func.CallOp]] = {}
    for op in (each for ops in naming for each in ops):
        if isinstance(op, func.CallOp):
            calls.setdefault(op.callee.string_value(), []).append(op)
    for name, users in calls.items():
        function = symbols.get(name)
        if not isinstance(function, func.FuncOp) or _is_public(function):
            continue
        block = function.body.block
        for index, argument in enumerate(block.args):
            owners = [user.operands[index].owner for user in users]
            values = {owner.value for owner in owners if isinstance(owner, arith.ConstantOp)}
            if any(isinstance(value, IntegerAttr) and not is_fixed(value.value.data) for value in values):
                continue  # known where there is a table of sizes
            if len(values) == 1 and all(isinstance(owner, arith.ConstantOp) for owner in owners):
                value = {"value": values.pop()}
                constant = arith.ConstantOp.create(result_types=[argument.type], properties=value)
                first = block.first_op
                assert first is not None, "every block ends with a terminator"
                Rewriter.insert_op(constant, InsertPoint.before(first))
                argument.replace_all_uses_with(constant.result)


def _separate(
    module: ModuleOp,
    symbols: dict[str, Operation],
    calls: dict[str, list[str]],
    copied: set[str],
    place: dict[str, int],
    as_written: list[bool],
) -> list[ModulePart]:
    made: list[list[Operation]] = [[] for _ in as_written]
    shared: list[set[str]] = [set() for _ in made]
    for name, part in place.items():
        made[part].append(symbols[name])
    parts: list[ModulePart] = []
    for number, ops in enumerate(made):
        needed = _reached((_name(op) for op in ops), calls, copied)
        for name in needed:
            if name in copied:
                ops.append(symbols[name].clone())
            elif place[name] != number:
                shared[place[name]].add(name)
                ops.append(_declaration(symbols[name]))
    for op in symbols.values():
        op.detach()
    for number, ops in enumerate(made):
        target = module if number == 0 else ModuleOp([], dict(module.attributes))
        target.body.block.add_ops(ops)
        parts.append(ModulePart(target, frozenset(shared[number]), as_written[number]))
    return parts


def _reached(names: Iterable[str], calls: dict[str, list[str]], copied: set[str]) -> list[str]:
    """The functions that those of a part call, and what is copied for them, in order."""
    found: dict[str, None] = {}
    own = [*names]
    pending = [*own]
    while pending:
        for each in calls[pending.pop()]:
            if each not in found and each not in own:
                found[each] = None
                if each in copied:
                    pending.append(each)
    return [*found]


def _declaration(op: Operation) -> func.FuncOp:
    assert isinstance(op, func.FuncOp)
    return func.FuncOp.external(op.sym_name.data, op.function_type.inputs.data, op.function_type.outputs.data)


def _name(op: Operation) -> str:
    name = op.properties.get("sym_name")
    return name.data if isinstance(name, StringAttr) else ""


def _is_public(op: Operation) -> bool:
    """Whether it may be called from outside, or is only declared."""
    if not isinstance(op, func.FuncOp):
        return not isinstance(op, memref.GlobalOp)
    return not op.body.blocks or op.sym_visibility is None or op.sym_visibility.data != "private"


def _is_inlined(op: Operation) -> bool:
    return "llvm.alwaysinline" in op.attributes


def _references(ops: Iterable[Operation]) -> Iterable[str]:
    """The symbols that ops refer to, each once."""
    found: dict[str, None] = {}
    for inner in ops:
        for attribute in (*inner.properties.values(), *inner.attributes.values()):
            if isinstance(attribute, SymbolRefAttr):
                found[attribute.root_reference.data] = None
    return found
