"""What identifies users' operators in the cache of compiled models: the contents of the files that they are made of."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from ...dialects.operators.operator_registry import BUILT_IN, OPERATORS
from ..file_cache import key_of

if TYPE_CHECKING:
    from ...dialects.operators.operator import Operator


def operators_text(used: Iterable[tuple[str, str, int]]) -> str | None:
    """The users' operators among those of a model (domain, name, version of the domain), as text; "" for none.

    None if one can't be identified: a function pointer, or a function whose file doesn't tell what it does (see
    `_held_values`). A composition may call any other operator, so with one of them all that are registered count.
    """
    found = {OPERATORS.find(*each) for each in used}
    users = [each for each in found if each is not None and each.kind != BUILT_IN]
    if not users:
        return ""
    if any(each.kernel is None for each in users):
        users = [each for each in OPERATORS.listed() if each.kind != BUILT_IN]
    digests = [_digest(each) for each in users]
    known = [each for each in digests if each is not None]
    return json.dumps(sorted(known)) if len(known) == len(digests) else None


def _digest(operator: Operator) -> str | None:
    kernel = operator.kernel
    if kernel is not None and not kernel.source:
        return None
    files: list[str] = [*operator.depends]
    told: list[Any] = [operator.domain, operator.name, operator.since]
    for each in (operator.function, *([] if kernel is None else [kernel.scratch, kernel.cost])):
        if not callable(each):
            told.append(each)
            continue
        function = inspect.unwrap(each)
        values = _held_values(function)
        file = None if values is None else inspect.getsourcefile(function)
        if file is None or not Path(file).is_file():
            return None
        files.append(file)
        told.append([function.__qualname__, function.__code__.co_firstlineno, values])
    try:
        contents = [Path(file).read_bytes() for file in files]
    except OSError:
        return None
    if kernel is not None:
        told += [kernel.symbol, kernel.flags, kernel.threads, kernel.inplace]
    return key_of(json.dumps(told).encode(), *contents, *contents_of(operator))


def _held_values(function: object) -> list[Any] | None:
    """The defaults of a function and its variables of functions around it, which are not in its file.

    None if one is no number, text, or list of such, and for an object that is called: it may have a state.
    """
    if not isinstance(function, FunctionType):
        return None
    try:
        variables = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # one that has no value yet
        return None
    values = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(), *variables]
    return values if all(map(_is_plain, values)) else None


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, cast("Sequence[object]", value)))
    return value is None or isinstance(value, bool | int | float | str)


def contents_of(operator: Operator) -> tuple[bytes, ...]:
    """The contents of the kernel's files, and the C compiler's command."""
    kernel = operator.kernel
    if kernel is None or not kernel.source:
        return ()
    from ..native.c_compiler import compiler, source_files

    source = Path(kernel.source)
    files = sorted(source_files(source)) if source.suffix == ".c" else [source]
    return (" ".join(compiler()).encode(), *(each.read_bytes() for each in files))
