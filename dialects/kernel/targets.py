"""The compilation target: a CPU or GPU with the limits that schedules use. Module attribute `kernel.target`.

    #kernel.cpu<"znver3" has ["fma", "half", "pmaddwd", "round"], vector_bits = 256, registers = 16, l2 = 524288,
                threads = 2, gflops = 128, gbytes = 40>
    #kernel.cpu<"znver3" reproducible has ["fma"], vector_bits = 512>
    #kernel.gpu<"sm_90a" computing "tf32", multiprocessors = 132, shared = 232448, registers = 65536, l2 = 52428800,
                gflops = 67000, tensor_gflops = 494000, gbytes = 4300>

A limit that is left out takes the value of a portable machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeAlias

from typing_extensions import override
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..errors import CompileError, ConfigError
from ..threads import MOST_THREADS
from .gpus import GPUS, PRECISIONS

BYTE_DOTS = ("pmaddubsw", "pmaddwd", "sdot", "usdot", "vpdpbusd")
"""Instructions that add up products of bytes, or of 16 bits, in registers of `vector_bits` (see byte_dots.py)."""
BF16_DOTS = ("bfdot", "vdpbf16ps")
"""Instructions that add up products of pairs of bf16 in f32 (see bf16_dots.py): ARM's and AVX-512's."""
MATRIX_PRODUCTS = {"tdpbf16ps": 2, "tdpbusd": 1}
"""Instructions that multiply tiles of a matrix (see amx.py), and the bytes of an element: Intel's AMX."""
CPU_FEATURES = ("fma", "half", "round", *BYTE_DOTS, *BF16_DOTS, *MATRIX_PRODUCTS)
"""Products and sums in one rounding; f16 to f32 and back; rounding to a whole number; and instructions by name."""


def _parse_limits(parser: AttrParser, known: Sequence[str]) -> dict[str, int]:
    """Parses `, key = integer` repeatedly; each key must be known and appear at most once."""
    limits: dict[str, int] = {}
    while parser.parse_optional_punctuation(","):
        key = parser.parse_identifier()
        if key not in known:
            parser.raise_error(f"there is no limit '{key}'; there are {', '.join(known)}")
        if key in limits:
            parser.raise_error(f"{key} is given twice")
        parser.parse_punctuation("=")
        limits[key] = parser.parse_integer(allow_boolean=False)
    return limits


def _verify_limits(limits: dict[str, int]) -> None:
    for key, value in limits.items():
        if value < 1:
            raise VerifyException(f"there are {value} {key}; it must be at least 1")


