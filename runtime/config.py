"""EngineConfig: the options of a compile."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Self

from typing_extensions import TypedDict, Unpack, override

from ..dialects.arguments import (
    check_integer,
    check_kind,
    check_options,
    checked_mapping,
    checked_sequence,
    shown,
    wrong,
)
from ..dialects.errors import ConfigError
from ..dialects.kernel.gpus import GPUS, PRECISIONS
from ..dialects.page_blocks import LEAST_BUDGET
from ..dialects.threads import MOST_THREADS
from .control_groups import cpu_limit
from .memory.byte_sizes import bytes_of
from .option_declarations import Flag, Option, options_of
from .profile import OptimizationProfile
from .reprs import chosen_fields

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MOST_ALIGNMENT = 2**30  # bytes
MOST_COMPILERS = 16  # processes; more would wait for parts of a module to compile
EMULATORS = ("interpreter", "compiled")

MODELS = "run build plan bench tune compare bisect explore explain draw"
"""Verbs that compile a model."""
INPUTS = f"{MODELS} mini-opt"
"""Commands with options on a model's inputs."""
TARGETS = "run plan bench compare explore explain draw"
"""Verbs with options on the device and its code."""
BUFFERS = "run build plan bench bisect explore explain draw"
"""Verbs with options on how buffers share memory."""
_OF_CPUS = ("fp32", "bf16")
_OF_GPUS = tuple(each for each in PRECISIONS if each not in _OF_CPUS)
PLANNED = {"enable_memory_planning": True}
"""Required by the options of memory planning."""


class CompileOptions(TypedDict, total=False):
    """EngineConfig's options, documented there, as types of the keyword arguments of `compile`.

    All but `threads`, which is a separate parameter. For functions that pass options on:

        def serve(path: str, **options: Unpack[mini_infer.CompileOptions]) -> None:
            engine = mini_infer.compile(path, **options)
    """

    device: str
    device_id: int
    compile_threads: int | None
    profile: OptimizationProfile | None
    enable_dynamic_shapes: bool
    dims: Mapping[str, int]
    shapes: Mapping[str, Sequence[int]]
    specialize: Mapping[str, ArrayLike]
    caches: Mapping[str, str]
    cache_memory: int | str | None
    cache_type: str | None
    next_token: int | None
    enable_graph_optimization: bool
    integer_products: bool
    weights: str | None
    activations: str
    weights_memory: int | str | None
    memory: int | str | None
    tuned: bool
    winograd: str
    enable_memory_planning: bool
    enable_profiling: bool
    enable_cancellation: bool
    enable_hooks: bool
    check: str | None
    memory_alignment: int
    max_workspace_size: int | None
    planner: str
    beam_width: int | None
    prove_order: bool
    vector_bits: int | None
    reproducible: bool
    disable_inplace: Sequence[str]
    check_memory: bool
    precision: str
    gpu: str | None
    cache_kernels: bool
    emulator: str | None


def _check_alignment(name: str, value: int) -> None:
    check_integer(name, value, 8)
    if value & (value - 1) or value > MOST_ALIGNMENT:
        raise ConfigError(f"{name} is {value}; it must be a power of two of at most {MOST_ALIGNMENT}")


def _check_dims(name: str, value: object) -> None:
    for each, size in checked_mapping(name, value, "dimensions to sizes").items():
        check_integer(f"{name}: '{each}'", size, 0)


def _check_shapes(name: str, value: object) -> None:
    for each, shape in checked_mapping(name, value, "inputs to shapes").items():
        for size in checked_sequence(f"{name}: '{each}'", shape, "a sequence of sizes"):
            check_integer(f"{name}: a dimension of '{each}'", size, 0)


def _check_caches(name: str, value: object) -> None:
    for past, present in checked_mapping(name, value, "inputs to outputs").items():
        if not isinstance(present, str):
            raise wrong(f"{name}: '{past}'", present, "an output's name")


def _check_ops(name: str, value: object) -> None:
    ops = checked_sequence(name, value, "a sequence of graph ops")
    if not all(isinstance(op, str) for op in ops):
        raise wrong(name, value, "a sequence of graph ops")
    for op in ops:
        if not re.fullmatch(r"(graph\.)?\w+", op):  # which the text of a pipeline couldn't hold
            raise ConfigError(f"{name}: there is no op {shown(op)} to disable")


