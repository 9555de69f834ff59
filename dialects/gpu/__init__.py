"""GPU code: xDSL's `gpu` dialect with what it lacks, and `nvgpu`, the operations of NVIDIA's GPUs.

A kernel is a `gpu.func` that every thread of a grid of blocks runs. Memory is global (the buffers of `main`), shared by
a block (`WORKGROUP`) or a thread's own (`PRIVATE`).
"""

from xdsl.dialects import gpu

from ..extensions.replace import replace_operations
from .kernels import BarrierOp, BlockIdOp, FuncOp, LaunchFuncOp, ModuleOp, ReturnOp, ThreadIdOp
from .memory_spaces import PRIVATE, WORKGROUP, AddressSpaceAttr, DynamicSharedMemoryOp
from .nvgpu import AsyncCopyOp, AsyncGroupOp, AsyncWaitOp, MmaOp, NvGpu, RoundToTf32Op
from .shuffle import ShuffleOp

__all__ = [
    "PRIVATE",
    "WORKGROUP",
    "AddressSpaceAttr",
    "AsyncCopyOp",
    "AsyncGroupOp",
    "AsyncWaitOp",
    "BarrierOp",
    "BlockIdOp",
    "DynamicSharedMemoryOp",
    "FuncOp",
    "Gpu",
    "LaunchFuncOp",
    "MmaOp",
    "ModuleOp",
    "NvGpu",
    "ReturnOp",
    "RoundToTf32Op",
    "ShuffleOp",
    "ThreadIdOp",
]

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
