"""Text of GPU code as modules."""

from __future__ import annotations

from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from mini_infer.lowering.module_text import module_context


@cache
def context() -> Context:
    """Knows our dialects."""
    return module_context()


def parse(text: str) -> ModuleOp:
    """A verified module."""
    module = Parser(context(), text).parse_module()
    module.verify()
    return module
