"""EngineConfig: what can be chosen of a compile."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self, cast

from typing_extensions import Unpack, override

from ..dialects.arguments import (
    check_choice,
    check_integer,
    check_kind,
    check_options,
    checked_mapping,
    checked_sequence,
    wrong,
)
from ..dialects.errors import ConfigError
from ..dialects.kernel.gpus import GPUS, PRECISIONS
from ..dialects.threads import MOST_THREADS
from .control_groups import cpu_limit
from .device import device_named
from .options import CompileOptions
from .profile import OptimizationProfile
from .reprs import chosen_fields

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

VECTOR_BITS = (128, 256, 512)
MOST_ALIGNMENT = 2**30  # bytes
MOST_COMPILERS = 16  # more would wait for parts
EMULATORS = ("interpreter", "compiled")
WINOGRAD = ("auto", "compact", "off")
CPU_OPTIONS = (
    "threads",
    "compile_threads",
    "vector_bits",
    "integer_products",
    "winograd",
    "profile",
    "enable_dynamic_shapes",
    "caches",
    "tuned",
)
GPU_OPTIONS = ("precision", "gpu", "cache_kernels")


@dataclass(frozen=True, repr=False)
class EngineConfig:
    """Options of `compile`.

    device: "cpu", "cuda", an NVIDIA GPU through CuPy, or "cuda-emulated", the same kernels without one.
    device_id: which device of that kind, from 0 on.
    threads: most threads of one inference; None means the cores that this process may run on, or the cores' worth of
        time that its container has, if that is less. More than those cores are never used. A model, and each step of
        it, gets no more than its work is worth: plan.threads tells. CPU only.
    compile_threads: processes that compile, this one included; None means as many as there are cores. The code is the
        same however many they are. CPU only.
    precision: of products on a GPU: "fp32", or, faster, of numbers rounded to "tf32", "fp16" or "bf16", or of three
        products "3xtf32", which together are nearly "fp32". Sums are of 32 bits.
    gpu: the GPU that code is made for, such as "sm_90a"; None means the one that there is, or where there is none, and
        none is needed, "sm_80".
    cache_kernels: keep the machine code of a GPU's kernels among the user's caches ($XDG_CACHE_HOME, or ~/.cache), by
        their text: those that were compiled before are not compiled again.
    emulator: how "cuda-emulated" runs kernels: "interpreter" checks every access, "compiled" runs their CUDA text as
        C++; None means "interpreter".
    profile: the shapes that inputs may have, an OptimizationProfile: one compile does for all of them. CPU only.
    enable_dynamic_shapes: dynamic dimensions that nothing is said of may have any size: the model is compiled at the
        first call, for shapes like its own. Not beside a profile. CPU only.
    dims: sizes for the model's named dynamic dimensions, such as {"batch": 1}.
    shapes: whole shapes by input name, where dimensions have no names.
    specialize: values by input name, such as {"axes": np.array([1])}, for what shapes hang on, or what is always the
        same: these inputs are constants of the compiled model, and no inputs of it any more.
    caches: inputs by name, and for each the output that is to lie in the same memory, such as {"past": "present"}: a
        run changes that memory, and what stays is not moved. Where the output is longer than the input, the memory has
        room for the longest of the profile. CPU only.
    enable_graph_optimization: recomposition, folding into neighbours, channels-last and fusion; off, every ONNX op
        is a kernel of its own.
    integer_products: products of quantised numbers are of integers; off, of the floats that they stand for. CPU only.
    tuned: take what the tuner has measured on this machine (`compile(..., tune=seconds)`, `mini-infer tune`); off,
        kernels are carried out as estimates say, which are the same on every machine of a kind. CPU only.
    winograd: 3x3 convolutions with fewer multiplications: "auto", where that is faster; "compact", where the larger
        filters pay, so that a little slower ways are taken for a lot less memory; "off", nowhere. Their sums round
        more than those of others do. CPU only.
    enable_memory_planning: reuse of memory; off, every intermediate has bytes of its own.
    enable_profiling: time every kernel; read the times with `ExecutionContext.profile`. Not on "cuda-emulated".
    memory_alignment: bytes, a power of two of at least 8; where every buffer of the arena starts.
    max_workspace_size: bytes; a plan whose arena is larger is refused, naming the tensors that are too large together.
        None means what the machine's memory holds, with inputs and outputs.
    planner: strategy of plan-arena, such as "auto" or "greedy-by-size".
    disable_inplace: graph ops, such as ("add", "mul"), whose kernels write no result over an operand.
    check_memory: run every inference on poisoned memory and compare it, bit for bit, with one that reuses no byte; for
        finding mistakes of mini_infer, many times slower. CPU only.
    beam_width: partial plans that the planner "beam" keeps; None means 8.
    vector_bits: width of the vectors in generated code; None means the widest that the host has. CPU only.
    """

    device: str = "cpu"
    device_id: int = 0
    threads: int | None = None
    compile_threads: int | None = None
    profile: OptimizationProfile | None = None
    enable_dynamic_shapes: bool = False
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    specialize: Mapping[str, ArrayLike] = field(default_factory=dict[str, Any])
    caches: Mapping[str, str] = field(default_factory=dict[str, str])
    enable_graph_optimization: bool = True
    integer_products: bool = True
    tuned: bool = True
    winograd: str = "auto"
    enable_memory_planning: bool = True
    enable_profiling: bool = False
    memory_alignment: int = 256
    max_workspace_size: int | None = None
    planner: str = "auto"
    beam_width: int | None = None
    vector_bits: int | None = None
    disable_inplace: Sequence[str] = ()
    check_memory: bool = False
    precision: str = "fp32"
    gpu: str | None = None
    cache_kernels: bool = True
    emulator: str | None = None

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Looks at the options' names before the initialiser does, whose error would be Python's own."""
        check_options(options, [each.name for each in fields(cls)])
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check_integer("device_id", self.device_id, 0)
        check_kind("device", self.device, str)
        for each in fields(self):
            if isinstance(each.default, bool) and not isinstance(getattr(self, each.name), bool):
                raise wrong(each.name, getattr(self, each.name), "True or False")
        self._check_device(device_named(self.place).kind)
        for name in ("threads", "compile_threads"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1)
        check_integer("memory_alignment", self.memory_alignment, 8)
        if self.memory_alignment & (self.memory_alignment - 1) or self.memory_alignment > MOST_ALIGNMENT:
            raise ConfigError(
                f"memory_alignment is {self.memory_alignment}; it must be a power of two of at most {MOST_ALIGNMENT}"
            )
        if self.max_workspace_size is not None:
            check_integer("max_workspace_size", self.max_workspace_size, 0)
        check_choice("vector_bits", self.vector_bits, (None, *VECTOR_BITS))
        self._check_planning()
        for name, size in checked_mapping("dims", self.dims, "dimensions to sizes").items():
            check_integer(f"dims: '{name}'", size, 0)
        for name, shape in checked_mapping("shapes", self.shapes, "inputs to shapes").items():
            for size in checked_sequence(f"shapes: '{name}'", shape, "a sequence of sizes"):
                check_integer(f"shapes: a dimension of '{name}'", size, 0)
        checked_mapping("specialize", self.specialize, "inputs to values")
        for past, present in checked_mapping("caches", self.caches, "inputs to outputs").items():
            if not isinstance(cast("object", present), str):
                raise wrong(f"caches: '{past}'", present, "an output's name")
        if self.profile is not None:
            check_kind("profile", self.profile, OptimizationProfile)
        if self.profile is not None and self.enable_dynamic_shapes:
            raise ConfigError(
                "enable_dynamic_shapes leaves open what a profile gives ranges to; only one of them is taken"
            )
        if self.is_dynamic and self.check_memory:
            raise ConfigError("check_memory is for one shape; with a profile, or dynamic shapes, there are many")

    def _check_device(self, kind: str) -> None:
        """Raises ConfigError for an option that the device hasn't got."""
        check_choice("precision", self.precision, PRECISIONS)
        check_choice("gpu", self.gpu, (None, *GPUS))
        check_choice("emulator", self.emulator, (None, *EMULATORS))
        check_choice("winograd", self.winograd, WINOGRAD)
        foreign = GPU_OPTIONS if kind == "cpu" else CPU_OPTIONS
        if not self.device.startswith("cuda-emulated"):
            foreign = (*foreign, "emulator")
        for name in foreign:
            if getattr(self, name) != getattr(type(self), name, {}):  # mappings have no default there
                raise ConfigError(f"{name} does nothing on the device '{self.device}'")

    def _check_planning(self) -> None:
        if (
            not isinstance(cast("object", self.planner), str) or self.planner != "auto"
        ):  # who only loads what was compiled needs no planner
            from ..passes.planning import STRATEGIES

            check_choice("planner", self.planner, STRATEGIES)
        if self.beam_width is not None:
            check_integer("beam_width", self.beam_width, 1)
        named = cast("object", self.disable_inplace)
        listed = isinstance(named, Iterable) and not isinstance(named, str)
        if not listed or not all(isinstance(op, str) for op in cast("Iterable[object]", named)):
            raise wrong("disable_inplace", self.disable_inplace, "a sequence of graph ops")
        if pair := useless(vars(self)):
            option, beside = pair
            raise ConfigError(f"{option} does nothing with {beside}={getattr(self, beside)!r}")

    @classmethod
    def of(cls, *, threads: int | None = None, **options: Unpack[CompileOptions]) -> EngineConfig:
        """A configuration from keyword arguments; raises ConfigError naming an option that does not exist."""
        return cls(threads=threads, **options)

    @override
    def __repr__(self) -> str:
        return chosen_fields(self)

    @property
    def place(self) -> str:
        """The device's name with its number, such as "cuda:1"; that of number 0 goes without."""
        return f"{self.device}:{self.device_id}" if self.device_id else self.device.removesuffix(":0")

    @property
    def is_dynamic(self) -> bool:
        """Whether one compile is to do for several shapes."""
        return self.profile is not None or self.enable_dynamic_shapes

    @property
    def thread_count(self) -> int:
        """The most threads that there may be: as many as were asked for, but no more than there are cores.

        Unless told otherwise, as many as this process has cores and its control group has time for.
        """
        return min(_usable_cores() if self.threads is None else int(self.threads), _cores(), MOST_THREADS)

    @property
    def compiler_count(self) -> int:
        """How many processes compile, this one included."""
        return min(_usable_cores() if self.compile_threads is None else int(self.compile_threads), MOST_COMPILERS)


def _usable_cores() -> int:
    """Cores that this process may run on, or the cores' worth of time that a container leaves it, if that is less."""
    return min(_cores(), cpu_limit() or MOST_THREADS)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def useless(options: Mapping[str, Any]) -> tuple[str, str] | None:
    """An option of EngineConfig that was given and would do nothing, and the one beside which it would not."""
    chosen = {"planner": options["planner"] != "auto", "beam_width": options["beam_width"] is not None}
    chosen["disable_inplace"] = bool(options["disable_inplace"])
    if not options["enable_memory_planning"]:
        return next(((name, "enable_memory_planning") for name, given in chosen.items() if given), None)
    return ("beam_width", "planner") if chosen["beam_width"] and options["planner"] != "beam" else None
