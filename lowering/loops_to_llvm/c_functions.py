"""C library functions that generated code may call, by the operations lowered to them. No IR here."""

CALLED = {
    # LLVM calls the C library for these, once per lane.
    "math.acos": "llvm.acos",
    "math.asin": "llvm.asin",
    "math.atan": "llvm.atan",
    "math.atan2": "llvm.atan2",
    "math.cos": "llvm.cos",
    "math.cosh": "llvm.cosh",
    "math.exp": "llvm.exp",
    "math.exp2": "llvm.exp2",
    "math.log": "llvm.log",
    "math.log10": "llvm.log10",
    "math.log2": "llvm.log2",
    "math.powf": "llvm.pow",
    "math.sin": "llvm.sin",
    "math.sinh": "llvm.sinh",
    "math.tan": "llvm.tan",
    "math.tanh": "llvm.tanh",
}
LIBRARY = {
    "math.acosh": "acosh",
    "math.asinh": "asinh",
    "math.atanh": "atanh",
    "math.cbrt": "cbrt",
    "math.erf": "erf",
    "math.expm1": "expm1",
    "math.log1p": "log1p",
}
C_FUNCTIONS = frozenset({*LIBRARY.values(), *(name.removeprefix("llvm.") for name in CALLED.values()), "fmod"})
"""C library functions that code may call, by their names for f64: no CPU has instructions for them."""
