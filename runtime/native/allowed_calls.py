"""The functions that generated code, and users' kernels, may call.

LLVM calls a helper of its own library where a CPU lacks an instruction (`fmaf`, `__truncsfbf2`). Such a helper may be
missing, or very slow, on CPUs that were never tested. So code for any CPU must do without: see call_checks.py.
"""

from __future__ import annotations

from ...lowering.loops_to_llvm.c_functions import C_FUNCTIONS

_WAITING = {"pthread_cond_signal", "pthread_cond_wait", "pthread_mutex_lock", "pthread_mutex_unlock", "sched_yield"}
_RUNTIME = {"clock_gettime", "madvise", *_WAITING}
_MEMORY = {"memcpy", "memmove", "memset"}
_MATH = {name + suffix for name in C_FUNCTIONS for suffix in ("", "f")}
_JOINED = {"sincos", "sincosf"}  # LLVM combines calls of both with the same argument
_DARWIN = {"bzero", "memset_pattern16", "__sincos_stret", "__sincosf_stret"}  # their names on Apple's systems
ALLOWED = frozenset(_RUNTIME | _MEMORY | _MATH | _JOINED | _DARWIN)
"""Names of C functions: of the operating system, its C library and its math library."""

_C_MATH = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma
    fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf
    nearbyint nextafter pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
"""
KERNELS_MAY_CALL = frozenset(
    {"memcmp", *_MEMORY, *_JOINED, *_DARWIN, *(name + end for name in _C_MATH.split() for end in ("", "f"))}
)
"""What users' kernels may call: C's functions on memory, and all of its math library for float and double."""

FOR_C = frozenset(_MEMORY | _MATH | _JOINED | _DARWIN | {"syscall"})
"""What code for C programs may call: functions on memory, of the math library, and Linux's system for AMX."""
