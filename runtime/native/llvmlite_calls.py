"""LLVM through llvmlite: compiles text to object code for any CPU, and loads object code.

All of LLVM is behind one lock of llvmlite's, so threads don't compile in parallel, and a fork waits for it (forks.py).
Object code for one CPU runs on every CPU with its features; it is position-independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from ...dialects.errors import CompileError, ConfigError
from .. import forks
from . import llvm_worker
from .call_checks import check_calls
from .llvm_worker import Compiled, Part, binding

# On an AVX2 machine 3 makes 40 % more code in 1.4 times the time, and models take 0.98 to 1.02 of their time with it.
OPT_LEVEL = 2

forks.wait_for_libraries()

_MATH_LIBRARIES = ("libm.so.6", "libm.so", "libm.dylib")


@dataclass(frozen=True)
class Machine:
    """The target of LLVM's code generation; empty strings: the host's triple, its baseline CPU, no further features.

    `features` is LLVM's list such as "+avx2,-avx512f", in addition to those that `cpu` implies.
    """

    triple: str = ""
    cpu: str = ""
    features: str = ""

    @property
    def architecture(self) -> str:
        """The architecture, such as x86_64 or aarch64."""
        return (self.triple or str(binding().get_default_triple())).partition("-")[0]


class LoadedCode:
    """Object code linked and loaded by LLVM; addresses are valid as long as this object lives.

    By JITLink, which lays out an object in one block. LLVM's older linker, RuntimeDyld, allocates code and constants
    separately, and aborts the process if they are more than 2 GiB apart, which happens in processes with much
    fragmented memory.
    """

    _LIBRARY = "code"

    def __init__(self, compiler: Any, library: Any) -> None:
        self._compiler = compiler
        self._library = library
        self._symbols: dict[str, Any] = {}

    def address(self, name: str) -> int:
        """The address of a function. Raises CompileError if it, or a function it calls, is unresolved."""
        if name not in self._symbols:
            try:
                self._symbols[name] = self._compiler.lookup(self._LIBRARY, name)
            except RuntimeError as error:
                raise CompileError(f"function '{name}' can't be linked: {error}") from None
        return int(self._symbols[name][name])

    @classmethod
    def load(cls, objects: Sequence[bytes]) -> LoadedCode:
        """Loads object code; its calls are resolved in all of it, the process and its libraries."""
        _load_first(_MATH_LIBRARIES)
        compiler = binding().create_lljit_compiler(target_machine(Machine(), 3), use_jit_link=True)
        builder = binding().JITLibraryBuilder()
        for data in objects:
            builder.add_object_img(data)
        builder.add_current_process()
        try:
            return cls(compiler, builder.link(compiler, cls._LIBRARY))
        except RuntimeError as error:
            raise CompileError(f"object code can't be loaded: {error}") from None


def part_of(
    ir_text: str,
    machine: Machine,
    opt_level: int = OPT_LEVEL,
    *,
    link: Sequence[str] = (),
    as_written: bool = False,
    listed: bool = False,
) -> Part:
    """A unit of compilation: a module of LLVM IR text, with the modules of `link` linked in.

    With `as_written`, loops are in final form, and LLVM runs only few optimisations. Raises ConfigError for an
    architecture that LLVM doesn't support.
    """
    target_machine(machine, opt_level)
    return Part(ir_text, tuple(link), machine.triple, machine.cpu, machine.features, opt_level, as_written, listed)


def code_of(result: Compiled, part: Part, others: AbstractSet[str] = frozenset()) -> bytes:
    """The object code of a compiled part, which may call functions in `others`.

    Raises CompileError with LLVM's message for malformed text, and for calls of functions that are not allowed.
    """
    if result.error:
        raise CompileError(f"LLVM refuses the IR: {result.error}")
    check_calls(result.code, part.cpu, others)
    return result.code


def compile_to_object(ir_text: str, machine: Machine, opt_level: int = OPT_LEVEL, *, link: Sequence[str] = ()) -> bytes:
    """Position-independent object code of one module of LLVM IR text. Raises as `part_of` and `code_of`."""
    part = part_of(ir_text, machine, opt_level, link=link)
    return code_of(llvm_worker.compiled(part), part)


def emit_assembly(ir_text: str, machine: Machine, opt_level: int = OPT_LEVEL, *, link: Sequence[str] = ()) -> str:
    """The assembly text of what compile_to_object compiles, with LLVM's comments on loops and spilled registers."""
    target = target_machine(machine, opt_level)
    target.set_asm_verbosity(True)
    return str(target.emit_assembly(_optimized(ir_text, target, opt_level, link)))


def optimize_ir(ir_text: str, machine: Machine, opt_level: int = OPT_LEVEL, *, link: Sequence[str] = ()) -> str:
    """LLVM IR text after LLVM's optimisations, for reading."""
    target = target_machine(machine, opt_level)
    return str(_optimized(ir_text, target, opt_level, link))


@cache
def _load_first(names: tuple[str, ...]) -> None:
    """Loads the first of these libraries that exists."""
    for name in names:
        with suppress(RuntimeError):
            binding().load_library_permanently(name)
            return


def target_machine(machine: Machine, opt_level: int) -> Any:
    """LLVM's target machine. Raises ConfigError for an architecture that it doesn't support."""
    try:
        return llvm_worker.target_machine(machine.triple, machine.cpu, machine.features, opt_level)
    except RuntimeError as error:
        raise ConfigError(str(error)) from None


def _optimized(ir_text: str, target: Any, opt_level: int, link: Sequence[str]) -> Any:
    try:
        module = llvm_worker.parsed(ir_text, link, target)
    except RuntimeError as error:
        raise CompileError(f"LLVM refuses the IR: {error}") from None
    llvm_worker.optimize(module, target, opt_level)
    return module
