"""NVIDIA's run-time compiler, from its wheel: CUDA C++ becomes a cubin, on machines without a GPU too.

    compile_kernels(text, "sm_90a").resources    # registers, spills, ...

The wheels `nvidia-cuda-nvrtc` (CUDA 13) and `nvidia-cuda-nvrtc-cu12` bring the library; no driver, no CuPy and no CUDA
toolkit are needed. Code keeps denormal numbers, divides and takes roots exactly rounded, and fuses no product with a
sum unless the text says so: what it gives is what the IR says.
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
"""The name of the text, where a `#line` gives no other."""
_FORMAT = "2"  # of what is kept
_WHEELS = {"cupy-cuda13x": "nvidia-cuda-nvrtc", "cupy-cuda12x": "nvidia-cuda-nvrtc-cu12"}
_LIBRARY, _BUILTINS = "libnvrtc.so.", "libnvrtc-builtins.so."

Kept = Path | None | Literal["user"]
"""Where cubins are kept: in a folder, nowhere, or among the user's caches."""


@dataclass(frozen=True)
class KernelResources:
    """What one kernel needs for a thread, or a block."""

    kernel: str
    registers: int
    """32-bit registers of a thread."""
    spill_stores: int
    """Bytes of registers that are written to memory, as there are too few."""
    spill_loads: int
    stack: int
    """Bytes of a thread's local memory: what is spilt, and arrays whose indices are known at run time only."""
    static_shared: int
    """Bytes of shared memory of a block, beside those that a launch asks for."""


@dataclass(frozen=True)
class Cubin:
    """Machine code of all kernels of a text."""

    code: bytes
    resources: tuple[KernelResources, ...]


def compile_cubin(text: str, architecture: str, keep: Kept = "user") -> bytes:
    """The cubin of CUDA C++ text for an architecture such as "sm_90a"; see `compile_kernels`."""
    return compile_kernels(text, architecture, keep).code


def compile_kernels(text: str, architecture: str, keep: Kept = "user") -> Cubin:
    """The cubin of a text and what its kernels need, from the cache if it was compiled before.

    A kernel that spills is compiled again with as many registers as it likes.

    Raises ConfigError where the compiler is not installed, or doesn't know the architecture; CompileError, with the
    first error, its kernel and its ONNX node, where the text can't be compiled.
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
    """The library: every call of it is here."""

    def __init__(self, library: Path, builtins: Sequence[Path]) -> None:
        try:
            for file in builtins:
                # The library looks for it by name alone, which finds it once it is loaded.
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
        """Without the letters of those for one chip alone: sm_90 stands for sm_90a too."""

    def compile(self, text: str, architecture: str) -> tuple[bytes, str]:
        """The cubin, and what the compiler tells of it."""
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
            # The compiler's part of the log and the assembler's end with a zero each.
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
    """The compiler that is installed: that of CuPy's CUDA where both are. Raises ConfigError where none is."""
    # A newer driver loads the cubins of an older compiler, and not the other way round.
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
    """The files of an installed package, none if it isn't."""
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
    """The text with a multiprocessor for each block of some kernels.

    Unless told so, ptxas spills some bytes where one more block then fits (seen for sm_90a: 12 bytes to stay at 128).
    """
    names = "|".join(map(re.escape, kernels))
    return re.sub(rf"__launch_bounds__\((\d+)\)(?= (?:{names})\()", r"__launch_bounds__(\1, 1)", text)


def resources_in(log: str) -> list[KernelResources]:
    """What `--ptxas-options=-v` tells of each kernel."""
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
_KERNEL = re.compile(r'^extern "C" __global__ void (?:__launch_bounds__\(.*?\) )?(\w+)\(')


def error_in(log: str, text: str) -> str:
    """The first error of a log, with the kernel and the node that it lies in; "" where there is none."""
    late, early = _LATE_ERROR.search(log), _ERROR.search(log)
    if early is None:
        return f"CUDA's assembler: {late['fact']}" if late else ""
    number = int(early["line"])
    before = text.splitlines()[:number]
    kernels = [match[1] for line in before if (match := _KERNEL.match(line))]
    node = "" if early["place"] == FILE else early["place"]
    place = f"{node} ({kernels[-1]})" if node and kernels else kernels[-1] if kernels else f"{FILE}, line {number}"
    return f"{place}: CUDA's compiler: {early['fact']}: {before[-1].strip() if before else ''}"
