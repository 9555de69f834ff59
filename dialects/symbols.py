"""Looking names up in a module. xDSL's own asks every operation for its traits: that was half of verifying calls."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation


def symbol_named(op: Operation, name: str) -> Operation | None:
    """The operation with that symbol in the module `op`, or in the one around it; None where there is none."""
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