def gflops_of(unit_bits: int) -> int:
    """GFLOP/s of two multiply-add units of `unit_bits` bits at 4 GHz: 256 for 512 bits (262 measured on Zen 5)."""
    return max(1, 16 * unit_bits // 32)


@irdl_attr_definition
class CpuAttr(ParametrizedAttribute):
    """A CPU target.

    `cpu` is LLVM's name of the CPU, prefixed by a target triple and a colon where the architecture is not the host's.
    `features` are those of CPU_FEATURES for which it has instructions.

    `vector_bits` is the width of a vector register, `registers` their number, `l2` the bytes of a core's second-level
    cache, `threads` the number of threads of one inference, `gflops` the f32 operations per nanosecond of one core,
    `gbytes` the bytes per nanosecond between a core and its caches; both as reached by matrix products and copies.

    `reproducible`: results have the same bits as on every other CPU with these limits, and an entry of a batch those
    that it has alone.
    """

    name = "kernel.cpu"
    CACHE_LINE: ClassVar[int] = 64
    """Bytes of a cache line."""
    L1_WAY: ClassVar[int] = 4096
    """Bytes of one way of a first-level cache: lines a multiple of it apart are in the same set."""
    L1_WAYS: ClassVar[int] = 12
    """Lines of a set, on the CPUs with the tallest tiles: 196 x 1024 x 256 runs at 244 GFLOP/s in tiles of 12 rows and
    at 233 in tiles of 14 (Zen 5)."""
    LATENCY: ClassVar[int] = 8
    """Multiply-adds that can begin while one ends: four cycles at two per cycle (Zen 5)."""
    LIMITS: ClassVar[tuple[str, ...]] = ("vector_bits", "registers", "l2", "threads", "gflops", "gbytes")
    REFERENCE: ClassVar[Mapping[str, int]] = {
        "vector_bits": 512,
        "registers": 32,
        "l2": 1 << 20,
        "gflops": gflops_of(512),
    }
    """The limits of every CPU whose results are reproducible: those of a Zen 5."""

    cpu: StringAttr
    is_reproducible: BoolAttr
    features: ArrayAttr[StringAttr]
    vector_bits: IntAttr
    registers: IntAttr
    l2: IntAttr
    threads: IntAttr
    gflops: IntAttr
    gbytes: IntAttr

    @classmethod
    def of(
        cls,
        *,
        cpu: str = "generic",
        reproducible: bool = False,
        features: Sequence[str] = (),
        vector_bits: int = 128,
        registers: int = 16,
        l2: int = 512 << 10,
        threads: int = 1,
        gflops: int | None = None,
        gbytes: int = 40,
    ) -> CpuAttr:
        """A target from Python values.

        The default speed is that of units as wide as the vector registers, and the rate at which a matrix-vector
        product reads weights (39 to 43 bytes per nanosecond measured on Zen 5).
        """
        gflops = gflops_of(vector_bits) if gflops is None else gflops
        named = ArrayAttr(StringAttr(feature) for feature in features)
        ints = (vector_bits, registers, l2, threads, gflops, gbytes)
        flag = BoolAttr.from_bool(reproducible)
        return cls(StringAttr(cpu), flag, named, *(IntAttr(value) for value in ints))

    @property
    def reproducible(self) -> bool:
        """Whether the order of every sum is that of all CPUs, and of all sizes of a batch."""
        return bool(self.is_reproducible)

    @property
    def device(self) -> str:
        """The device's key in tables of schedules and fusion rules: "cpu"."""
        return "cpu"

    def limits(self) -> dict[str, int]:
        """The numeric limits, by name."""
        return {key: value.data for key, value in zip(self.LIMITS, self._numbers(), strict=True)}

    def _numbers(self) -> tuple[IntAttr, ...]:
        return (self.vector_bits, self.registers, self.l2, self.threads, self.gflops, self.gbytes)

    def on(self, cpu: str) -> CpuAttr:
        """The same target for another CPU, so that the same schedules are compiled to its instructions."""
        return CpuAttr(StringAttr(cpu), self.is_reproducible, self.features, *self._numbers())

    def with_threads(self, threads: int) -> CpuAttr:
        """The same target with another number of threads."""
        return CpuAttr.of(
            cpu=self.cpu.data,
            reproducible=self.reproducible,
            features=[each.data for each in self.features],
            **{**self.limits(), "threads": threads},
        )

    def has(self, feature: str) -> bool:
        """Whether the CPU has instructions for a feature of CPU_FEATURES."""
        assert feature in CPU_FEATURES
        return StringAttr(feature) in self.features.data

    def byte_dot(self, alike: bool, narrow: bool = False) -> str:
        """The byte dot-product instruction for operands of one signedness (`alike`) or of two; "" without one.

        With `narrow`, one operand is signed, and the other one's numbers are from 0 to 127.
        """
        wanted = ("sdot", "pmaddwd") if alike else ("vpdpbusd", "usdot", "pmaddwd")
        wanted = ("vpdpbusd", "sdot", "pmaddubsw", "pmaddwd") if narrow else wanted
        return next((each for each in wanted if self.has(each)), "")

    def byte_speed(self, alike: bool, narrow: bool = False) -> float:
        """The throughput of that instruction relative to multiply-adds of f32."""
        speeds = {"vpdpbusd": 4, "usdot": 4, "sdot": 4, "pmaddubsw": 2, "pmaddwd": 1.4, "": 0.5}
        return speeds["vpdpbusd" if self.reproducible else self.byte_dot(alike, narrow)]

    @property
    def multiplies_bf16(self) -> bool:
        """Whether it has an instruction for products of bf16."""
        return any(map(self.has, BF16_DOTS))

    @property
    def bf16_speed(self) -> float:
        """The throughput of that instruction relative to multiply-adds of f32 (526 GFLOP/s by 265 on Zen 5)."""
        return 2 if self.multiplies_bf16 else 0.5

    def multiplies_tiles(self, element_bytes: int) -> bool:
        """Whether it has an instruction for products of tiles with elements of that many bytes: bf16, or bytes."""
        names = [name for name, size in MATRIX_PRODUCTS.items() if size == element_bytes]
        return self.vector_bits.data == 512 and any(map(self.has, names))

    def matrix_speed(self, element_bytes: int) -> float:
        """The throughput of that instruction relative to multiply-adds of f32: half of its peak; not measured.

        8192 products of bf16, of 16 rows by 16 columns, take 16 cycles, in which two units of 512 bits make 512 of f32.
        """
        return 16 / element_bytes

    @property
    def far_bytes(self) -> int:
        """Bytes of the largest value that stays in a cache until the next kernel: eight second-level caches."""
        return 8 * self.l2.data

    def moving_speed(self, nbytes: int) -> int:
        """Bytes per nanosecond between a core and the nearest level of memory of that capacity (Zen 5).

        A core's own second-level cache is three times as fast as memory (120 GB/s), caches behind it, which hold what
        other kernels have just made, twice (80 GB/s).
        """
        return self.gbytes.data * (3 if nbytes <= self.l2.data else 2 if nbytes <= self.far_bytes else 1)

    def lanes(self, element_bits: int) -> int:
        """Number of `element_bits`-wide lanes of a vector register."""
        return max(1, self.vector_bits.data // element_bits)

    @override
    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            cpu = parser.parse_str_literal()
            reproducible = parser.parse_optional_keyword("reproducible") is not None
            features: Sequence[str] = ()
            if parser.parse_optional_keyword("has"):
                features = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)
            return cls.of(
                cpu=cpu, reproducible=reproducible, features=features, **_parse_limits(parser, cls.LIMITS)
            ).parameters

    @override
    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.cpu.data)
            if self.reproducible:
                printer.print_string(" reproducible")
            if self.features.data:
                printer.print_string(" has ")
                printer.print_attribute(self.features)
            for key, value in self.limits().items():
                printer.print_string(f", {key} = {value}")

    @override
    def verify(self) -> None:
        bits = self.vector_bits.data
        if bits < 8 or bits & (bits - 1):
            raise VerifyException(f"vectors have {bits} bits; it must be a power of two of at least 8")
        if unknown := [each.data for each in self.features if each.data not in CPU_FEATURES]:
            raise VerifyException(f"there is no feature {', '.join(unknown)}; there are {', '.join(CPU_FEATURES)}")
        _verify_limits({key: value for key, value in self.limits().items() if key != "l2"})
        if self.threads.data > MOST_THREADS:
            raise VerifyException(f"there are {self.threads.data} threads; it must be at most {MOST_THREADS}")


