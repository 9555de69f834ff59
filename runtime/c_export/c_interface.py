"""The C interface of a compiled model: names and types of parameters, and its header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects.errors import ConfigError
from ...lowering.loops_to_llvm.c_entry_ir import HEADER_BYTES, Status
from ..specs import Signature, TensorSpec

IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_KEYWORDS = frozenset(
    """alignas alignof and asm auto bitand bitor bool break case catch char class compl complex concept const constexpr
    continue decltype default delete do double else enum explicit export extern false float for friend goto if imaginary
    inline int long mutable namespace new noexcept not nullptr operator or private protected public register requires
    restrict return short signed sizeof static struct switch template this throw true try typedef typeid typename union
    unsigned using virtual void volatile while xor linux unix""".split()  # noqa: SIM905
)  # keywords of C and C++, and names that compilers define
_OWN = (
    *("weights", "arena", "share", "bytes", "status", "count", "paths", "next", "aligned", "read_file", "write_file"),
    *("null", "eof", "errno", "stdin", "stdout", "stderr", "fprintf", "malloc"),
)
"""Names used beside the parameters in prototypes and the example."""
_TYPES = {"float32": "float", "float64": "double", "bool": "uint8_t", "float16": "uint16_t", "bfloat16": "uint16_t"}
_NOTES = {
    "bool": ", each 0 or 1",
    "float16": ", as bits",
    "bfloat16": ", as bits",
}
_ERRORS = {
    Status.OK: "all is well",
    Status.NULL: "a pointer is NULL",
    Status.ALIGNMENT: "a pointer is not aligned: to an element's size, or as said of arena and weights",
    Status.WEIGHTS: "the weights are not those that the code was made with",
    Status.INDEX: "an index is out of range: what was written is no result",
    Status.FAILED: "a branch was taken that can't be run: what was written is no result",
    Status.AMX: "the system gives the process no registers of AMX, which the code uses",
}


@dataclass(frozen=True)
class Parameter:
    """A pointer parameter of a run: its name in C, and the tensor it points to."""

    name: str
    spec: TensorSpec
    written: bool
    is_input: bool
    note: str = ""

    @property
    def type(self) -> str:
        """The C type of an element."""
        return c_type(self.spec.dtype)

    @property
    def declaration(self) -> str:
        """`const float *x`"""
        return f"{'' if self.written else 'const '}{self.type} *{self.name}"


def c_type(dtype: np.dtype[Any]) -> str:
    """The C type for elements of a dtype in memory."""
    if dtype.name in _TYPES:
        return _TYPES[dtype.name]
    return f"{'u' * (dtype.kind == 'u')}int{8 * dtype.itemsize}_t" if dtype.kind in "iu" else "uint8_t"


def model_name(stem: str) -> str:
    """A C identifier prefix for a model, derived from its file's name."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", stem).strip("_")
    return name if IDENTIFIER.fullmatch(name) else f"model_{name}".rstrip("_")


def check_name(name: str) -> str:
    """Returns the name if it is a valid C identifier prefix; raises ConfigError otherwise."""
    if not IDENTIFIER.fullmatch(name):
        raise ConfigError(f"name {name}: expected letters, digits and underscores, a letter first")
    return name


def parameters(signature: Signature) -> list[Parameter]:
    """The model's inputs and written buffers, in the order of a run's parameters."""
    kept = {cache.output for cache in signature.caches}
    found: list[tuple[TensorSpec, bool, bool, str]] = []
    for number, spec in enumerate(signature.inputs):
        if number in signature.cached:
            cache = signature.cached[number]
            after = signature.outputs[cache.output]
            note = f"of which {_shape(spec)} is read; output {_quoted(after.name)}, {_shape(after)}, is left there"
            found.append((cache.room, True, True, note))
        else:
            found.append((spec, False, True, ""))
    for number, spec in enumerate(signature.outputs):
        if number not in kept:
            found.append((spec, True, False, ""))
    for spec, cut in zip(signature.counts, signature.cuts, strict=True):
        what = " and ".join(f"axis {axis} of {_quoted(signature.outputs[number].name)}" for number, axis in cut)
        found.append((spec, True, False, f"how much there is along {what}; the rest is undefined"))
    names = c_names(spec.name for spec, *_ in found)
    return [Parameter(name, *each) for name, each in zip(names, found, strict=True)]


def c_names(names: Iterable[str]) -> list[str]:
    """A C identifier for each name, all different even when case is ignored."""
    taken = {name.upper() for name in _OWN}
    made: list[str] = []
    for name in names:
        base = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
        base = base if IDENTIFIER.fullmatch(base) else f"t{base}"
        unique, number = f"{base}_" if base in _KEYWORDS or base.endswith("_t") else base, 2
        while unique.upper() in taken:
            unique, number = f"{base}_{number}", number + 1
        taken.add(unique.upper())
        made.append(unique)
    return made


