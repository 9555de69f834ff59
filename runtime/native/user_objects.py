"""Object code of users' kernels: C files, LLVM IR, and calls of a function's address."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr
from xdsl.ir import Operation

from ...dialects.errors import CompileError, OperatorError
from ...dialects.graph.ops.external import missing
from ...dialects.kernel.calls import OPERATOR
from ...dialects.operators.operator import Operator
from ...dialects.operators.operator_registry import OPERATORS
from ...dialects.regular_file import read_regular
from . import llvm_worker
from .allowed_calls import KERNELS_MAY_CALL
from .c_compiler import compile_c
from .call_checks import defined_symbols, undefined_symbols
from .images.elf import ELF
from .images.linked import link
from .llvmlite_calls import OPT_LEVEL, Machine, compile_to_object, target_machine
from .operator_header import header_of

_TRAMPOLINE = """
define void @{name}(ptr %inputs, ptr %outputs, ptr %scratch, ptr %sizes, ptr %attributes, i64 %thread, i64 %threads) {{
  %f = inttoptr i64 {address} to ptr
  call void %f(ptr %inputs, ptr %outputs, ptr %scratch, ptr %sizes, ptr %attributes, i64 %thread, i64 %threads)
  ret void
}}
"""


@dataclass(frozen=True)
class DeclaredKernel:
    """A function that a module's code calls and a user's operator defines."""

    name: str
    operator: Operator


def declared_kernels(functions: Iterable[Operation]) -> list[DeclaredKernel]:
    """The users' kernels among the functions of a module at the loops or llvm level, which declares them.

    Raises OperatorError for operators that are not registered.
    """
    found: list[DeclaredKernel] = []
    for op in functions:
        identity = op.attributes.get(OPERATOR)
        if isinstance(op, func.FuncOp | llvm.FuncOp) and isinstance(identity, DictionaryAttr):
            name = op.sym_name.data
            found.append(DeclaredKernel(name, _operator(identity, f"@{name}")))
    return found


def _operator(identity: DictionaryAttr, where: str) -> Operator:
    domain, name, since = (identity.data.get(key) for key in ("domain", "name", "since"))
    if not (isinstance(domain, StringAttr) and isinstance(name, StringAttr) and isinstance(since, IntegerAttr)):
        raise CompileError(f"{where}: {OPERATOR} names no operator: {identity}")
    version = since.value.data
    found = OPERATORS.exactly(domain.data, name.data, version)
    if found is None or found.kernel is None:
        raise missing(where, f"{domain.data}.{name.data}", version)
    return found


def object_of(operator: Operator, name: str, machine: Machine) -> bytes:
    """Object code that defines the operator's kernel as a function `name`.

    Raises OperatorError for source that can't be compiled, that doesn't define the kernel, or that calls anything but
    memory and math functions of C.
    """
    kernel = operator.kernel
    assert kernel is not None
    what = f"operator {operator.full_name} ({Path(kernel.source).name})" if kernel.source else operator.full_name
    if not kernel.source:
        return compile_to_object(_TRAMPOLINE.format(name=name, address=kernel.address), machine)
    source = Path(kernel.source)
    if source.suffix == ".ll":
        return _of_llvm_ir(source, kernel.symbol, name, machine, what)
    code = compile_c(source, machine, header_of(operator, name), kernel.flags, what)
    _check(code, what)
    if name not in (there := defined_symbols(code)):
        known = ", ".join(sorted(there)) or "none"
        raise OperatorError(f"{what}: it defines no function {kernel.symbol}; its functions: {known}")
    return code


def _check(code: bytes, what: str) -> None:
    """Raises OperatorError for calls of functions that are not allowed, and for code that can't be linked."""
    if strange := sorted(undefined_symbols(code) - KERNELS_MAY_CALL):
        raise OperatorError(
            f"{what}: it calls {', '.join(strange)}; a kernel may call only memory and math functions of C"
        )
    if code.startswith(ELF):
        try:
            link([code])
        except CompileError as error:
            raise OperatorError(f"{what}: {error}") from None


def _of_llvm_ir(source: Path, symbol: str, name: str, machine: Machine, what: str) -> bytes:
    target = target_machine(machine, OPT_LEVEL)
    try:
        module = llvm_worker.parsed(read_regular(source).decode(errors="replace"), (), target)
    except (RuntimeError, OSError) as error:
        raise OperatorError(f"{what}: LLVM refuses it: {str(error).strip().splitlines()[0]}") from None
    defined = [each for each in module.functions if not each.is_declaration]
    if symbol not in [each.name for each in defined]:
        known = ", ".join(sorted(each.name for each in defined)) or "none"
        raise OperatorError(f"{what}: it defines no function {symbol}; its functions: {known}")
    for each in (*defined, *(each for each in module.global_variables if not each.is_declaration)):
        if each.name == symbol:
            each.name, each.linkage = name, "external"
        else:
            each.visibility, each.linkage = "default", "internal"
    llvm_worker.optimize(module, target, OPT_LEVEL)
    code = bytes(target.emit_object(module))
    _check(code, what)
    return code


def check_kept(declared: Iterable[DeclaredKernel], what: str) -> None:
    """Raises OperatorError for kernels known by their address, which no file can hold; `what` names the file."""
    for each in declared:
        assert each.operator.kernel is not None
        if not each.operator.kernel.source:
            raise OperatorError(
                f"operator {each.operator.full_name}: its kernel is a function pointer of this process, which "
                f"{what} can't hold: give a .c or .ll file"
            )


def objects_of(declared: Sequence[DeclaredKernel], machine: Machine) -> list[bytes]:
    """The object code of kernels, in order."""
    return [object_of(each.operator, each.name, machine) for each in declared]
