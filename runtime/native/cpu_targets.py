"""CPU targets of code generation: the host, or a CPU by LLVM's name.

A CPU's features are determined by compiling probes with LLVM and inspecting the code, as its tables are not accessible:
the vector width it uses, and the operations for which it calls a helper.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from dataclasses import dataclass, replace
from functools import cache

from ...dialects.errors import ConfigError
from ...dialects.kernel.targets import BF16_DOTS, BYTE_DOTS, CPU_FEATURES, MATRIX_PRODUCTS, CpuAttr, gflops_of
from ..config import EngineConfig
from ..machine_facts import USUAL_CACHE, cache_bytes, may_use_amx
from .llvmlite_calls import Machine, binding, emit_assembly, target_machine

_HELPERS = {"fma": "fmaf", "half": "truncsfhf2", "round": "roundevenf"}
"""Named features of a target, and the helper that LLVM calls on a CPU without them."""
_QUESTIONS = """
define void @width(ptr %p) {
  %v = load <16 x i32>, ptr %p
  %w = add <16 x i32> %v, splat (i32 1)
  store <16 x i32> %w, ptr %p
  ret void
}
define float @fma(float %a, float %b, float %c) {
  %r = call float @llvm.fma.f32(float %a, float %b, float %c)
  ret float %r
}
define i16 @half(float %a) {
  %h = fptrunc float %a to half
  %r = bitcast half %h to i16
  ret i16 %r
}
define float @round(float %a) {
  %r = call float @llvm.roundeven.f32(float %a)
  ret float %r
}
"""
_PRODUCTS_OF_BYTES = """
define i32 @{name}(ptr %p, ptr %q) {{
  %a = load <64 x i8>, ptr %p
  %b = load <64 x i8>, ptr %q
  %x = {first} <64 x i8> %a to <64 x i32>
  %y = sext <64 x i8> %b to <64 x i32>
  %z = mul <64 x i32> %x, %y
  %r = call i32 @llvm.vector.reduce.add.v64i32(<64 x i32> %z)
  ret i32 %r
}}
"""
_ROUNDED_TO_BF16 = """
define <16 x bfloat> @rounded(<16 x float> %x) {
  %r = fptrunc <16 x float> %x to <16 x bfloat>
  ret <16 x bfloat> %r
}
"""
"""What came with products of bf16, of which LLVM makes none by itself."""
_REVERSED_BYTES = f"""
define <16 x i8> @reversed(<16 x i8> %x) {{
  %r = shufflevector <16 x i8> %x, <16 x i8> poison, <16 x i32> <{", ".join(f"i32 {15 - byte}" for byte in range(16))}>
  ret <16 x i8> %r
}}
"""
"""What pshufb does, which came with pmaddubsw: LLVM finds no use for the latter by itself."""


_AMX = {"tdpbf16ps": "amx-bf16", "tdpbusd": "amx-int8"}
"""LLVM's names of the features that the matrix instructions belong to."""
_WITH_AMX = {"sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d", "diamondrapids"}
"""CPUs that have AMX, by LLVM's names; code without intrinsics doesn't tell, as LLVM makes no tiles of it by itself."""
_UNIT_BITS = {"znver1": 128, "znver4": 256}
"""Width of each of the two multiply-add units where it is narrower than a register, which then takes two cycles."""
_ONE_UNIT = {"cannonlake", "icelake-client", "rocketlake", "tigerlake"}
"""CPUs with one unit of 512 bits, or two of 256."""


@dataclass(frozen=True)
class CpuTarget:
    """A CPU for code generation; `features` are those of #kernel.cpu, `l2_bytes` a core's second-level cache."""

    name: str
    machine: Machine
    vector_bits: int
    registers: int
    features: frozenset[str]
    l2_bytes: int

    @property
    def unit_bits(self) -> int:
        """Width in bits of one of two multiply-add units: half of a core's throughput per cycle."""
        name = self.name.rpartition(":")[2]
        return min(self.vector_bits, 256 if name in _ONE_UNIT else _UNIT_BITS.get(name, self.vector_bits))

    def narrowed(self, vector_bits: int) -> CpuTarget:
        """The same CPU with code for narrower (or wider) vectors; other features stay."""
        if vector_bits == self.vector_bits:
            return self
        if vector_bits > self.vector_bits:
            registers = self.registers * self.vector_bits // vector_bits
            features = self.features.difference(BYTE_DOTS, BF16_DOTS, MATRIX_PRODUCTS)
            return replace(self, vector_bits=vector_bits, registers=registers, features=features)
        registers = self.registers
        machine, features = self.machine, self.features
        if self.vector_bits == 512:  # x86 has the upper 16 registers only with AVX-512
            registers = min(registers, 16)
            machine = replace(machine, features=",".join(filter(None, (machine.features, "-avx512f"))))
            features = features.difference(BYTE_DOTS, BF16_DOTS, MATRIX_PRODUCTS) | _byte_dots(machine, "ymm")
        return replace(self, vector_bits=vector_bits, registers=registers, machine=machine, features=features)


def cpu_target(name: str) -> CpuTarget:
    """The target of a CPU: "" is the host, "znver5" one of its architecture, "aarch64-linux-gnu:neoverse-n1" any.

    Before the colon stands LLVM's target triple. Raises ConfigError for a CPU that LLVM doesn't know.
    """
    host = host_target()
    return host if name in ("", host.name) else _named(name)


