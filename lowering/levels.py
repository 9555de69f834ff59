"""The levels that a module goes through, and how to see which one it has reached.

Told by what `main` looks like: tensors or buffers, kernels beside it, an arena among its arguments. Ops are
told by their names, so that looking at a module imports no dialect that the module does not use.
"""

from __future__ import annotations

from typing import Literal

from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.traits import SymbolTable

from ..dialects.errors import InvalidModelError

Level = Literal["graph", "kernels", "buffers", "arena", "loops", "llvm"]
LEVELS: tuple[Level, ...] = ("graph", "kernels", "buffers", "arena", "loops", "llvm")


def argument_roles(main: FuncOp) -> tuple[str, ...]:
    """What each argument of a `main` on buffers is for, such as "input" or "arena"; "" if unsaid."""
    roles = [""] * len(main.args)
    for index, attributes in enumerate(main.arg_attrs or ()):
        role = attributes.data.get("graph.role")
        if isinstance(role, StringAttr):
            roles[index] = role.data
    return tuple(roles)


def level_of(module: ModuleOp) -> Level:
    """The level of a module; raises InvalidModelError where there is no function `main` to tell it by."""
    main = SymbolTable.lookup_symbol(module, "main")
    if main is not None and main.name == "llvm.func":
        return "llvm"
    if not isinstance(main, FuncOp):
        raise InvalidModelError("the module has no function @main")
    types = main.function_type.inputs.data
    if any(isinstance(type, IndexType) for type in types):
        return "loops"
    if "arena" in argument_roles(main):
        return "arena"
    if any(isinstance(type, MemRefType) for type in types):
        return "buffers"
    return "kernels" if any(op.name == "graph.kernel" for op in module.ops) else "graph"
