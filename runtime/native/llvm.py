"""LLVM through llvmlite: text to object code for any CPU, object code to addresses.

All of LLVM is behind one lock of llvmlite's, so threads don't compile at the same time, and a fork waits for it
(forks.py). Object code made for one CPU runs on every CPU that has its features; nothing in it depends on where it is
loaded.
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
from .allowed_calls import check_calls
from .llvm_worker import Compiled, Part, binding

# On an AVX2 machine 3 makes 40 % more code in 1.4 times the time, and models run at 0.98 to 1.02 of their time with it.
OPT_LEVEL = 2

forks.wait_for_libraries()

_MATH_LIBRARIES = ("libm.so.6", "libm.so", "libm.dylib")


@dataclass(frozen=True)
class Machine:
    """What LLVM generates code for; empty: this machine's triple, the least CPU of its kind, no further features.

    `features` is LLVM's list such as "+avx2,-avx512f", in addition to what `cpu` implies.
    """

    triple: str = ""
    cpu: str = ""
    features: str = ""

    @property
    def architecture(self) -> str:
        """Such as x86_64 or aarch64."""
        return (self.triple or str(binding().get_default_triple())).partition("-")[0]


class LoadedCode:
    """Object code in memory, linked by LLVM; the addresses are valid as long as this object lives.

    JITLink is asked for: it lays all of an object into one block. LLVM's older linker, RuntimeDyld, asks the system for
    code and constants apart, and aborts the process where they come to lie more than 2 GiB from each other, which
    happens in processes with much memory in many pieces.
    """

    _LIBRARY = "code"

    def __init__(self, compiler: Any, library: Any) -> None:
        self._compiler = compiler
        self._library = library
        self._symbols: dict[str, Any] = {}

    def address(self, name: str) -> int:
        """The address of a function; raises CompileError where it, or something it calls, isn't there."""
        if name not in self._symbols:
            try:
                self._symbols[name] = self._compiler.lookup(self._LIBRARY, name)
            except RuntimeError as error:
                raise CompileError(f"function '{name}' can't be linked: {error}") from None
        return int(self._symbols[name][name])

    @classmethod
    def load(cls, objects: Sequence[bytes]) -> LoadedCode:
        """Loads object code; what it calls is looked for in all of it, the process and the libraries loaded into it."""
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
    ir_text: str, machine: Machine, opt_level: int = OPT_LEVEL, *, link: Sequence[str] = (), as_written: bool = False
) -> Part:
    """What is compiled at once: a module of LLVM IR text, with the modules of `link` linked in.

    With `as_written`, LLVM doesn't look for what else could be made of its loops.

    Raises ConfigError for an architecture that LLVM doesn't have.
    """
    target_machine(machine, opt_level)
    return Part(ir_text, tuple(link), machine.triple, machine.cpu, machine.features, opt_level, as_written)


def code_of(result: Compiled, part: Part, others: AbstractSet[str] = frozenset()) -> bytes:
    """The object code of a part, which may call functions of others.

    Raises CompileError with LLVM's message for text that isn't well-formed, and for code that calls what it may not.
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
    """The assembly of what compile_to_object makes."""
    target = target_machine(machine, opt_level)
    return str(target.emit_assembly(_optimized(ir_text, target, opt_level, link)))


def optimize_ir(ir_text: str, machine: Machine, opt_level: int = OPT_LEVEL, *, link: Sequence[str] = ()) -> str:
    """LLVM IR text after LLVM's optimisations, for reading."""
    target = target_machine(machine, opt_level)
    return str(_optimized(ir_text, target, opt_level, link))


@cache
def _load_first(names: tuple[str, ...]) -> None:
    """Loads the first of these libraries that there is."""
    for name in names:
        with suppress(RuntimeError):
            binding().load_library_permanently(name)
            return


def target_machine(machine: Machine, opt_level: int) -> Any:
    """LLVM's object for a machine; raises ConfigError for an architecture that it doesn't have."""
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
