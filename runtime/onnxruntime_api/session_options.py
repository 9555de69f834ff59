"""SessionOptions, RunOptions and the enumerations of ONNX Runtime's interface."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, ClassVar, SupportsIndex

from typing_extensions import override

from ...dialects.arguments import shown
from . import status_errors

SEVERITIES = range(-1, 5)
"""Levels of severity of messages; -1 is the default."""
WRONG_SEVERITY = "Invalid session log severity level. Not a valid onnxruntime::logging::Severity value:"


class ExecutionMode(IntEnum):
    """Whether operators may run side by side; mini_infer runs one after the other, each on all threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(IntEnum):
    """The order of operators; mini_infer chooses it for memory."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class GraphOptimizationLevel(IntEnum):
    """How much graphs are optimised: ORT_DISABLE_ALL turns optimisation off, all others have all of it."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class OrtAllocatorType(IntEnum):
    """Kinds of allocators."""

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(IntEnum):
    """Kinds of memory."""

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


class _CheckedFields:
    """An object with given attributes only, whose types are checked when they are set."""

    _FIELDS: ClassVar[Mapping[str, tuple[type, Any]]] = {}
    """Type and default value of each attribute."""

    def __init__(self) -> None:
        for name, (_, default) in self._FIELDS.items():
            object.__setattr__(self, name, default)
        object.__setattr__(self, "_entries", {})

    @override
    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._FIELDS:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        kind = self._FIELDS[name][0]
        fits = isinstance(value, int) if kind in (int, bool) else isinstance(value, kind)
        if not fits:
            raise TypeError(f"{type(self).__name__}.{name} is of type {kind.__name__}, not {shown(value)}")
        object.__setattr__(self, name, kind(value))

    def _add_entry(self, method: str, key: object, value: object) -> None:
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"{method}() takes two texts, not {shown(key)} and {shown(value)}")
        self._entries[key] = value

    _entries: dict[str, str]