def _strategies() -> tuple[str, ...]:
    from ..passes.planning import STRATEGIES  # loading a compiled model needs no planner

    return tuple(STRATEGIES)


def _check_weights_memory(name: str, value: object) -> None:
    if (nbytes := bytes_of(name, value)) < LEAST_BUDGET:
        raise ConfigError(
            f"{name} is {nbytes} bytes; it must be at least {LEAST_BUDGET}, as pages are mapped in blocks"
        )
    if sys.platform != "linux":
        raise ConfigError(f"{name} needs Linux, which takes advice about the pages of a file")


def _weight_types() -> tuple[str, ...]:
    from ..passes.graph.quantization.quantize_weights import WEIGHTS  # likewise

    return WEIGHTS


@dataclass(frozen=True, repr=False)
class EngineConfig:
    """Options of `compile`.

    device: "cpu", "cuda" (an NVIDIA GPU, through CuPy) or "cuda-emulated" (the same kernels, without a GPU).
    device_id: which device of that kind, from 0 on.
    threads: most threads of one inference; None means the number of cores that this process may run on, or the CPU
        quota of its control group, if that is less. Never more than those cores. A model, and each step of it, gets
        only as many as its work is worth; plan.threads is the number. CPU only.
    compile_threads: processes that compile, this one included; None means one for each core. The code does not depend
        on it. CPU only.
    precision: of products: "fp32", or faster with operands rounded to "bf16"; on a GPU also to "tf32" or "fp16", or
        "3xtf32", three products of tf32 parts, nearly as exact as "fp32". Sums have 32 bits. On a CPU, "bf16" needs one
        with AVX512-BF16, or ARM's bf16.
    gpu: the GPU that code is made for, such as "sm_90a"; None means the one of this machine, or "sm_80" where the
        kernels are only emulated or written.
    cache_kernels: cache the machine code of GPU kernels in the user's cache folder ($XDG_CACHE_HOME, or ~/.cache), by
        their CUDA text, so that no kernel is compiled twice.
    emulator: how "cuda-emulated" runs kernels: "interpreter" checks every access, "compiled" runs their CUDA text as
        C++; None means "interpreter".
    profile: the range of shapes of inputs, an OptimizationProfile; one compile supports all of them.
    enable_dynamic_shapes: dynamic dimensions without a given size may have any: the model is compiled at the first
        call, for shapes like those of its inputs. Not with a profile. CPU only.
    dims: sizes for the model's named dynamic dimensions, such as {"batch": 1}.
    shapes: whole shapes by input name, where dimensions have no names.
    specialize: values by input name, such as {"axes": np.array([1])}, for inputs that determine shapes or never
        change: they become constants of the compiled model, which no longer has these inputs.
    caches: by input name, the output that shares its memory, as key-value caches do, such as {"past": "present"}: a run
        updates that memory in place. Where the output is longer than the input, the memory has room for the longest
        of the profile.
    cache_memory: bytes, such as "512M", that the memory of all caches may have together; the largest sizes of the
        profile along which caches grow are cut to what fits.
    cache_type: caches of narrower elements than the model's: "f16", "bf16", or "int8" with a scale for each token of a
        head, which is a cache more for each: its input is NAME.scale, its output PRESENT.scale. Only `caches` that the
        model just moves values into are narrowed.
    next_token: a language model gives the next token of each sequence in place of its logits, drawn from so many of
        the most likely ones: 1 the most likely one, 0 one of all. What only other rows of logits need is not computed.
        The model gets more inputs: temperature [1], top_p [1] and uniform [sequences, 1] numbers; with 0 no top_p, with
        1 none.
    enable_graph_optimization: recomposition, folding, channels-last layout and fusion; off, every ONNX op is a kernel
        of its own.
    integer_products: compute products of quantised values in integers; off, in floats, dequantised.
    weights: round the weights of matrix products to integers in blocks of 32, "int2", "int3", "int4" or "int8", or to
        floats of 16 bits, "bf16" or "f16": they take as much less memory, and time where reading them takes it. A table
        of embeddings is rounded with the product that shares it. None leaves them as they are in the model.
    activations: what the other operands of products by weights in blocks may be rounded to: "f32", unless the model
        itself permits 8 bits, or "int8", block by block. CPU only.
    weights_memory: bytes, such as "64M", of weights that may be mapped at a time, by all contexts of a compiled model
        together. The others stay in a file until their turn comes; runs of contexts take turns. A kernel whose weights
        exceed it is computed in parts; one that can't be is a PlanError. CPU only, on Linux.
    memory: bytes, such as "512K", that the arena may have: the plan that is fastest by estimate among those that fit is
        taken, with layers by bands of rows and schedules with less scratch where they are needed (`memory_frontier`
        lists them). A PlanError tells the smallest if none fits. One shape.
    tuned: use the schedules that the tuner measured on this machine (`compile(..., tune=seconds)`, `mini-infer tune`);
        off, schedules are chosen by estimates, which are the same on every machine of a kind. CPU only.
    winograd: 3x3 convolutions by Winograd's transforms, with fewer multiplications and larger rounding errors: "auto",
        where that is faster; "compact", by the schedule with the smallest weights of those that take at most 1.5 times
        as long as the fastest; "off", never. CPU only.
    enable_memory_planning: reuse memory; off, every intermediate value has bytes of its own.
    enable_profiling: time every kernel; read the times with `ExecutionContext.profile`. "cuda-emulated" has no clock:
        its interpreter counts the bytes that kernels load and store.
    enable_cancellation: code looks before each kernel whether its run has been cancelled, or is over its time limit;
        off, such a run ends with the error once all of it is computed. CPU only.
    enable_hooks: a run may call a function after each kernel call: see `hook` of `ExecutionContext.run`. One shape; CPU
        only.
    check: look at the results of every kernel call, and stop the run with a NonFiniteError at the first one that has a
        NaN ("nan") or an infinity ("inf"). One shape; CPU only.
    memory_alignment: bytes, a power of two of at least 8; every buffer of the arena starts at a multiple of it.
    max_workspace_size: bytes; a larger arena is a PlanError naming the tensors that are live together. None means that
        arena, inputs and outputs must fit the machine's memory.
    planner: strategy of plan-arena, such as "auto" or "greedy-by-size".
    disable_inplace: graph ops, such as ("add", "mul"), whose kernels may not write a result over an operand.
    check_memory: run every inference on poisoned memory, and compare it bit for bit with one that reuses no memory; for
        finding errors of mini_infer; many times slower. CPU only.
    beam_width: number of partial plans that the planner "beam" keeps; None means 8.
    prove_order: prove how small the arena may be in any order of the kernels: plan.memory.order_bound_bytes.
    vector_bits: width of vectors in generated code; None means the widest that the host supports. CPU only.
    reproducible: results have the same bits on every CPU, with any number of threads, and an entry of a batch those
        that it has alone: sums are added up in one order, by vectors of 512 bits, which CPUs with narrower ones take
        as several. Schedules are not those that were measured. CPU only.
    """

    device: Annotated[
        str, Option(), Flag("Device: cpu, cuda, cuda:1 or cuda-emulated.", f"{TARGETS} bisect generate", "NAME")
    ] = "cpu"
    device_id: Annotated[int, Option(least=0)] = 0
    threads: Annotated[
        int | None,
        Option(least=1, device="cpu", decided="kernels", not_in_key="thread_count is, which follows from it"),
        Flag("Threads of one inference.", f"{MODELS} machine demo generate", "N", names="--threads -j"),
    ] = None
    compile_threads: Annotated[
        int | None,
        Option(least=1, device="cpu", decided="llvm", not_in_key="the code does not depend on it"),
        Flag("Processes that compile.", "run", "N"),
    ] = None
    profile: Annotated[
        OptimizationProfile | None,
        Option(check=partial(check_kind, wanted=OptimizationProfile), decided="import"),
        Flag(
            "Range of a dynamic dimension, optimised for OPT; may be repeated.",
            "run plan bench compare build mini-opt",
            "NAME=MIN,OPT,MAX",
            names="--range",
        ),
    ] = None
    enable_dynamic_shapes: Annotated[bool, Option(device="cpu", decided="import")] = False
    dims: Annotated[
        Mapping[str, int],
        Option(check=_check_dims, decided="import"),
        Flag("Size of a dynamic dimension; may be repeated.", f"{INPUTS} generate", "NAME=SIZE", names="--dim"),
    ] = field(default_factory=dict[str, int])
    shapes: Annotated[
        Mapping[str, Sequence[int]],
        Option(check=_check_shapes, decided="import"),
        Flag("Whole shape of an input; may be repeated.", INPUTS, "NAME=1,3,224,224", names="--shape"),
    ] = field(default_factory=dict[str, Sequence[int]])
    specialize: Annotated[
        Mapping[str, ArrayLike],
        Option(
            check=partial(checked_mapping, kind="inputs to values"), decided="import", not_in_key="digests of it are"
        ),
        Flag(
            "Make an input a constant: axes=[1,2], k=3, NAME=FILE.npy or FILE.npz; may be repeated.",
            INPUTS,
            "NAME=VALUE",
        ),
    ] = field(default_factory=dict[str, Any])
    caches: Annotated[
        Mapping[str, str],
        Option(check=_check_caches, decided="import"),
        Flag(
            "Input and output that share their memory; may be repeated.",
            f"{TARGETS} build tune mini-opt",
            "INPUT=OUTPUT",
            names="--cache",
        ),
    ] = field(default_factory=dict[str, str])
    cache_memory: Annotated[
        int | str | None,
        Option(check=bytes_of, decided="import"),
        Flag("Most memory of all caches, such as 512M: tokens beyond are refused.", f"{TARGETS} build", "BYTES"),
    ] = None
    cache_type: Annotated[
        str | None,
        Option(values=("f16", "bf16", "int8"), decided="kernels", passes="narrow-caches{type=$}"),
        Flag("Type of caches: f16, bf16, int8.", f"{TARGETS} generate mini-opt", "TYPE"),
    ] = None
    next_token: Annotated[
        int | None,
        Option(least=0, decided="kernels", passes="choose-token{top_k=$}"),
        Flag("Give the next token, one of the K most likely, in place of logits.", f"{TARGETS} mini-opt", "K"),
    ] = None
    enable_graph_optimization: Annotated[
        bool,
        Option(decided="kernels"),
        Flag("Fusion and layout on or off.", BUFFERS, names="--optimize"),
    ] = True
    integer_products: Annotated[bool, Option(decided="kernels", passes={False: "-recompose-quantized"})] = True
    weights: Annotated[
        str | None,
        Option(values=_weight_types, decided="kernels", passes="quantize-weights{to=$}"),
        Flag("Round weights of products: int2, int3, int4, int8, bf16, f16.", f"{BUFFERS} tune", "TYPE"),
    ] = None
    activations: Annotated[
        str,
        Option(
            values=("f32", "int8"),
            device="cpu",
            requires={"enable_graph_optimization": True},
            decided="kernels",
            passes={"int8": "recompose-block-weight{lhs_as=i8}"},
        ),
        Flag("Rounding of what meets weights in blocks: f32, int8.", f"{BUFFERS} tune quantize", "TYPE"),
    ] = "f32"
    weights_memory: Annotated[
        int | str | None,
        Option(
            check=_check_weights_memory,
            device="cpu",
            decided="kernels",
            passes="split-weights{budget=$},advise-weights{budget=$}",
            as_number=bytes_of,
        ),
        Flag("Most memory of weights at a time, such as 64M; they stay in a file.", "run build bench", "BYTES"),
    ] = None
    memory: Annotated[
        int | str | None,
        Option(
            check=bytes_of,
            decided="kernels",
            requires={"enable_memory_planning": True, "enable_graph_optimization": True},
        ),
        Flag(
            "Most memory of intermediate tensors, such as 512K: the fastest plan that fits.",
            f"{TARGETS} build bisect",
            "BYTES",
        ),
    ] = None
    tuned: Annotated[bool, Option(device="cpu", decided="kernels")] = True
    winograd: Annotated[
        str,
        Option(
            values=("auto", "compact", "off"),
            device="cpu",
            decided="kernels",
            passes={
                "compact": "choose-schedule{compact=true}",
                "off": "form-kernels{forbid=winograd},choose-schedule{forbid=winograd}",
            },
        ),
        Flag("3x3 convolutions by Winograd's transforms: auto, compact, off.", f"{TARGETS} bisect", "KIND"),
    ] = "auto"
    enable_memory_planning: Annotated[
        bool,
        Option(decided="buffers"),
        Flag("Reuse of memory on or off.", "run build plan explore explain draw", names="--plan-memory"),
    ] = True
    enable_profiling: Annotated[
        bool, Option(decided="loops", passes={True: "profile-kernels,share-threads{apart=true}"})
    ] = False
    enable_cancellation: Annotated[
        bool, Option(device="cpu", decided="loops", passes={False: "-insert-cancellation-points"})
    ] = True
    enable_hooks: Annotated[
        bool,
        Option(
            device="cpu",
            requires={"check_memory": False},
            decided="loops",
            passes={True: "share-threads{apart=true watched=true}"},
        ),
    ] = False
    check: Annotated[
        str | None,
        Option(
            values=("nan", "inf"),
            device="cpu",
            requires={"check_memory": False},
            decided="loops",
            passes=dict.fromkeys(("nan", "inf"), "share-threads{apart=true watched=true}"),
        ),
        Flag("Stop a run at the first kernel that makes a NaN, or an infinity: nan, inf.", "run", "KIND"),
    ] = None
    memory_alignment: Annotated[
        int,
        Option(
            check=_check_alignment,
            decided="buffers",
            passes="limit-scratch{alignment=$},order-kernels{alignment=$},elide-copies{alignment=$},"
            "plan-arena{alignment=$}",
        ),
        Flag("Buffers start at multiples of so many bytes.", BUFFERS, "BYTES", names="--alignment"),
    ] = 256
    max_workspace_size: Annotated[
        int | None,
        Option(least=0, decided="arena", passes="plan-arena{capacity=$}"),
        Flag("Largest arena that is accepted.", "plan", "BYTES", names="--capacity"),
    ] = None
    planner: Annotated[
        str,
        Option(values=_strategies, requires=PLANNED, decided="arena", passes="plan-arena{strategy=$}"),
        Flag("Strategy: auto, exact, beam, pools, ...", "plan draw", "NAME", names="--strategy"),
    ] = "auto"
    beam_width: Annotated[
        int | None,
        Option(least=1, requires={**PLANNED, "planner": "beam"}, decided="arena", passes="plan-arena{width=$}"),
        Flag("Number of partial plans that --strategy beam keeps.", "plan draw", "N", shown="8"),
    ] = None
    prove_order: Annotated[
        bool,
        Option(requires=PLANNED, decided="loops", passes={True: "prove-order"}),
        Flag("Prove how small the arena may be in any order of the kernels.", "build"),
    ] = False
    vector_bits: Annotated[int | None, Option(values=(128, 256, 512), device="cpu", decided="kernels")] = None
    reproducible: Annotated[
        bool,
        Option(device="cpu", requires={"vector_bits": None, "precision": "fp32"}, decided="kernels"),
        Flag(
            "The same bits on every CPU, with any threads, at any place of a batch.",
            f"{TARGETS} build bisect",
            names="--reproducible",
        ),
    ] = False
    disable_inplace: Annotated[
        Sequence[str],
        Option(
            check=_check_ops,
            requires=PLANNED,
            decided="buffers",
            passes="limit-scratch{disable=$},order-kernels{disable=$},mark-inplace{disable=$}",
        ),
        Flag("Ops whose kernels may not work in place: add,MatMul.", BUFFERS, "OPS"),
    ] = ()
    check_memory: Annotated[
        bool,
        Option(decided="buffers", passes={True: "poison-dead,share-threads{apart=true watched=true}"}),
        Flag("Check the memory plan: poison dead memory, compare with a run without reuse.", "run"),
    ] = False
    precision: Annotated[
        str,
        Option(values=PRECISIONS, decided="kernels", passes={"bf16": "round-products{to=bf16}"}),
        Flag(
            f"Precision of products: fp32, bf16; on a GPU also {', '.join(_OF_GPUS)}.",
            f"{TARGETS} build tune bisect generate mini-opt",
            "KIND",
        ),
    ] = "fp32"
    gpu: Annotated[
        str | None,
        Option(values=tuple(GPUS), device="cuda", decided="kernels"),
        Flag(f"The GPU that code is made for: {', '.join(GPUS)}.", f"{TARGETS} bisect generate mini-opt", "NAME"),
    ] = None
    cache_kernels: Annotated[bool, Option(device="cuda", not_in_key="kernels have a cache of their own")] = True
    emulator: Annotated[
        str | None,
        Option(values=EMULATORS, device="cuda-emulated"),
        Flag("How cuda-emulated runs kernels: interpreter, compiled.", "run bench compare bisect", "KIND"),
    ] = None

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Checks the names of options first: the initialiser would raise a TypeError for unknown ones."""
        check_options(options, [each.name for each in fields(cls)])
        return super().__new__(cls)

    def __post_init__(self) -> None:
        from .device import device_named  # it imports numpy, which the help of commands does not need

        options = options_of(type(self))
        for name, option in options.items():
            option.check_value(getattr(self, name))
        kinds = {"", "cpu"}
        if device_named(self.place).kind != "cpu":
            kinds = {"", "cuda", self.device.partition(":")[0]}
        if kinds == {"", "cpu"} and self.precision not in _OF_CPUS:
            raise ConfigError(
                f"precision is {self.precision!r}; on the device 'cpu' it must be {' or '.join(_OF_CPUS)}"
            )
        if kinds == {"", "cpu"} and self.precision != "fp32" and not self.enable_graph_optimization:
            raise ConfigError("precision does nothing with enable_graph_optimization=False")
        for name, option in options.items():
            if option.device not in kinds and getattr(self, name) != option.default:
                raise ConfigError(f"{name} does nothing on the device '{self.device}'")
            if (other := option.useless(vars(self))) is not None:
                raise ConfigError(f"{name} does nothing with {other}={getattr(self, other)!r}")
        if self.profile is not None and (both := sorted(self.profile.dims.keys() & self.dims.keys())):
            raise ConfigError(
                f"dims gives '{both[0]}' a size, and the profile (--range) a range: leave one of them out"
            )
        if self.profile is not None and self.enable_dynamic_shapes:
            raise ConfigError(
                "enable_dynamic_shapes leaves open what a profile gives ranges to; only one of them is taken"
            )
        if self.cache_memory is not None and not self.caches:
            raise ConfigError("cache_memory does nothing without caches")
        if self.enable_dynamic_shapes and self.next_token not in (None, 1):
            raise ConfigError("next_token draws by inputs that dynamic shapes don't know of: a profile gives ranges")
        if self.is_dynamic and self.check_memory:
            raise ConfigError("check_memory is for one shape; with a profile, or dynamic shapes, there are many")
        if self.is_dynamic and self.is_observed:
            option = "check" if self.check is not None else "enable_hooks"
            raise ConfigError(f"{option} is for one shape; with a profile, or dynamic shapes, there are many")
        if self.is_dynamic and self.memory is not None:
            raise ConfigError("memory is for one shape; with a profile, or dynamic shapes, there are many")

    @classmethod
    def of(cls, *, threads: int | None = None, **options: Unpack[CompileOptions]) -> EngineConfig:
        """A configuration from keyword arguments; raises ConfigError naming an option that does not exist."""
        return cls(threads=threads, **options)

    @override
    def __repr__(self) -> str:
        return chosen_fields(self)

    @property
    def place(self) -> str:
        """The device's name with its number, such as "cuda:1"; without it for number 0."""
        return f"{self.device}:{self.device_id}" if self.device_id else self.device.removesuffix(":0")

    @property
    def is_dynamic(self) -> bool:
        """Whether one compile supports several shapes."""
        return self.profile is not None or self.enable_dynamic_shapes

    @property
    def is_observed(self) -> bool:
        """Whether code has hook points."""
        return self.enable_hooks or self.check is not None

    @property
    def cache_bytes(self) -> int | None:
        """`cache_memory` in bytes."""
        return None if self.cache_memory is None else bytes_of("cache_memory", self.cache_memory)

    @property
    def weights_bytes(self) -> int | None:
        """`weights_memory` in bytes."""
        return None if self.weights_memory is None else bytes_of("weights_memory", self.weights_memory)

    @property
    def memory_bytes(self) -> int | None:
        """`memory` in bytes."""
        return None if self.memory is None else bytes_of("memory", self.memory)

    @property
    def thread_count(self) -> int:
        """The largest number of threads: `threads`, but no more than there are cores.

        By default the number of usable cores, limited by the CPU quota of the control group.
        """
        return min(_usable_cores() if self.threads is None else int(self.threads), _cores(), MOST_THREADS)

    @property
    def compiler_count(self) -> int:
        """The number of processes that compile, this one included."""
        return min(_usable_cores() if self.compile_threads is None else int(self.compile_threads), MOST_COMPILERS)


def _usable_cores() -> int:
    """The number of cores that this process may run on, or the CPU quota of its control group, if that is less."""
    return min(_cores(), cpu_limit() or MOST_THREADS)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
