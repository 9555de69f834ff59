"""The CPU as a device: memory of this process, machine code in it, and the team of threads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

from typing_extensions import override

from .device import Array, Code, Device
from .storage import aligned_bytes

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)  # see runtime_ir.py


class Cpu(Device):
    """This machine's. Who only holds tensors imports no compiler with it."""

    @override
    def allocate(self, nbytes: int, alignment: int) -> Array:
        return aligned_bytes(nbytes, alignment)

    @override
    def load(self, objects: Sequence[bytes]) -> Code:
        from .cpu import LoadedCode

        return LoadedCode.load(objects)

    @override
    def runner(self, code: Code, threads: int) -> Callable[[int], None]:
        native = ENTRY(code.address("mini_infer_run"))
        if threads == 1:
            return lambda pointers: native(pointers, None)
        from .team import team

        helpers = team()

        def run(pointers: int) -> None:
            if helpers.threads < threads:
                helpers.grow(threads)
            native(pointers, helpers.share)

        return run


DEVICE = Cpu()
