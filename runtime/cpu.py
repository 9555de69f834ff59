"""LLVM through llvmlite: what the host is, text to object code for any CPU, object code to addresses.

All of LLVM is behind one lock of llvmlite's, so threads don't compile at the same time. Object code made
for one CPU runs on every CPU that has its features; nothing in it depends on where it is loaded.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..dialects.errors import CompileError

_OPENMP_LIBRARIES = (
    "libgomp.so.1",
    "libomp.so.5",
    "libomp.so",
    "libiomp5.so",
    "libomp.dylib",
    "libiomp5.dylib",
)
_MATH_LIBRARIES = ("libm.so.6", "libm.so", "libm.dylib")
_COMPILER_LIBRARIES = ("libgcc_s.so.1",)  # f16 on CPUs that can't convert it
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_SIZE_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class HostInfo:
    """A CPU as code generation sees it; the sizes of caches are in bytes, l3's that of the whole one."""

    cpu: str
    features: str
    vector_bits: int
    registers: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int


class LoadedCode:
    """Object code in memory; the addresses are valid as long as this object lives."""

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
    def load(cls, data: bytes) -> LoadedCode:
        """Loads object code; what it calls is looked for in the process and the libraries loaded into it."""
        binding = _binding()
        _load_first(_MATH_LIBRARIES)
        _load_first(_COMPILER_LIBRARIES)
        compiler = binding.create_lljit_compiler(_target_machine("", "", 3))
        builder = binding.JITLibraryBuilder().add_object_img(data).add_current_process()
        try:
            return cls(compiler, builder.link(compiler, cls._LIBRARY))
        except RuntimeError as error:
            raise CompileError(f"object code can't be loaded: {error}") from None


def load_object(data: bytes) -> LoadedCode:
    """Object code, ready to be called; what it calls is linked when an address is first asked for."""
    return LoadedCode.load(data)


@cache
def host_target() -> HostInfo:
    """The CPU that this process runs on."""
    binding = _binding()
    features = binding.get_host_cpu_features()
    on = {name for name, present in features.items() if present}
    vector_bits, registers = vector_registers(binding.get_default_triple(), on)
    l1, l2, l3 = (_cache_bytes(level) for level in (1, 2, 3))
    return HostInfo(binding.get_host_cpu_name(), features.flatten(), vector_bits, registers, l1, l2, l3)


def vector_registers(triple: str, features: set[str]) -> tuple[int, int]:
    """Bits of the widest vector register that code should use, and how many such registers there are."""
    if triple.startswith(("x86_64", "i686", "amd64")):
        if {"avx512f", "avx512vl"} <= features:
            return 512, 32
        return (256, 16) if {"avx2", "fma"} <= features else (128, 16)
    return 128, 32


def compile_to_object(ir_text: str, cpu: str, features: str, opt_level: int = 3, *, link: Sequence[str] = ()) -> bytes:
    """Position-independent object code of one module of LLVM IR text, with the modules of `link` linked in.

    `features` is LLVM's list such as "+avx2,-avx512f"; "" means what `cpu` implies. Raises CompileError with
    LLVM's message for text that isn't well-formed.
    """
    machine = _target_machine(cpu, features, opt_level)
    return bytes(machine.emit_object(_optimized(ir_text, machine, opt_level, link)))


def emit_assembly(ir_text: str, cpu: str, features: str, opt_level: int = 3, *, link: Sequence[str] = ()) -> str:
    """The assembly of what compile_to_object makes."""
    machine = _target_machine(cpu, features, opt_level)
    return str(machine.emit_assembly(_optimized(ir_text, machine, opt_level, link)))


def optimize_ir(ir_text: str, cpu: str, features: str, opt_level: int = 3, *, link: Sequence[str] = ()) -> str:
    """LLVM IR text after LLVM's optimisations, for reading."""
    machine = _target_machine(cpu, features, opt_level)
    return str(_optimized(ir_text, machine, opt_level, link))


@cache
def load_openmp() -> bool:
    """Loads an OpenMP library into the process; warns, once, where there is none."""
    if _load_first(_OPENMP_LIBRARIES):
        return True
    warnings.warn("no OpenMP library (libgomp, libomp or libiomp5) was found: models run on one thread", stacklevel=2)
    return False


@cache
def _load_first(names: tuple[str, ...]) -> bool:
    """Loads the first of these libraries that there is, in the usual places or among Python's packages."""
    binding = _binding()
    places = ["", f"{sys.prefix}/lib/", "/opt/homebrew/opt/libomp/lib/", "/usr/local/opt/libomp/lib/"]
    for name in names:
        for place in places:
            if place and not Path(place, name).exists():
                continue
            try:
                binding.load_library_permanently(place + name)
            except RuntimeError:
                continue
            return True
    return False


@cache
def _binding() -> Any:
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


def _target_machine(cpu: str, features: str, opt_level: int) -> Any:
    target = _binding().Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=opt_level, reloc="pic", codemodel="small")


def _optimized(ir_text: str, machine: Any, opt_level: int, link: Sequence[str]) -> Any:
    binding = _binding()
    modules: list[Any] = []
    for text in (ir_text, *link):
        try:
            module = binding.parse_assembly(text)
            module.verify()
        except RuntimeError as error:
            raise CompileError(f"LLVM refuses the IR: {error}") from None
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        modules.append(module)
    for module in modules[1:]:
        modules[0].link_in(module)
    options = binding.create_pipeline_tuning_options(speed_level=opt_level)
    options.loop_vectorization = opt_level >= 2
    options.slp_vectorization = opt_level >= 2
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(modules[0], builder)
    return modules[0]


def _cache_bytes(level: int) -> int:
    """Bytes of the data cache of a level: from the kernel's files, from the C library, or a common size."""
    for index in sorted(_CACHES.glob("index*")) if _CACHES.is_dir() else ():
        entry = {name: (index / name).read_text().strip() for name in ("level", "type", "size")}
        size = re.fullmatch(r"(\d+)([KMG]?)", entry["size"])
        if entry["level"] == str(level) and entry["type"] in ("Data", "Unified") and size:
            return int(size[1]) * _SIZE_UNITS[size[2]]
    name = "SC_LEVEL1_DCACHE_SIZE" if level == 1 else f"SC_LEVEL{level}_CACHE_SIZE"
    told = os.sysconf(name) if name in os.sysconf_names else 0
    return told if told > 0 else {1: 32 << 10, 2: 1 << 20, 3: 8 << 20}[level]
