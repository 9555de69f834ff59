"""Where faults are sown: places in the product's files drawn at random, and what cosmic-ray makes of the code there.

A file is drawn by its length, then a family of faults that fits in it, then a place. Left alone is what changes no
result of code that is right: annotations, which Python never evaluates here, code for a type checker, arguments of
`@dataclass`, and `strict` of zip.
"""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDERS = ("dialects", "passes", "lowering", "runtime")
FAMILIES = {
    "comparison": [
        f"ReplaceComparisonOperator_{one}_{other}"
        for kinds in (("Lt", "LtE", "Gt", "GtE"), ("Eq", "NotEq"), ("Is", "IsNot"))
        for one in kinds
        for other in kinds
        if one != other
    ],
    "arithmetic": [
        f"ReplaceBinaryOperator_{each}"
        for each in ("Add_Sub", "Sub_Add", "Mul_Add", "FloorDiv_Mul", "Mod_FloorDiv", "Div_Mul", "BitAnd_BitOr")
    ]
    + [
        "ReplaceBinaryOperator_LShift_RShift",
        "ReplaceBinaryOperator_RShift_LShift",
        "ReplaceUnaryOperator_Delete_USub",
    ],
    "number": ["NumberReplacer"],
    "condition": ["AddNot", "ReplaceUnaryOperator_Delete_Not", "ReplaceAndWithOr", "ReplaceOrWithAnd"],
    "truth": ["ReplaceTrueWithFalse", "ReplaceFalseWithTrue"],
    "loop": ["ZeroIterationForLoop", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak"],
}


@dataclass(frozen=True)
class Mutant:
    """A fault: the file, relative to the repository, with other text from `line` on, the first that differs."""

    file: str
    operator: str
    line: int
    text: str

    def changed(self, root: Path) -> tuple[str, str]:
        """The line as it is and as the fault has it."""
        before = (root / self.file).read_text().splitlines()
        return before[self.line - 1].strip(), self.text.splitlines()[self.line - 1].strip()


def chosen(root: Path, count: int, seed: int) -> list[Mutant]:
    """So many different faults in the files of `root`; as many in each of FOLDERS."""
    chance, made = random.Random(seed), dict[tuple[str, str, int], Mutant]()
    files = {folder: sorted((root / folder).rglob("*.py")) for folder in FOLDERS}
    weights = {folder: [file.stat().st_size for file in found] for folder, found in files.items()}
    while len(made) < count:
        folder = FOLDERS[len(made) % len(FOLDERS)]
        (file,) = chance.choices(files[folder], weights[folder])
        mutant = _mutant(root, file, chance)
        if mutant is not None:
            made[mutant.file, mutant.operator, mutant.line] = mutant
    return list(made.values())


def _mutant(root: Path, file: Path, chance: random.Random) -> Mutant | None:
    source = file.read_text()
    left_alone = _unevaluated(source)
    fitting = {
        family: places
        for family in FAMILIES
        if (places := [each for each in _places(source, family) if each[2] not in left_alone])
    }
    if not fitting:
        return None
    operator, occurrence, _ = chance.choice(fitting[chance.choice(list(fitting))])
    mutating: Any = import_module("cosmic_ray.mutating")
    text: str = mutating.mutate_code(source, _operator(operator), occurrence)
    try:
        ast.parse(text)
    except SyntaxError:
        return None
    lines = enumerate(zip(source.splitlines(), text.splitlines(), strict=False), 1)
    line = next((number for number, (before, after) in lines if before != after), 0)
    if "strict=False" in text.splitlines()[line - 1]:
        return None
    return Mutant(str(file.relative_to(root)), operator, line, text) if line else None


def _places(source: str, family: str) -> Iterator[tuple[str, int, int]]:
    """Operators of a family, each with the occurrence that it changes and its line."""
    tree: Any = import_module("cosmic_ray.ast").get_ast(source)
    nodes = list(_nodes(tree))
    for name in FAMILIES[family]:
        operator, occurrence = _operator(name), 0
        for node in nodes:
            for (line, _), _ in operator.mutation_positions(node):
                yield name, occurrence, line
                occurrence += 1


def _nodes(node: Any) -> Iterator[Any]:
    """In the order in which cosmic-ray counts occurrences."""
    yield node
    for child in getattr(node, "children", ()):
        yield from _nodes(child)


@cache
def _operator(name: str) -> Any:
    plugins: Any = import_module("cosmic_ray.plugins")
    return plugins.get_operator(f"core/{name}")()


def _unevaluated(source: str) -> set[int]:
    """Lines of annotations, and of imports for a type checker alone."""
    spans: dict[str, list[ast.AST]] = defaultdict(list)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            spans["annotation"].append(node.annotation)
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            spans["annotation"].append(node.returns)
        elif isinstance(node, ast.ClassDef):
            spans["decorator"].extend(node.decorator_list)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            spans["checking"].append(node)
    return {line for nodes in spans.values() for node in nodes for line in _lines(node)}


def _lines(node: Any) -> Sequence[int]:
    return range(node.lineno, node.end_lineno + 1)
