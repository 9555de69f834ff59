"""The levels of a module, stated by the attribute `mini_infer.level`, and checks that a module is at its level.

The import and every pass that changes the level set it: `builtin.module attributes {mini_infer.level = "kernels"}`. The
level is never inferred: a module without the attribute passes through an explicit pipeline unchecked, and is otherwise
taken to be at the graph level, like modules written by hand.

A module with ops or types that contradict its stated level is refused. Ops are compared by name, so that no dialect is
imported that the module does not use.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from ..dialects.errors import ConfigError, InvalidModelError
from ..dialects.graph.host import LEVEL, ROLE, argument_texts
from ..dialects.symbols import symbol_named
from .registry import LEVEL_OF_PASS, LEVELS, Level

__all__ = ["LEVELS", "Level", "argument_roles", "check_level", "level_of"]

_LEVEL_OF_TEXT: dict[Attribute, Level] = {StringAttr(each): each for each in LEVELS}


def argument_roles(main: Operation) -> list[str]:
    """The role of each argument of a `main` on buffers, such as "input" or "arena"; "" if it has none."""
    return argument_texts(main, ROLE)


def check_level(pass_name: str, module: ModuleOp, seen: Level | None = None) -> Level | None:
    """The level that the module states. Raises ConfigError for a pass that works on another level.

    Contradictions to the level are looked for unless it was already `seen` there, as passes introduce none.
    """
    needed, level = LEVEL_OF_PASS.get(pass_name), _stated(module)
    if needed is None or level is None:
        return seen
    if level != seen and symbol_named(module, "main") is not None:
        level_of(module)
    if level != needed:
        raise ConfigError(f"{pass_name} works at the {needed} level; the module is at the {level} level")
    return level


def level_of(module: ModuleOp) -> Level:
    """The level that a module states; the graph level if it states none.

    Raises InvalidModelError if there is no function `main`, or one that contradicts the level.
    """
    main, stated = symbol_named(module, "main"), _stated(module)
    if main is None or main.name not in ("func.func", "llvm.func"):
        raise InvalidModelError("the module has no function @main")
    if fact := _contradiction(module, main, stated or "graph"):
        if stated is not None:
            raise InvalidModelError(f"the module states the {stated} level ({LEVEL}), where {fact}")
        raise InvalidModelError(
            f"the module does not state its level, and at the graph level {fact}; write "
            f'builtin.module attributes {{{LEVEL} = "..."}} with one of {", ".join(LEVELS)}'
        )
    return stated or "graph"


def _stated(module: ModuleOp) -> Level | None:
    stated = module.attributes.get(LEVEL)
    if stated is not None and stated not in _LEVEL_OF_TEXT:
        raise InvalidModelError(f"{LEVEL} is {stated}; it must be one of {', '.join(LEVELS)}")
    return None if stated is None else _LEVEL_OF_TEXT[stated]


def _contradiction(module: ModuleOp, main: Operation, level: Level) -> str:
    """A description of what in a module contradicts a level; "" if nothing does."""
    if level == "llvm" or not isinstance(main, FuncOp):
        return "" if level == "llvm" and not isinstance(main, FuncOp) else f"@main is no {main.name}"
    types = (*main.function_type.inputs.data, *main.function_type.outputs.data)
    if level in ("graph", "kernels"):
        if any(isinstance(type, MemRefType) for type in types):
            return "@main takes no buffers"
    elif any(isinstance(type, TensorType) for type in types):
        return "@main takes no tensors"
    if level in ("graph", "loops") and any(op.name == "graph.kernel" for op in module.ops):
        return "there are no kernels"
    if level in ("graph", "kernels", "buffers"):
        late = [role for role in argument_roles(main) if role not in ("", "input", "output", "cache")]
        return f"@main takes no {late[0]}" if late else ""
    return ""
