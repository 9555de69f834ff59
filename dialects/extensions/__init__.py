"""Repairs and additions to the dialects that come with xDSL.

`Arith`, `Vector`, `MemRef` and `LLVM` stand in for xDSL's dialects of the same names: register these, not
those. An operation that is repaired here is a class of ours with the same name and the same assembly as in
MLIR; build it from here. Everything else of those dialects is xDSL's own class, used as usual.

Importing this package also gives xDSL's vector operations the memory effects they lack (for the whole
process), so that dead vector loads go and equal ones merge, and mends its parser (see ../dense.py).
"""

from ..dense import mend_dense_floats
from .arith import (
    Arith,
    CmpfOp,
    CmpiOp,
    ExtSIOp,
    ExtUIOp,
    FPToSIOp,
    FPToUIOp,
    IndexCastOp,
    RemFOp,
    SelectOp,
    SIToFPOp,
    TruncIOp,
    UIToFPOp,
)
from .llvm import LLVM
from .memref import MemRef, PrefetchOp
from .vector import ConstantMaskOp, ReductionOp, StepOp, Vector

__all__ = [
    "LLVM",
    "Arith",
    "CmpfOp",
    "CmpiOp",
    "ConstantMaskOp",
    "ExtSIOp",
    "ExtUIOp",
    "FPToSIOp",
    "FPToUIOp",
    "IndexCastOp",
    "MemRef",
    "PrefetchOp",
    "ReductionOp",
    "RemFOp",
    "SIToFPOp",
    "SelectOp",
    "StepOp",
    "TruncIOp",
    "UIToFPOp",
    "Vector",
]

mend_dense_floats()
