"""NVRTC, NVIDIA's run-time compiler, from its wheel: compiles CUDA C++ to cubins, also without a GPU.

    compile_kernels(text, "sm_90a").resources    # registers, spills, ...

The wheels `nvidia-cuda-nvrtc` (CUDA 13) and `nvidia-cuda-nvrtc-cu12` contain the library; no driver, CuPy or CUDA
toolkit is needed. Compiled with denormals, exactly rounded division and square root, and without FMA contraction, so
that results are as the IR says.
"""

from __future__ import annotations

import ctypes
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Literal

from ....dialects.errors import CompileError, ConfigError
from ...file_cache import FileCache, key_of, user_cache

OPTIONS = ("--std=c++20", "--fmad=false", "--ptxas-options=-v")
FILE = "kernels.cu"
"""The name of the source, where no `#line` gives another."""
_FORMAT = "2"  # of what is kept
_WHEELS = {"cupy-cuda13x": "nvidia-cuda-nvrtc", "cupy-cuda12x": "nvidia-cuda-nvrtc-cu12"}
_LIBRARY, _BUILTINS = "libnvrtc.so.", "libnvrtc-builtins.so."

Kept = Path | None | Literal["user"]
"""Where cubins are cached: in a folder, nowhere, or in the user's cache."""


@dataclass(frozen=True)
class KernelResources:
    """The resources that one kernel needs, per thread or per block."""

    kernel: str
    registers: int
    """32-bit registers per thread."""
    spill_stores: int
    """Bytes stored by register spills."""
    spill_loads: int
    stack: int
    """Bytes of local memory per thread: spills, and arrays with dynamic indices."""
    static_shared: int
    """Bytes of static shared memory per block, besides those that a launch asks for."""


@dataclass(frozen=True)
class Cubin:
    """Machine code of all kernels of a text."""

    code: bytes
    resources: tuple[KernelResources, ...]


def compile_cubin(text: str, architecture: str, keep: Kept = "user") -> bytes:
    """The cubin of CUDA C++ text for an architecture such as "sm_90a"; see `compile_kernels`."""
    return compile_kernels(text, architecture, keep).code


def compile_kernels(text: str, architecture: str, keep: Kept = "user") -> Cubin:
    """The cubin of a text and the resources of its kernels, from the cache if it was compiled before.

    A kernel that spills is compiled again without a limit on registers.

    Raises ConfigError if the compiler is not installed, or doesn't know the architecture; CompileError with the first
    error, its kernel and its ONNX node if the text can't be compiled.
    """
    library = nvrtc()
    store = None if keep is None else FileCache(user_cache("cubins") if keep == "user" else keep)
    made_by = " ".join((_FORMAT, architecture, *map(str, library.version), *OPTIONS))
    key = key_of(text.encode(), made_by.encode())
    known = store.get(key) if store is not None else None
    if known is not None:
        head, _, code = known.partition(b"\n")
        return Cubin(code, tuple(KernelResources(**each) for each in json.loads(head)))
    code, log = library.compile(text, architecture)
    made = Cubin(code, tuple(resources_in(log)))
    if spilling := [each.kernel for each in made.resources if each.spill_stores or each.spill_loads]:
        code, log = library.compile(without_sharing(text, spilling), architecture)
        made = Cubin(code, tuple(resources_in(log)))
    if store is not None:
        store.put(key, json.dumps([asdict(each) for each in made.resources]).encode() + b"\n" + code)
    return made