def target_attribute(config: EngineConfig, cpu_name: str = "") -> CpuAttr:
    """The target attribute of a module: the host or a named CPU, with the configured threads and vector width."""
    cpu = cpu_target(cpu_name)
    if config.reproducible:
        limits = {**CpuAttr.REFERENCE, "threads": config.thread_count}
        features = sorted(cpu.narrowed(limits["vector_bits"]).features)
        return CpuAttr.of(cpu=cpu.name, reproducible=True, features=features, **limits)
    cpu = cpu.narrowed(config.vector_bits or cpu.vector_bits)
    return CpuAttr.of(
        cpu=cpu.name,
        features=sorted(cpu.features),
        vector_bits=cpu.vector_bits,
        registers=cpu.registers,
        l2=cpu.l2_bytes,
        threads=config.thread_count,
        gflops=gflops_of(cpu.unit_bits),
    )


def apart_from_host(target: CpuAttr) -> str:
    """How a target differs from the host, apart from the number of threads: "vector_bits = 128 instead of 512, ...".

    "" if it doesn't.
    """
    host = target_attribute(EngineConfig())
    pairs = {"cpu": (target.cpu.data, host.cpu.data)}
    pairs |= {name: (limit, host.limits()[name]) for name, limit in target.limits().items() if name != "threads"}
    parts = [f"{name} = {here} instead of {there}" for name, (here, there) in pairs.items() if here != there]
    missing = [each for each in CPU_FEATURES if host.has(each) and not target.has(each)]
    further = [each for each in CPU_FEATURES if target.has(each) and not host.has(each)]
    parts += [f"{word} {', '.join(these)}" for word, these in (("without", missing), ("with", further)) if these]
    return ", ".join(parts)


def plainest_cpu() -> str:
    """The baseline CPU of the host's architecture, whose code runs on all of them."""
    return "x86-64" if Machine().architecture == "x86_64" else "generic"


@cache
def host_target() -> CpuTarget:
    """The CPU that this process runs on."""
    llvm = binding()
    said = llvm.get_host_cpu_features()
    machine = Machine("", llvm.get_host_cpu_name(), said.flatten())
    target = _target(machine.cpu, machine, cache_bytes(2) or USUAL_CACHE)
    has_amx = said.get("amx-tile", False) and may_use_amx()
    amx = {name for name, feature in _AMX.items() if has_amx and said.get(feature, False)}
    return replace(target, features=target.features.difference(MATRIX_PRODUCTS) | amx)


def machine_of(target: CpuAttr) -> Machine:
    """LLVM's description of a module's target CPU. Raises ConfigError for a CPU that LLVM doesn't know."""
    return cpu_target(target.cpu.data).narrowed(target.vector_bits.data).machine


@cache
def _named(name: str) -> CpuTarget:
    triple, _, cpu = name.rpartition(":")
    x86 = (triple or binding().get_default_triple()).startswith("x86_64")
    # Names of x86 CPUs include 32-bit ones, for which LLVM would abort the process.
    machine = Machine(triple, cpu, "+64bit,+sse2" if x86 else "")
    _check_name(machine)
    return _target(name, machine, USUAL_CACHE)


def _target(name: str, machine: Machine, l2_bytes: int) -> CpuTarget:
    code = emit_assembly(_QUESTIONS, machine, opt_level=0)
    features = frozenset(feature for feature, helper in _HELPERS.items() if helper not in code)
    x86 = "%rdi" in code
    register = next((name for name in ("zmm", "ymm") if f"%{name}" in code), "xmm")
    features |= _byte_dots(machine, register) | _bf16_dots(machine)
    features |= frozenset(_AMX if machine.cpu in _WITH_AMX else ())
    width, registers = (512, 32) if "%zmm" in code else (256, 16) if "%ymm" in code else (128, 16 if x86 else 32)
    return CpuTarget(name, machine, width, registers, features, l2_bytes)


def _byte_dots(machine: Machine, register: str) -> frozenset[str]:
    """The byte dot-product instructions that the CPU has for its vectors; x86 calls those registers `register`."""
    text = "".join(_PRODUCTS_OF_BYTES.format(name=name, first=name) for name in ("sext", "zext"))
    code = emit_assembly(text, machine, opt_level=0 if machine.architecture == "x86_64" else 2)
    found = {name for name in BYTE_DOTS if re.search(rf"\bv?{name}\s[^\n]*%{register}|\b{name}[.\w]*\s+v", code)}
    if "vpdpbusd" in found:
        found.add("pmaddwd")
    shuffles = "pmaddwd" in found and "pshufb" in emit_assembly(_REVERSED_BYTES, machine, opt_level=0)
    return frozenset(found | {"pmaddubsw"} if shuffles else found)


def _bf16_dots(machine: Machine) -> frozenset[str]:
    """The instruction that the CPU has for products of bf16 in its vectors."""
    code = emit_assembly(_ROUNDED_TO_BF16, machine, opt_level=0)
    found = {"vdpbf16ps": r"vcvtneps2bf16\s[^\n]*%zmm", "bfdot": r"\bbfcvtn\b"}
    return frozenset(name for name, conversion in found.items() if re.search(conversion, code))


def _check_name(machine: Machine) -> None:
    """Raises ConfigError for a name unknown to LLVM, which only warns on stderr and uses no CPU."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as told:
        os.dup2(told.fileno(), 2)
        try:
            target_machine(machine, 0)
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        told.seek(0)
        if b"is not a recognized processor" in told.read():
            raise ConfigError(f"LLVM knows no CPU '{machine.cpu}' for {machine.triple or 'this architecture'}")
