"""The `gpu` dialect, xDSL's with the operations that it lacks, and `nvgpu`, operations particular to NVIDIA GPUs.

A kernel is a `gpu.func`, executed by every thread of a grid of blocks. Memory is global (the buffers of `main`), shared
by the threads of a block (`WORKGROUP`) or private to a thread (`PRIVATE`).
"""

from xdsl.dialects import gpu

from ..extensions.replace import replace_operations
from .kernels import BarrierOp, BlockIdOp, FuncOp, LaunchFuncOp, ModuleOp, ReturnOp, ThreadIdOp
from .memory_spaces import AddressSpaceAttr, DynamicSharedMemoryOp
from .shuffle import ShuffleOp

Gpu = replace_operations(
    gpu.GPU,
    [
        BarrierOp,
        BlockIdOp,
        DynamicSharedMemoryOp,
        FuncOp,
        LaunchFuncOp,
        ModuleOp,
        ReturnOp,
        ShuffleOp,
        ThreadIdOp,
    ],
    [AddressSpaceAttr],
)