class Nvrtc:
    """The library, with all calls of it."""

    def __init__(self, library: Path, builtins: Sequence[Path]) -> None:
        try:
            for file in builtins:
                # The compiler looks for it by name alone, and finds it once it is loaded.
                ctypes.CDLL(str(file), ctypes.RTLD_GLOBAL)
            self._library = ctypes.CDLL(str(library))
        except OSError as error:
            raise ConfigError(f"CUDA's compiler can't be loaded: {error}") from None
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor, count = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        self._call("Version", ctypes.byref(major), ctypes.byref(minor))
        self.version = (major.value, minor.value)
        self._call("GetNumSupportedArchs", ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self._call("GetSupportedArchs", numbers)
        self.architectures = frozenset(f"sm_{number}" for number in numbers)
        """Without architecture-specific suffixes: sm_90 also stands for sm_90a."""

    def compile(self, text: str, architecture: str) -> tuple[bytes, str]:
        """The cubin, and the compiler's log."""
        if architecture.rstrip("af") not in self.architectures:
            known = ", ".join(sorted(self.architectures, key=lambda name: int(name[3:])))
            raise ConfigError(
                f"CUDA's compiler {self.version[0]}.{self.version[1]} doesn't know {architecture}; it knows {known}"
            )
        program = ctypes.c_void_p()
        self._call("CreateProgram", ctypes.byref(program), text.encode(), FILE.encode(), 0, None, None)
        try:
            options = [option.encode() for option in (f"--gpu-architecture={architecture}", *OPTIONS)]
            given = (ctypes.c_char_p * len(options))(*options)
            status = self._library.nvrtcCompileProgram(program, len(options), given)
            # The compiler's part of the log and the assembler's each end with a NUL.
            log = self._bytes(program, "ProgramLog").replace(b"\0", b"").decode(errors="replace")
            if status:
                raise CompileError(error_in(log, text) or f"CUDA's compiler: {self._error(status)}")
            return self._bytes(program, "CUBIN"), log
        finally:
            self._call("DestroyProgram", ctypes.byref(program))

    def _bytes(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"Get{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(f"Get{what}", program, buffer)
        return buffer.raw

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._library, f"nvrtc{name}")(*arguments)
        if status:
            raise CompileError(f"CUDA's compiler, nvrtc{name}: {self._error(status)}")

    def _error(self, status: int) -> str:
        return self._library.nvrtcGetErrorString(status).decode()


@cache
def nvrtc() -> Nvrtc:
    """The installed compiler: that of CuPy's CUDA version if there are two. Raises ConfigError without one."""
    # A newer driver loads cubins of an older compiler, but not vice versa.
    by_cupy = sorted(_WHEELS, key=lambda cupy: not _files(cupy))
    for cupy in by_cupy:
        found = [Path(str(file)) for file in _files(_WHEELS[cupy]) if file.name.startswith((_LIBRARY, _BUILTINS))]
        libraries = [file for file in found if file.name.startswith(_LIBRARY)]
        if libraries:
            return Nvrtc(libraries[0], [file for file in found if file.name.startswith(_BUILTINS)])
    raise ConfigError(
        "CUDA's compiler is not installed: pip install 'mini-infer[cuda13]', or 'mini-infer[cuda12]' for CUDA 12"
    )


def _files(package: str) -> list[Path]:
    """The files of an installed package, () if it isn't installed."""
    try:
        return [Path(str(file.locate())) for file in files(package) or ()]
    except PackageNotFoundError:
        return []


_PROPERTIES = re.compile(
    r"Compiling entry function '(?P<kernel>\w+)'.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)


def without_sharing(text: str, kernels: Sequence[str]) -> str:
    """The text with some kernels limited to one block per multiprocessor.

    Otherwise ptxas may spill some bytes so that one more block fits (seen for sm_90a: 12 bytes to stay at 128
    registers).
    """
    names = "|".join(map(re.escape, kernels))
    return re.sub(rf"__launch_bounds__\((\d+)\)(?= (?:{names})\()", r"__launch_bounds__(\1, 1)", text)


def resources_in(log: str) -> list[KernelResources]:
    """The resources of each kernel, from the log of `--ptxas-options=-v`."""
    found: list[KernelResources] = []
    for each in _PROPERTIES.finditer(log):
        shared = re.search(r"(\d+) bytes smem", each["rest"])
        found.append(
            KernelResources(
                each["kernel"],
                registers=int(each["registers"]),
                spill_stores=int(each["stores"]),
                spill_loads=int(each["loads"]),
                stack=int(each["stack"]),
                static_shared=int(shared[1]) if shared else 0,
            )
        )
    return found


_ERROR = re.compile(
    r"^(?P<place>.*)\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (?P<fact>.*)$", re.MULTILINE
)
_LATE_ERROR = re.compile(r"^ptxas\b.*?\berror\s*: (?P<fact>.*)$", re.MULTILINE)
_KERNEL = re.compile(r'^extern "C" __global__ void (?:__\w+__\(.*?\) )*(\w+)\(')


def error_in(log: str, text: str) -> str:
    """The first error of a log, with its kernel and node; "" without one."""
    late, early = _LATE_ERROR.search(log), _ERROR.search(log)
    if early is None:
        return f"CUDA's assembler: {late['fact']}" if late else ""
    number = int(early["line"])
    before = text.splitlines()[:number]
    kernels = [match[1] for line in before if (match := _KERNEL.match(line))]
    node = "" if early["place"] == FILE else early["place"]
    place = f"{node} ({kernels[-1]})" if node and kernels else kernels[-1] if kernels else f"{FILE}, line {number}"
    return f"{place}: CUDA's compiler: {early['fact']}: {before[-1].strip() if before else ''}"
