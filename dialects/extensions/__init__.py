"""Repairs of and additions to xDSL's own dialects.

`Arith`, `Vector`, `MemRef` and `LLVM` replace xDSL's dialects of the same names: register these, not those. A repaired
operation is a class of ours with MLIR's name and assembly; construct it from here. Everything else of those dialects is
xDSL's own class, used as usual. Importing this package also repairs xDSL itself, for the whole process (see
../xdsl_repairs.py).
"""

from ..xdsl_repairs import repair_effects, repair_text

repair_text()
repair_effects()
