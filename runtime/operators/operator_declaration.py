"""`operator`: registers a user's operator, composed of others in Python or compiled by a kernel."""

from __future__ import annotations

import ctypes
import inspect
import os.path
from collections.abc import Callable, Sequence
from functools import update_wrapper
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast, overload

from typing_extensions import TypedDict, Unpack

from ...dialects.arguments import check_kind, checked_sequence, is_integer, shown, wrong
from ...dialects.errors import OperatorError
from ...dialects.operators.operator import Kernel, Operator
from ...dialects.operators.operator_registry import OPERATORS, STANDARD_DOMAINS
from ...dialects.operators.signature import signature_of
from .kernel_on_arrays import run_kernel, source_path

_SUFFIXES = {".c": "C", ".ll": "LLVM IR"}
_FUNCTION_POINTER = ctypes.CFUNCTYPE(None).__mro__[1]
_POINTERS: list[object] = []
"""The owners of functions whose addresses are kernels: compiled models may call them as long as the process lives."""


class _HasAddress(Protocol):
    @property
    def address(self) -> int: ...


KernelSource: TypeAlias = "str | Path | int | _HasAddress | Any"
"""A path of a .c or .ll file, or a function's address: an integer, a ctypes function, or an object with `address`."""


class UserOperator:
    """A registered operator. In the function of another operator it is called with graph values like any function."""

    def __init__(self, registered: Operator) -> None:
        """See `operator`, which makes it."""
        self._operator = registered
        assert registered.function is not None
        update_wrapper(self, registered.function)

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        """In a composition the operator's result, or results, for graph values; elsewhere what its function returns."""
        from ...lowering.onnx_to_graph.user_operators.graph_value import GraphValue, called_all

        own = self._operator
        assert own.function is not None
        if not any(isinstance(each, GraphValue) for each in inputs):
            return own.function(*inputs, **attributes)
        found = called_all(own.name, *inputs, domain=own.domain, **attributes)
        return found[0] if len(found) == 1 else tuple(found)

    @property
    def header(self) -> str:
        """The C header of the kernel. Raises OperatorError for a composition, which has none."""
        from ..native.operator_header import header_of

        if self._operator.kernel is None:
            raise OperatorError(f"operator {self._operator.full_name} is composed: it has no kernel, and no header")
        return header_of(self._operator)

    def unregister(self) -> None:
        """Forgets the operator; models that were compiled with it keep their code."""
        OPERATORS.remove(self._operator)


class KernelOptions(TypedDict, total=False):
    """Options of an operator with a kernel: see `operator`."""

    since: int
    symbol: str
    flags: Sequence[str]
    scratch: Callable[..., int] | int
    cost: Callable[..., float] | float | None
    inplace: Sequence[tuple[int, int]]
    threads: bool
    depends: Sequence[str | Path]
    override: bool


@overload
def operator(
    domain: str,
    name: str,
    *,
    since: int = 1,
    kernel: None = None,
    depends: Sequence[str | Path] = (),
    override: bool = False,
) -> Callable[[Callable[..., Any]], UserOperator]: ...
@overload
def operator(
    domain: str, name: str, *, kernel: KernelSource, shape: None = None, **options: Unpack[KernelOptions]
) -> Callable[[Callable[..., Any]], UserOperator]: ...
@overload
def operator(
    domain: str, name: str, *, kernel: KernelSource, shape: Callable[..., Any], **options: Unpack[KernelOptions]
) -> UserOperator: ...


def operator(
    domain: str,
    name: str,
    *,
    since: int = 1,
    kernel: KernelSource | None = None,
    shape: Callable[..., Any] | None = None,
    symbol: str = "",
    flags: Sequence[str] = (),
    scratch: Callable[..., int] | int = 0,
    cost: Callable[..., float] | float | None = None,
    inplace: Sequence[tuple[int, int]] = (),
    threads: bool = False,
    depends: Sequence[str | Path] = (),
    override: bool = False,
) -> Any:
    """Registers an ONNX operator of one's own: `domain`.`name`, from version `since` of the domain on.

    The decorated function has the node's inputs as positional parameters (optional ones default to None), and its
    attributes as typed keyword-only ones. Without a kernel it is a composition: called at import with graph values, it
    returns the results, made by operators, methods and the functions of `mini_infer.ops`; these are optimised, fused
    and planned like any others, for all devices.

    With a `kernel` (CPUs only) it is the rule of result types: it takes and returns `TensorType`s; `shape` gives it in
    place of the decorator. The kernel is a C file or LLVM IR (.ll), relative to the file of the rule, or a function's
    address, for models that are neither cached nor saved. Its prototype is `header`, which a C file includes as
    "mini_infer_operator.h". `symbol` is its name, by default that of the rule; `flags` are further ones of the C
    compiler. `scratch` are bytes (with `threads`, of each thread) and `cost` floating-point operations of a call:
    numbers, or functions with the rule's parameters. `inplace` lists pairs of an input and an output that may be the
    same memory. With `threads`, several threads call it at once, each for its share.

    `depends` names further files whose change makes cached models stale. `override` replaces an operator of
    mini_infer's own. A function that is defined again replaces itself. Raises OperatorError for anything that is wrong.
    """
    check_kind("domain", domain, str, OperatorError)
    check_kind("name", name, str, OperatorError)
    domain = "" if domain == "ai.onnx" else domain
    what = f"operator {f'{domain}.' if domain else ''}{name}"
    if not name:
        raise OperatorError(f"{what}: it has no name")
    if not is_integer(since) or since < 1:
        raise OperatorError(f"{what}: since is {shown(since)}; it must be a version, 1 or more")
    if shape is not None and not callable(shape):
        raise OperatorError(f"{what}: shape is {shown(shape)}; it must be a function")
    check_kind(f"{what}: symbol", symbol, str, OperatorError)
    for option, value in {"threads": threads, "override": override}.items():
        check_kind(f"{what}: {option}", value, bool, OperatorError)
    flags, depends = _texts(f"{what}: flags", flags), _texts(f"{what}: depends", depends)
    given = {"shape": shape, "symbol": symbol, "flags": flags, "scratch": scratch, "cost": cost}
    given |= {"inplace": _pairs(what, inplace), "threads": threads}
    useless = [each for each, value in given.items() if not _is_default(value)]
    if kernel is None and useless:
        raise OperatorError(f"{what}: {useless[0]} does nothing without a kernel")

    def register(function: Callable[..., Any]) -> UserOperator:
        if not callable(function):
            raise OperatorError(f"{what}: {shown(function)} is no function")
        file, line = _place(function)
        made = Operator(
            domain=domain,
            name=name,
            since=since,
            kind="composed",
            origin=f"{file}:{line}" if file else getattr(function, "__module__", "") or "Python",
            function=function,
            signature=signature_of(function, what),
            depends=tuple(str(source_path(str(each), file)) for each in depends),
            override=override,
        )
        if kernel is not None:
            made = _with_kernel(made, what, file, kernel, given)
        if domain in STANDARD_DOMAINS:
            from ...lowering.onnx_to_graph import operators  # registers this package's

            del operators
        OPERATORS.add(made)
        return UserOperator(made)

    return register if shape is None else register(shape)


