"""Runs the CUDA C++ text of kernels on the host CPU, compiled by g++: see shim.h.

    program = load(cuda_text(module))
    for launch in launch_list(module):
        program.run(launch, addresses, seed=1)

It runs the very text that the GPU's compiler gets, and finds errors that the IR doesn't show: a wrong fragment,
divergent barriers, a wait for too few copies. Bounds and races are checked by the interpreter.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from math import prod
from pathlib import Path

from ....dialects.errors import CompileError, ConfigError, KernelError
from ....lowering.gpu_to_cuda.device_program import Launch, TensorMap

COMPILERS = ("g++", "clang++", "c++")
OPTIONS = (
    "-std=c++20",
    "-O1",
    "-march=native",  # for fused multiply-add instructions; results are cached for this machine only
    "-ffp-contract=off",  # as on the GPU: contraction is decided in the text
    "-fno-strict-aliasing",
    "-fno-gnu-unique",  # or several programs would share variables
    "-fno-exceptions",
    "-fPIC",
    "-shared",
    "-w",
)
MOST_SHARED = 227 * 1024
"""The largest shared memory of a block on any GPU, in bytes."""
MOST_THREADS = 1024
_SHIM = Path(__file__).with_name("shim.h")
_KERNEL = re.compile(
    r'^extern "C" __global__ void (?:__cluster_dims__\((\d+), 1, 1\) )?(?:__launch_bounds__\((\d+)\) )?'
    r"(\w+)\((.*)\) \{$",
    re.MULTILINE,
)
_MESSAGE_BYTES = 1024


class Program:
    """Compiled kernels. Thread-safe."""

    def __init__(self, library: ctypes.CDLL, kernels: dict[str, tuple[int, int, int]]) -> None:
        self._library = library
        self._kernels = kernels

    @property
    def names(self) -> list[str]:
        """The names of the kernels."""
        return list(self._kernels)

    def run(self, launch: Launch, addresses: Sequence[int], seed: int = 0) -> None:
        """Runs one launch, cluster of blocks after cluster; if it is cooperative, all at once.

        `addresses` are those of main's arguments, on the host. The seed determines the order of blocks and threads, and
        the completion of asynchronous copies; with 0, threads and blocks run in order, and copies complete as late as
        possible. Raises KernelError for a launch that no GPU could run.
        """
        where = f"{', '.join(launch.nodes)} ({launch.kernel})" if launch.nodes else launch.kernel
        if launch.kernel not in self._kernels:
            raise KernelError(f"{where}: there is no kernel of that name")
        count, most, cluster = self._kernels[launch.kernel]
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        buffers = [addresses[each.root] + each.offset for each in launch.arguments]
        maps = [tensor_map(each, buffers[each.argument] + each.offset) for each in launch.maps]
        arguments = [*buffers, *launch.sizes, *(ctypes.addressof(each) for each in maps)]
        if len(arguments) != count:
            raise KernelError(f"{where}: {len(arguments)} arguments; the kernel takes {count}")
        if not 0 < threads <= most:
            raise KernelError(f"{where}: blocks of {threads} threads; the kernel is made for at most {most}")
        if launch.shared > MOST_SHARED:
            raise KernelError(f"{where}: {launch.shared} bytes of shared memory; a block has {MOST_SHARED} at most")
        if launch.grid[0] % cluster:
            raise KernelError(f"{where}: {launch.grid[0]} blocks along x are no whole number of clusters of {cluster}")
        given = (ctypes.c_void_p * count)(*arguments)
        together = prod(launch.grid) if launch.cooperative else cluster
        sizes = (ctypes.c_uint32 * 8)(*launch.grid, *launch.block, together, launch.cooperative)
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        function = getattr(self._library, f"emulated_{launch.kernel}")
        if function(
            given,
            sizes,
            ctypes.c_uint64(seed),
            ctypes.c_int(launch.shared),
            message,
            ctypes.c_size_t(_MESSAGE_BYTES),
        ):
            raise KernelError(f"{where}: {message.value.decode(errors='replace')}")


class _TensorMap(ctypes.Structure):
    _fields_ = (
        ("base", ctypes.c_uint64),
        ("strides", ctypes.c_uint64 * 4),
        *((name, ctypes.c_uint32 * 5) for name in ("sizes", "box")),
        *((name, ctypes.c_uint32) for name in ("rank", "itemsize", "swizzle")),
    )


def tensor_map(map: TensorMap, address: int) -> ctypes.Structure:
    """What stands for the driver's encoding of a map: the shim's `TensorMap`."""
    strides, sizes, box = (ctypes.c_uint64 * 4)(*map.strides), _five(map.sizes), _five(map.box)
    return _TensorMap(address, strides, sizes, box, len(map.box), map.itemsize, map.swizzle)


def _five(numbers: Sequence[int]) -> ctypes.Array[ctypes.c_uint32]:
    return (ctypes.c_uint32 * 5)(*numbers)


def load(text: str) -> Program:
    """Compiles the text of kernels. Raises ConfigError without a compiler, CompileError for its errors."""
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        raise ConfigError(f"no C++ compiler to emulate a GPU with: install one of {', '.join(COMPILERS)}")
    kernels = {
        name: (len(arguments.split(", ")) if arguments else 0, int(most or MOST_THREADS), int(cluster or 1))
        for cluster, most, name, arguments in _KERNEL.findall(text)
    }
    exported = "".join(f"\nEMULATED_KERNEL({name})" for name in kernels)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "kernels.so"
        command = [compiler, *OPTIONS, f'-DMINI_INFER_EMULATED="{_SHIM}"', "-x", "c++", "-", "-o", str(output)]
        done = subprocess.run(command, input=f"{text}{exported}\n".encode(), capture_output=True, check=False)
        if done.returncode:
            raise CompileError(f"{Path(compiler).name}: {_first_error(done.stderr.decode(errors='replace'))}")
        try:
            library = ctypes.CDLL(str(output))
        except OSError as error:  # each uses thread-local memory, of which a process has little
            raise CompileError(f"a process holds so many emulated models and no more: {error}") from error
    return Program(library, kernels)


def _first_error(log: str) -> str:
    lines = log.splitlines()
    return next((line for line in lines if "error" in line), lines[-1] if lines else "it failed without a word")
