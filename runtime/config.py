"""EngineConfig: what can be chosen of a compile."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import Unpack, override

from ..dialects.errors import ConfigError
from ..dialects.gpus import GPUS, PRECISIONS
from ..dialects.threads import MOST_THREADS
from .control_groups import cpu_limit
from .device import device_named
from .options import CompileOptions
from .profile import OptimizationProfile
from .summary import chosen_fields

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

    def __post_init__(self) -> None:
        _check_integer("device_id", self.device_id, 0)
        if not isinstance(cast("object", self.device), str):
            raise ConfigError(f"device is {self.device!r}; it must be a device's name")
        self._check_device(device_named(self.place).kind)
        for name in ("threads", "compile_threads"):
            if getattr(self, name) is not None:
                _check_integer(name, getattr(self, name), 1)
        _check_integer("memory_alignment", self.memory_alignment, 8)
        if self.memory_alignment & (self.memory_alignment - 1) or self.memory_alignment > MOST_ALIGNMENT:
            raise ConfigError(
                f"memory_alignment is {self.memory_alignment}; it must be a power of two of at most {MOST_ALIGNMENT}"
            )
        if self.max_workspace_size is not None:
            _check_integer("max_workspace_size", self.max_workspace_size, 0)
        if self.vector_bits not in (None, *VECTOR_BITS):
            raise ConfigError(
                f"vector_bits is {self.vector_bits!r}; it must be one of {', '.join(map(str, VECTOR_BITS))}"
            )
        for each in fields(self):
            if isinstance(each.default, bool) and not isinstance(getattr(self, each.name), bool):
                raise ConfigError(f"{each.name} is {getattr(self, each.name)!r}; it must be True or False")
        self._check_planning()
        for name, size in _mapping("dims", self.dims, "dimensions to sizes").items():
            _check_integer(f"dims: '{name}'", size, 0)
        for name, shape in _mapping("shapes", self.shapes, "inputs to shapes").items():
            if isinstance(shape, (str, bytes)) or not isinstance(cast("object", shape), Iterable):
                raise ConfigError(f"shapes: '{name}' is {shape!r}; it must be a sequence of sizes")
            for size in shape:
                _check_integer(f"shapes: a dimension of '{name}'", size, 0)

        _mapping("specialize", self.specialize, "inputs to values")
        for past, present in _mapping("caches", self.caches, "inputs to outputs").items():
            if not isinstance(cast("object", present), str):
                raise ConfigError(f"caches: '{past}' is {present!r}; it must be an output's name")
        if self.profile is not None and not isinstance(cast("object", self.profile), OptimizationProfile):
            raise ConfigError(f"profile is {self.profile!r}; it must be an OptimizationProfile")
        if self.profile is not None and self.enable_dynamic_shapes:
            raise ConfigError(
                "enable_dynamic_shapes leaves open what a profile gives ranges to; only one of them is taken"
            )
        if self.is_dynamic and self.check_memory:
            raise ConfigError("check_memory is for one shape; with a profile, or dynamic shapes, there are many")

    def _check_device(self, kind: str) -> None:
        """Raises ConfigError for an option that the device hasn't got."""
        if self.precision not in PRECISIONS:
            raise ConfigError(f"precision is {self.precision!r}; it must be one of {', '.join(PRECISIONS)}")
        if self.gpu not in (None, *GPUS):
            raise ConfigError(f"gpu is {self.gpu!r}; it must be one of {', '.join(GPUS)}")
        if self.emulator not in (None, *EMULATORS):
            raise ConfigError(f"emulator is {self.emulator!r}; it must be one of {', '.join(EMULATORS)}")
        if self.winograd not in WINOGRAD:
            raise ConfigError(f"winograd is {self.winograd!r}; it must be one of {', '.join(WINOGRAD)}")
        foreign = GPU_OPTIONS if kind == "cpu" else CPU_OPTIONS
        if not self.device.startswith("cuda-emulated"):
            foreign = (*foreign, "emulator")
        for name in foreign:
            if getattr(self, name) != getattr(type(self), name, {}):  # mappings have no default there
                raise ConfigError(f"{name} does nothing on the device '{self.device}'")

    def _check_planning(self) -> None:
        if self.planner != "auto":  # who only loads what was compiled needs no planner
            from ..passes.planning import STRATEGIES

            if self.planner not in STRATEGIES:
                raise ConfigError(f"planner is {self.planner!r}; it must be one of {', '.join(STRATEGIES)}")
        if self.beam_width is not None:
            _check_integer("beam_width", self.beam_width, 1)
        named = cast("object", self.disable_inplace)
        listed = isinstance(named, Iterable) and not isinstance(named, str)
        if not listed or not all(isinstance(op, str) for op in cast("Iterable[object]", named)):
            raise ConfigError(f"disable_inplace is {self.disable_inplace!r}; it must be a sequence of graph ops")
        if pair := useless(vars(self)):
            option, beside = pair
            raise ConfigError(f"{option} does nothing with {beside}={getattr(self, beside)!r}")

    @classmethod
    def of(cls, *, threads: int | None = None, **options: Unpack[CompileOptions]) -> EngineConfig:
        """A configuration from keyword arguments; raises ConfigError naming an option that does not exist."""
        known = {each.name for each in fields(cls)}
        if unknown := sorted(set(options) - known):
            raise ConfigError(f"there is no option {', '.join(unknown)}; there are {', '.join(sorted(known))}")
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


def _mapping(what: str, value: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    if not isinstance(cast("object", value), Mapping):
        raise ConfigError(f"{what} is {value!r}; it must be a mapping from names of {kind}")
    return value


def _check_integer(what: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ConfigError(f"{what} is {value!r}; it must be an integer of at least {least}")