def _with_kernel(made: Operator, what: str, file: str, kernel: Any, given: dict[str, Any]) -> Operator:
    """The operator with its kernel. Raises OperatorError for options of a wrong kind."""
    from dataclasses import replace

    from ..native.operator_header import KINDS

    assert made.signature is not None and made.function is not None
    for each in made.signature.attributes:
        if each.kind not in KINDS:
            raise OperatorError(
                f"{what}: attribute {each.name} is a list of strings or an array: no kernel can take it"
            )
        if not each.required and each.default is None:
            raise OperatorError(f"{what}: attribute {each.name} may be None, which no kernel can take")
    path, address = _source(what, kernel, file)
    kind = "function pointer" if not path else _SUFFIXES[Path(path).suffix]
    own = getattr(made.function, "__name__", "")
    symbol = given["symbol"] or (own if own.isidentifier() else made.name)
    for name in ("scratch", "cost"):
        value = given[name]
        if not (value is None or callable(value) or (isinstance(value, int | float) and value >= 0)):
            raise OperatorError(f"{what}: {name} is {shown(value)}; it must be a number or a function")
    return replace(
        made,
        kind=kind,
        kernel=Kernel(
            symbol=symbol,
            source=path,
            address=address,
            flags=tuple(given["flags"]),
            threads=given["threads"],
            scratch=given["scratch"],
            cost=given["cost"],
            inplace=given["inplace"],
            run=run_kernel,
        ),
    )


def _is_default(value: object) -> bool:
    return value is None or (isinstance(value, str | int | tuple) and not value)


def _texts(what: str, given: Any) -> tuple[str, ...]:
    """Texts or paths, in order. Raises OperatorError for anything else."""
    wanted = "a list of texts"
    items = checked_sequence(what, given, wanted, OperatorError)
    if isinstance(given, str) or not all(isinstance(each, str | Path) for each in items):
        raise wrong(what, given, wanted, OperatorError)
    return tuple(map(str, items))


def _pairs(what: str, inplace: Any) -> tuple[tuple[int, int], ...]:
    try:
        pairs = tuple((int(operand), int(result)) for operand, result in inplace)
    except (TypeError, ValueError):
        raise OperatorError(
            f"{what}: inplace is {shown(inplace)}; it must be a list of (input, output) pairs"
        ) from None
    if any(number < 0 for pair in pairs for number in pair):
        raise OperatorError(f"{what}: inplace has a negative number")
    return pairs


def _source(what: str, kernel: Any, file: str) -> tuple[str, int]:
    """The path of a kernel's source, or "" and the function's address."""
    if isinstance(kernel, str | Path):
        path = source_path(str(kernel), file)
        if path.suffix not in _SUFFIXES:
            raise OperatorError(f"{what}: kernel is {kernel}; expected a .c or .ll file, or a function's address")
        if not os.path.isfile(path):  # a path may be impossible
            raise OperatorError(f"{what}: there is no file {shown(str(path))}")
        return str(path), 0
    address: object = kernel
    if isinstance(kernel, _FUNCTION_POINTER):
        address = ctypes.cast(kernel, ctypes.c_void_p).value
    elif not is_integer(kernel):
        address = getattr(kernel, "address", None)
    if not is_integer(address) or cast("int", address) <= 0:
        raise OperatorError(f"{what}: kernel is {shown(kernel)}; expected a .c or .ll file, or a function's address")
    _POINTERS.append(kernel)
    return "", int(cast("int", address))


def _place(function: Callable[..., Any]) -> tuple[str, int]:
    """The file and line of a function; "" for one that was typed in."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(function)) or ""
    except TypeError:
        return "", 0
    code = getattr(inspect.unwrap(function), "__code__", None)
    return (file if Path(file).is_file() else ""), getattr(code, "co_firstlineno", 0)
