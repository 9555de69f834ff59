"""The texts of machine code while it is compiled: each line of assembly refers to LLVM IR, and that to the loops level.

Assembly says by directives which line of LLVM IR an instruction is for (lowering/loops_to_llvm/debug_lines.py). The
object code is made from this very text (llvm_worker.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

_DEBUG = re.compile(r",? !dbg !\d+")
_LINE = re.compile(r"\t\.loc\t\d+ (\d+)")
_NOISE = re.compile(r"\t\.(?:loc|file|cfi_\w+|addrsig\w*|ident)\b|\.Ltmp\d+:|\.L(?:func_begin|func_end|line_table)\w*:")


@dataclass
class CodeListing:
    """LLVM IR and assembly of all parts of a module, line by line."""

    source_of: Callable[[Operation], int]
    """The line at the loops level that an op of the llvm dialect was made from; 0 for none."""
    llvm_ir: list[str] = field(default_factory=list[str])
    llvm_ir_sources: list[int] = field(default_factory=list[int])
    """For each line of `llvm_ir` the number of a line at the loops level, from 1; 0 for none."""
    assembly: list[str] = field(default_factory=list[str])
    assembly_sources: list[int] = field(default_factory=list[int])
    """For each line of `assembly` the number of a line of `llvm_ir`, from 1; 0 for none."""
    _starts: list[int] = field(default_factory=list[int])

    def add_llvm_ir(self, text: str, sources: Sequence[Operation | None]) -> None:
        """Adds a part's text, whose first lines were made from these ops; what follows them is metadata."""
        self._starts.append(len(self.llvm_ir))
        self.llvm_ir += (_DEBUG.sub("", line) for line in text.split("\n")[: len(sources)])
        self.llvm_ir_sources += (0 if source is None else self.source_of(source) for source in sources)

    def add_assembly(self, part: int, text: str) -> None:
        """Adds the assembly of the part of that number, in the order of `add_llvm_ir`."""
        at = 0
        for line in text.split("\n"):
            if (found := _LINE.match(line)) is not None:
                at = int(found[1])
            elif not _NOISE.match(line):
                is_code = line.startswith("\t") and not line.startswith("\t.")
                self.assembly.append(line.expandtabs(8))
                self.assembly_sources.append(self._starts[part] + at if is_code and at else 0)
            if line.startswith("\t.size"):
                at = 0