@dataclass(frozen=True)
class CInterface:
    """The contents of a model's header."""

    name: str
    source: str
    cpu: str
    parameters: Sequence[Parameter]
    arena_bytes: int
    alignment: int
    weights_bytes: int
    weights_alignment: int
    digest: int
    threads: int
    embedded: bool
    kernels: tuple[str, ...] = ()
    """Object files of users' kernels, which are linked beside the model's."""

    def header(self) -> str:
        """The text of NAME.h."""
        name, upper = self.name, self.name.upper()
        statuses = [
            f"  {upper}_{self._status(each)} = {each:d}{',' * (each < max(_ERRORS))} /* {text} */"
            for each, text in _ERRORS.items()
        ]
        lines = [
            f"/* {_comment(self.source)}: machine code for {_comment(self.cpu)}, made by mini_infer. C99. */",
            f"#ifndef {upper}_H",
            f"#define {upper}_H",
            "",
            "#include <stddef.h>",
            "#include <stdint.h>",
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            "enum {",
            *statuses,
            "};",
            "",
            "/* Memory that a run works in, whatever it holds; one for each run at a time. */",
            f"#define {upper}_ARENA_BYTES {self.arena_bytes}",
            f"#define {upper}_ARENA_ALIGNMENT {self.alignment}",
            "",
            f"/* The content of {name}.weights, which any number of runs share. */",
            f"#define {upper}_WEIGHTS_BYTES {self.weights_bytes}",
            f"#define {upper}_WEIGHTS_ALIGNMENT {self.weights_alignment}",
            f"#define {upper}_WEIGHTS_DIGEST UINT64_C(0x{self.digest:016x}) /* XXH64 from byte {HEADER_BYTES} on */",
            *(["", f"extern const unsigned char {name}_weights[{upper}_WEIGHTS_BYTES];"] if self.embedded else []),
        ]
        for each in self.parameters:
            lines += ["", *self._macros(each)]
        return "\n".join([*lines, *self._functions(), "", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])

    def _status(self, status: Status) -> str:
        return status.name if status is Status.OK else f"ERROR_{status.name}"

    def _macros(self, parameter: Parameter) -> list[str]:
        spec, base = parameter.spec, f"{self.name}_{parameter.name}".upper()
        role = "in and out" if parameter.is_input and parameter.written else "input" if parameter.is_input else "output"
        note = f"; {parameter.note}" if parameter.note else ""
        elements = spec.nbytes // spec.dtype.itemsize
        lines = [
            f"/* {role} {_quoted(spec.name)}: {spec.dtype}{_shape(spec)}{_NOTES.get(spec.dtype.name, '')}{note} */",
            f"#define {base}_BYTES {spec.nbytes}",
            f"#define {base}_ELEMENTS {elements}",
            f"#define {base}_RANK {len(spec.shape)}",
        ]
        if spec.shape:
            lines.append(f"#define {base}_SHAPE {{{', '.join(map(str, spec.shape))}}}")
        return lines

    def _functions(self) -> list[str]:
        name = self.name
        taken = ["const void *weights", "void *arena", *(each.declaration for each in self.parameters)]
        lines = [""]
        if self.threads > 1:
            taken.append(f"{name}_share *share")
            lines += [
                "/* Calls work(args, i, shares, seat) once for each i from 0 to shares - 1, in any order and at once,",
                "   and returns when all have returned. Calls at the same time have different seats, from 0 to",
                f"   seats - 1; there are at most {self.threads} seats. */",
                f"typedef void {name}_work(void *args, int64_t i, int64_t shares, int64_t seat);",
                f"typedef void {name}_share({name}_work *work, void *args, int64_t shares, int64_t seats);",
                "",
            ]
        lines += [
            "/* One inference. Tensors are row-major, and nothing that is written may overlap anything else. Allocates",
            "   nothing, and keeps nothing: any number of threads may be in it, each with an arena of its own.",
        ]
        if self.threads > 1:
            lines.append("   `share` has work done by several threads; where it is NULL the caller does it all.")
        lines[-1] += " */"
        return [
            *lines,
            f"int {name}_run({f',{chr(10)}    '.join(taken)});",
            "",
            "/* Reads all of the weights: whether these bytes are those that the code was made with. */",
            f"int {name}_check_weights(const void *weights, size_t bytes);",
        ]


def _shape(spec: TensorSpec) -> str:
    sizes = (f"<={size}" if axis in spec.bounded else str(size) for axis, size in enumerate(spec.shape))
    return f"[{', '.join(sizes)}]"


def _quoted(name: str) -> str:
    return f'"{_comment(name)}"'


def _comment(text: str) -> str:
    """Text made safe for a C comment."""
    return re.sub(r"[^ -~]|\\", "?", text).replace("*/", "* /").replace("/*", "/ *")