@irdl_attr_definition
class GpuAttr(ParametrizedAttribute):
    """An NVIDIA GPU target.

    `architecture` is the compiler's name for it (`sm_90a`), `precision` that of f32 matrix products, one of PRECISIONS.

    `multiprocessors`: their number. `shared`: bytes of shared memory a block may have. `registers`: 32-bit registers
    per multiprocessor. `l2`: bytes of the device's cache. `gflops`: f32 operations per nanosecond of the whole device.
    `tensor_gflops`: tf32 operations per nanosecond of its tensor cores, which reach twice as many in 16 bits. `gbytes`:
    bytes per nanosecond between the device and its memory.
    """

    name = "kernel.gpu"
    WARP: ClassVar[int] = 32
    """Lanes of a warp."""
    ACCESS: ClassVar[int] = 16
    """Bytes of a thread's widest access, in memory and in shared memory."""
    SECTOR: ClassVar[int] = 32
    """Bytes of the least access to memory. Neighbours that are read later cost half of that."""
    BANKS: ClassVar[int] = 128
    """Bytes that a multiprocessor reads of its shared memory in a cycle."""
    THREADS: ClassVar[int] = 2048
    """Threads that a multiprocessor holds: of architectures 8.0, 9.0 and 10.0 (CUDA programming guide, table of compute
    capabilities); 12 more have fewer."""
    RESIDENT: ClassVar[int] = 32
    """Blocks that a multiprocessor holds at most."""
    BLOCK_THREADS: ClassVar[int] = 1024
    """Threads of a block at most."""
    LIMITS: ClassVar[tuple[str, ...]] = (
        "multiprocessors",
        "shared",
        "registers",
        "l2",
        "gflops",
        "tensor_gflops",
        "gbytes",
    )

    architecture: StringAttr
    precision: StringAttr
    multiprocessors: IntAttr
    shared: IntAttr
    registers: IntAttr
    l2: IntAttr
    gflops: IntAttr
    tensor_gflops: IntAttr
    gbytes: IntAttr

    @classmethod
    def of(
        cls,
        *,
        architecture: str = "sm_80",
        precision: str = "fp32",
        multiprocessors: int = 108,
        shared: int = 163 << 10,
        registers: int = 64 << 10,
        l2: int = 40 << 20,
        gflops: int = 19_500,
        tensor_gflops: int = 156_000,
        gbytes: int = 1_555,
    ) -> GpuAttr:
        """A target from Python values; the defaults are an A100's, from its datasheet."""
        ints = (multiprocessors, shared, registers, l2, gflops, tensor_gflops, gbytes)
        return cls(StringAttr(architecture), StringAttr(precision), *(IntAttr(value) for value in ints))

    @classmethod
    def named(cls, architecture: str, precision: str = "fp32") -> GpuAttr:
        """The representative target of an architecture. Raises ConfigError for an unknown architecture or precision."""
        if architecture not in GPUS:
            raise ConfigError(f"there is no GPU architecture '{architecture}'; there are {', '.join(GPUS)}")
        if precision not in PRECISIONS:
            raise ConfigError(f"there is no precision '{precision}'; there are {', '.join(PRECISIONS)}")
        return cls.of(architecture=architecture, precision=precision, **GPUS[architecture])

    @property
    def device(self) -> str:
        """The device's key in tables of schedules and fusion rules: "cuda"."""
        return "cuda"

    @property
    def has_clusters(self) -> bool:
        """Whether blocks can form clusters, which read each other's shared memory: from architecture 9.0 on."""
        number = re.match(r"sm_(\d+)", self.architecture.data)
        return number is not None and int(number[1]) >= 90

    @property
    def threads(self) -> IntAttr:
        """Number of workers of one inference that need scratch of their own: 1, as launches form one stream."""
        return IntAttr(1)

    def limits(self) -> dict[str, int]:
        """The numeric limits, by name."""
        ints = (
            self.multiprocessors,
            self.shared,
            self.registers,
            self.l2,
            self.gflops,
            self.tensor_gflops,
            self.gbytes,
        )
        return {key: value.data for key, value in zip(self.LIMITS, ints, strict=True)}

    @override
    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            architecture, precision = parser.parse_str_literal(), "fp32"
            if parser.parse_optional_keyword("computing"):
                precision = parser.parse_str_literal()
            limits = _parse_limits(parser, cls.LIMITS)
            return cls.of(architecture=architecture, precision=precision, **limits).parameters

    @override
    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.architecture.data)
            if self.precision.data != "fp32":
                printer.print_string(" computing ")
                printer.print_string_literal(self.precision.data)
            for key, value in self.limits().items():
                printer.print_string(f", {key} = {value}")

    @override
    def verify(self) -> None:
        if self.precision.data not in PRECISIONS:
            raise VerifyException(f"there is no precision '{self.precision.data}'; there are {', '.join(PRECISIONS)}")
        _verify_limits(self.limits())


Target: TypeAlias = CpuAttr | GpuAttr


def target_of(module: Operation) -> Target:
    """The module's `kernel.target`; without one, a portable CPU (128-bit vectors, one thread).

    Raises CompileError if the attribute is neither a CPU nor a GPU.
    """
    target = module.attributes.get("kernel.target")
    if target is None:
        return CpuAttr.of()
    if not isinstance(target, CpuAttr | GpuAttr):
        raise CompileError(f"the module is for {target}, which is not a supported target")
    return target


def cpu_of(module: Operation) -> CpuAttr:
    """The module's CPU target. Raises CompileError if it is compiled for another device."""
    target = target_of(module)
    if not isinstance(target, CpuAttr):
        raise CompileError(f"the module is for {target}; these passes are for CPUs only")
    return target


def gpu_of(module: Operation) -> GpuAttr:
    """The module's GPU target. Raises CompileError if it is compiled for another device."""
    target = target_of(module)
    if not isinstance(target, GpuAttr):
        raise CompileError(f"the module is for {target}; these passes are for GPUs only")
    return target