class SessionOptions(_CheckedFields):
    """Options of a session.

    Honoured are `intra_op_num_threads` (0: as many as there are cores), `graph_optimization_level`,
    `enable_mem_reuse`, `enable_profiling` with `profile_file_prefix`, and overrides of free dimensions. The others are
    accepted; what differs from its default and does nothing is named in a warning, once.
    """

    enable_cpu_mem_arena: bool
    enable_mem_pattern: bool
    enable_mem_reuse: bool
    enable_profiling: bool
    execution_mode: ExecutionMode
    execution_order: ExecutionOrder
    graph_optimization_level: GraphOptimizationLevel
    inter_op_num_threads: int
    intra_op_num_threads: int
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    optimized_model_filepath: str
    profile_file_prefix: str
    use_deterministic_compute: bool
    use_per_session_threads: bool

    _FIELDS = {
        "enable_cpu_mem_arena": (bool, True),
        "enable_mem_pattern": (bool, True),
        "enable_mem_reuse": (bool, True),
        "enable_profiling": (bool, False),
        "execution_mode": (ExecutionMode, ExecutionMode.ORT_SEQUENTIAL),
        "execution_order": (ExecutionOrder, ExecutionOrder.DEFAULT),
        "graph_optimization_level": (GraphOptimizationLevel, GraphOptimizationLevel.ORT_ENABLE_ALL),
        "inter_op_num_threads": (int, 0),
        "intra_op_num_threads": (int, 0),
        "log_severity_level": (int, -1),
        "log_verbosity_level": (int, 0),
        "logid": (str, ""),
        "optimized_model_filepath": (str, ""),
        "profile_file_prefix": (str, "onnxruntime_profile_"),
        "use_deterministic_compute": (bool, False),
        "use_per_session_threads": (bool, True),
    }
    _WITHOUT_EFFECT: ClassVar = (
        "execution_mode",
        "execution_order",
        "inter_op_num_threads",
        "optimized_model_filepath",
        "use_per_session_threads",
    )

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "dimension_sizes", {})
        object.__setattr__(self, "denotation_sizes", {})

    dimension_sizes: dict[str, int]
    """Sizes of named dimensions."""
    denotation_sizes: dict[str, int]
    """Sizes of dimensions by what a model says that they are, such as "DATA_BATCH"."""

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Gives a size to a dimension by its name. Raises TypeError for another name or size than str and int."""
        _add_size(self.dimension_sizes, name, size)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Gives a size to the dimensions with a denotation. Raises TypeError for others than str and int."""
        _add_size(self.denotation_sizes, denotation, size)

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Notes an entry; none has an effect."""
        self._add_entry("add_session_config_entry", key, value)

    def get_session_config_entry(self, key: str) -> str:
        """The value of an entry. Raises RuntimeError if there is none."""
        if key not in self._entries:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._entries[key]

    def register_custom_ops_library(self, path: str) -> None:
        """Raises NotImplemented: operators in machine code made for ONNX Runtime can't be used."""
        raise status_errors.NotImplemented(f"{path}: libraries of custom operators are not supported")

    def add_initializer(self, name: str, value: object) -> None:
        """Raises NotImplemented: initialisers are those of the model."""
        raise status_errors.NotImplemented(
            f"initialiser {name}: initialisers from outside of the model are not supported"
        )

    def check(self) -> None:
        """Raises RuntimeError for a level of severity that there is not, InvalidArgument for such a folder."""
        if self.log_severity_level not in SEVERITIES:
            raise RuntimeError(f"{WRONG_SEVERITY} {self.log_severity_level}")
        folder = os.path.dirname(self.profile_file_prefix)
        if self.enable_profiling and folder and not os.path.isdir(folder):
            raise status_errors.InvalidArgument(
                f"profile_file_prefix is {self.profile_file_prefix!r}, but there is no folder {folder}"
            )

    def has_providers(self) -> bool:
        """Whether providers were added."""
        return False

    def warn_of_unused(self) -> None:
        """Names what is set and does nothing in a warning, each once in a process."""
        unused = [name for name in self._WITHOUT_EFFECT if getattr(self, name) != self._FIELDS[name][1]]
        if self.inter_op_num_threads == 1:  # as it is
            unused.remove("inter_op_num_threads")
        warn_once([*unused, *(f"the configuration entry {key}" for key in self._entries)])


def _add_size(sizes: dict[str, int], name: object, size: SupportsIndex) -> None:
    if not isinstance(name, str):
        raise TypeError(f"a free dimension is overridden by a text, not {name!r}")
    try:
        sizes[name] = operator.index(size)
    except TypeError:
        raise TypeError(f"free dimension {name!r}: a size is an integer, not {size!r}") from None


class RunOptions(_CheckedFields):
    """Options of a run. Only `terminate` has an effect: it ends a run before it begins."""

    log_severity_level: int
    log_verbosity_level: int
    logid: str
    only_execute_path_to_fetches: bool
    terminate: bool

    _FIELDS = {
        "log_severity_level": (int, -1),
        "log_verbosity_level": (int, 0),
        "logid": (str, ""),
        "only_execute_path_to_fetches": (bool, False),
        "terminate": (bool, False),
    }

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Notes an entry; none has an effect."""
        self._add_entry("add_run_config_entry", key, value)

    def get_run_config_entry(self, key: str) -> str:
        """The value of an entry. Raises RuntimeError if there is none."""
        if key not in self._entries:
            raise RuntimeError(f"RunOptions does not have configuration with key: {key}")
        return self._entries[key]


_WARNED: set[str] = set()


def warn_once(names: list[str]) -> None:
    """Warns that options do nothing here, if that wasn't said yet."""
    if new := [name for name in names if name not in _WARNED]:
        _WARNED.update(new)
        warnings.warn(f"mini_infer.onnxruntime: without effect: {', '.join(new)}", stacklevel=4)
