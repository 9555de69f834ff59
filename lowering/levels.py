"""The levels that a module goes through, and which one it has reached.

A module states it: `builtin.module attributes {mini_infer.level = "kernels"}`, written by the import and by each pass
that takes it to another level. What `main` looks like (tensors or buffers, kernels beside it, an arena and a team of
threads among its arguments) must agree; for modules written by hand, which may state nothing, it is all there is. Ops
are told by their names, so that looking at a module imports no dialect that the module does not use.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable

from ..dialects.errors import ConfigError, InvalidModelError
from ..dialects.graph.host_code import LEVEL, ROLE, argument_texts
from .registry import LEVEL_OF_PASS, LEVELS, Level

__all__ = ["LEVELS", "Level", "argument_roles", "check_level", "level_of"]

# What main may hold at the graph level and at the kernels level alike.
_NOT_COMPUTED = {"func.func", "func.return", "graph.constant", "graph.reshape", "graph.weight"}


def argument_roles(main: Operation) -> list[str]:
    """What each argument of a `main` on buffers is for, such as "input" or "arena"; "" if unsaid."""
    return argument_texts(main, ROLE)


def check_level(pass_name: str, module: ModuleOp) -> None:
    """Raises ConfigError for a pass that works on another level than the module's, as far as that can be told."""
    needed, main = LEVEL_OF_PASS.get(pass_name), SymbolTable.lookup_symbol(module, "main")
    if needed is None or main is None or not _tells_its_level(main):
        return
    level = level_of(module)
    if level != needed and not (LEVEL not in module.attributes and _is_on_both(main, level, needed)):
        raise ConfigError(f"{pass_name} works at the {needed} level; the module is at the {level} level")


def _is_on_both(main: Operation, level: Level, needed: Level) -> bool:
    """Whether the next level's `main` would look the same: nothing is computed in it, or nothing is to be placed."""
    match level, needed:
        case "graph", "kernels":
            return all(op.name in _NOT_COMPUTED for op in main.walk())
        case "buffers", "arena":
            return all(op.name != "memref.alloc" for op in main.walk())
        case _:
            return False


def _tells_its_level(main: Operation) -> bool:
    """Whether `main` takes or gives anything, without which it may be at any level."""
    if not isinstance(main, FuncOp):
        return True
    types = (*main.function_type.inputs.data, *main.function_type.outputs.data)
    return any(isinstance(type, IndexType | MemRefType | TensorType) for type in types)


def level_of(module: ModuleOp) -> Level:
    """The level that a module states, else that which its `main` looks like.

    Raises InvalidModelError where there is no function `main`, or one of another level than is stated.
    """
    seen, stated = _looks_like(module), module.attributes.get(LEVEL)
    if stated is None:
        return seen
    named: dict[Attribute, Level] = {StringAttr(each): each for each in LEVELS}
    level = named.get(stated)
    if level is None:
        raise InvalidModelError(f"{LEVEL} is {stated}; it must be one of {', '.join(LEVELS)}")
    main = SymbolTable.lookup_symbol(module, "main")
    assert main is not None
    # Where nothing is computed there are no kernels.
    if seen != level and (level, seen) != ("kernels", "graph") and _tells_its_level(main):
        raise InvalidModelError(f"the module states the {level} level ({LEVEL}), but its @main is of the {seen} level")
    return level


def _looks_like(module: ModuleOp) -> Level:
    """The level by the types in `main`; raises InvalidModelError where there is no such function."""
    main = SymbolTable.lookup_symbol(module, "main")
    if main is not None and main.name == "llvm.func":
        return "llvm"
    if not isinstance(main, FuncOp):
        raise InvalidModelError("the module has no function @main")
    types = main.function_type.inputs.data
    has_kernels = any(op.name == "graph.kernel" for op in module.ops)
    has_team = "team" in argument_roles(main) or any(isinstance(type, IndexType) for type in types)
    if has_team and not has_kernels:
        return "loops"
    if "arena" in argument_roles(main):
        return "arena"
    if any(isinstance(type, MemRefType) for type in types):
        return "buffers"
    return "kernels" if has_kernels else "graph"
