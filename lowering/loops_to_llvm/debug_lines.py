"""Debug locations of LLVM IR text: each instruction's line is its own in that text, which assembly then refers to.

before:  define void @f(ptr %v0) {                after:   define void @f(ptr %v0) !dbg !3 {
         b0:                                               b0:
           store i8 0, ptr %v0                               store i8 0, ptr %v0, !dbg !4
                                                           !3 = distinct !DISubprogram(name: "f", ...)
                                                           !4 = !DILocation(line: 3, scope: !3)

Of debug information only the assembler's line directives are made, no tables (DebugDirectivesOnly).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.ir import Operation

from .instruction_text import ModuleText
from .llvm_text import quoted

Line: TypeAlias = tuple[str, Operation | None]
"""A line of LLVM IR text, and the op of the llvm dialect that it is."""


def debug_file(text: ModuleText) -> str:
    """Adds what a module with debug locations must have; returns the reference to its file."""
    file = text.add_metadata('!DIFile(filename: "module.ll", directory: "")')
    unit = f"distinct !DICompileUnit(language: DW_LANG_C, file: {file}, emissionKind: DebugDirectivesOnly)"
    text.named_metadata["!llvm.dbg.cu"] = [text.add_metadata(unit)]
    text.named_metadata["!llvm.module.flags"] = [text.add_metadata('!{i32 2, !"Debug Info Version", i32 3}')]
    return file


def with_debug_lines(lines: Sequence[Line], name: str, before: int, text: ModuleText, file: str) -> list[Line]:
    """A function's lines with debug locations, where there are `before` lines before them."""
    (unit,) = text.named_metadata["!llvm.dbg.cu"]
    types = text.add_metadata("!DISubroutineType(types: !{})")
    scope = text.add_metadata(
        f"distinct !DISubprogram(name: {quoted(name)}, scope: {file}, file: {file}, line: {before + 1}, "
        f"type: {types}, spFlags: DISPFlagDefinition, unit: {unit})"
    )
    (head, _), *body = lines
    made: list[Line] = [(f"{head.removesuffix('{')}!dbg {scope} {{", None)]
    for number, (line, op) in enumerate(body, before + 2):
        if op is not None:
            line += f", !dbg {text.add_metadata(f'!DILocation(line: {number}, scope: {scope})')}"
        made.append((line, op))
    return made
