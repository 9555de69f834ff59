"""Combines the parts of a model's code into one object file with only public symbols exported."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from ...dialects.errors import CompileError
from .llvm_worker import Part, optimize, parsed
from .llvmlite_calls import Machine, target_machine


def one_object(
    parts: Sequence[Part], prefix: str, public: AbstractSet[str], others: AbstractSet[str] = frozenset()
) -> bytes:
    """Position-independent object code of parts for one machine; there must be at least one.

    Each part is optimised separately, so that the code computes the same bits as that of `compile`. Symbols that aren't
    `public` become local and are prefixed by `prefix` and an underscore. So are functions of `others`, which other
    object code defines. Raises CompileError for LLVM's errors.
    """
    first = parts[0]
    target = target_machine(Machine(first.triple, first.cpu, first.features), first.opt_level)
    whole: Any = None
    for part in parts:
        try:
            module = parsed(part.text, part.link, target)
        except RuntimeError as error:
            raise CompileError(f"LLVM refuses the IR: {error}") from None
        optimize(module, target, part.opt_level, as_written=part.as_written)
        if whole is None:
            whole = module
        else:
            whole.link_in(module)
    for each in (*whole.functions, *whole.global_variables):
        if not each.is_declaration and each.name not in public:
            each.visibility = "default"
            each.linkage = "internal"
            each.name = f"{prefix}_{each.name.removeprefix(f'{prefix}_')}"
        elif each.name in others:
            each.name = f"{prefix}_{each.name}"
    return bytes(target.emit_object(whole))
