"""docs/api.md, as `PYTHONPATH=.:test .venv/bin/python -m api_page` writes it: every public name, by its docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import is_dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import mini_infer as mi

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
COMMAND = "PYTHONPATH=.:test .venv/bin/python -m api_page"
SECTIONS: dict[str, Sequence[str]] = {
    "Compiling": ("compile", "build", "load", "emit_c", "CFiles", "Progress"),
    "Options": ("EngineConfig", "CompileOptions", "OptimizationProfile"),
    "Running": (
        "Engine",
        "InferencePlan",
        "ExecutionContext",
        "TensorSpec",
        "SymbolicSpec",
        "KernelTime",
        "KernelTurn",
    ),
    "Asking a running model": ("intermediates", "KernelRun"),
    "Language models": ("Generator",),
    "Running beside the caller": ("RunHandle", "BatchingQueue", "QueueStatistics"),
    "Looking at a compile": ("explore", "CompileRecord"),
    "Memory of tensors": ("Storage", "Tensor", "register_allocator"),
    "Memory plans": (
        *("plan_memory", "MemoryPlan", "TensorRecord", "BufferRecord", "CacheRecord"),
        *("RemovedRecord", "StepRecord", "Explanation", "InterferenceGraph", "Clique"),
        *("memory_frontier", "MemoryFrontier", "MemoryPoint"),
        *("plan_table", "pool_table", "write_report", "draw"),
    ),
    "The planner by itself": ("allocate", "Buffer", "Plan", "STRATEGIES"),
    "Operators of one's own": ("operator", "UserOperator", "GraphValue", "TensorType", "ops"),
    "Elsewhere": ("on_ray", "import_onnx", "MiniInferBackend"),
    "Errors": (
        *(
            "MiniInferError",
            "BusyError",
            "CompileError",
            "ConfigError",
            "DeviceError",
            "InvalidInputError",
            "InvalidModelError",
        ),
        *(
            "KernelError",
            "NonFiniteError",
            "OpenDimensionsError",
            "OperatorError",
            "OutOfMemoryError",
            "PlanError",
            "RunCancelledError",
        ),
        *("TimeLimitError", "UnknownValueError", "UnsupportedError"),
    ),
}
_SHOWN = {"__call__"}  # of the names that begin with an underscore
_ITEM = re.compile(r"([a-z_]+): (.*)", re.DOTALL)

Definition = ast.FunctionDef | ast.ClassDef


def page() -> str:
    """The text of api.md."""
    lines = [
        "# Python",
        "",
        "All public names, `mi.` being `import mini_infer as mi`. Anything else may change at any time.",
        "`mini_infer.onnxruntime` has the names of ONNX Runtime's Python package: [onnxruntime.md](onnxruntime.md).",
        f"This page is made by `{COMMAND}` from docstrings; a test holds it to them.",
    ]
    for title, names in SECTIONS.items():
        lines += ["", f"## {title}"]
        for name in names:
            lines += ["", *entry(f"mi.{name}", getattr(mi, name))]
    return "\n".join(lines) + "\n"


def entry(name: str, value: Any) -> Iterator[str]:
    """What the page has of a public name, or of a module of such names."""
    yield f"### {name}"
    if isinstance(value, ModuleType):
        yield from ("", *prose(documented(name, value.__doc__)))
        for each in value.__all__:
            yield from ("", *entry(f"{name}.{each}", getattr(value, each)))
        return
    if not isinstance(value, type) and not callable(value):
        yield from ("", f"`{value!r}`", "", *prose(documented(name, constant_doc(name.rpartition(".")[2]))))
        return
    node = definition(value)
    if isinstance(node, ast.FunctionDef):
        yield from ("", "```python", *signature(value, node), "```")
    yield from ("", *prose(documented(name, value.__doc__)))
    if isinstance(value, type) and isinstance(node, ast.ClassDef):
        # What a record has from those that it is a case of is its own.
        bases = [each for each in reversed(value.__mro__) if each is value or is_dataclass(each)]
        if fields := [line for each in bases for line in fields_of(each, cast("ast.ClassDef", definition(each)))]:
            yield from ("", "```python", *fields, "```")
        found = {each.name: each for base in bases for each in methods(cast("ast.ClassDef", definition(base)))}
        for method in found.values():
            yield from ("", *member(value, method))


def documented(name: str, doc: str | None) -> str:
    """A docstring; raises ValueError where there is none, or only the one that Python makes of a dataclass."""
    if not doc or not doc.strip() or doc.startswith(f"{name.rpartition('.')[2]}("):
        raise ValueError(f"{name} has no docstring")
    return inspect.cleandoc(doc)


@cache
def _parsed(path: str) -> tuple[ast.Module, list[str]]:
    text = Path(path).read_text(encoding="utf-8")
    return ast.parse(text), text.splitlines()


def _source(value: Any) -> tuple[ast.Module, list[str]]:
    path = inspect.getsourcefile(value)
    assert path is not None
    return _parsed(path)


def definition(value: Any) -> Definition:
    """Where a function or a class is defined; of a function with overloads it is the last one."""
    tree, _ = _source(value)
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return next(node for node in reversed(found) if node.name == value.__name__)


def signature(value: Any, node: ast.FunctionDef) -> list[str]:
    """A function's head, as it stands in its file."""
    _, lines = _source(value)
    head = lines[node.lineno - 1 : node.body[0].lineno - 1]
    return [*head[:-1], head[-1].removesuffix(":")]


def fields_of(value: type, node: ast.ClassDef) -> Iterator[str]:
    """Each field: name, type, default, and what is said of it, above it where the line would be too long."""
    _, lines = _source(value)
    for each, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and not _is_private(each.target.id):
            default = _default(each.value)
            line = f"{each.target.id}: {_type(each.annotation)}{f' = {default}' if default else ''}"
            doc = lines[(each.end_lineno or each.lineno) - 1].partition("  # ")[2] or _string(after)
            comment = f"# {' '.join(doc.split())}"
            if not doc:
                yield line
            elif len(line) + len(comment) <= 118:
                yield f"{line}  {comment}"
            else:
                yield from (comment, line)


def _type(annotation: ast.expr) -> str:
    """The type of a field, without what Annotated says beside it."""
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Annotated":
        assert isinstance(annotation.slice, ast.Tuple)
        return _text(annotation.slice.elts[0])
    return _text(annotation)


def _default(value: ast.expr | None) -> str:
    if not (isinstance(value, ast.Call) and ast.unparse(value.func) == "field"):
        return "" if value is None else _text(value)
    given = {each.arg: each.value for each in value.keywords}
    return "{}" if "default_factory" in given else _text(given["default"]) if "default" in given else ""


def _text(node: ast.AST) -> str:
    return ast.unparse(node).replace("'", '"')  # as the files have it


def _string(node: ast.stmt | None) -> str:
    """The docstring that a statement is."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return ""


def _is_private(name: str) -> bool:
    return name.startswith("_") and name not in _SHOWN


def methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """The public ones, in the order of the file, and a constructor that says something of itself."""
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and (
            not _is_private(each.name) or (each.name == "__init__" and ast.get_docstring(each) is not None)
        ):
            yield each


def member(value: type, node: ast.FunctionDef) -> list[str]:
    """An item of a list: the call or the property, and its docstring."""
    doc = documented(f"{value.__name__}.{node.name}", inspect.getdoc(getattr(value, node.name)))
    is_constructor = node.name == "__init__"
    result = f" -> {_text(node.returns)}" if node.returns is not None and not is_constructor else ""
    kinds = {ast.unparse(each) for each in node.decorator_list}
    if kinds & {"property", "cached_property"}:
        head = f"{node.name}: {result.removeprefix(' -> ')}"
    else:
        arguments = deepcopy(node.args)
        if "staticmethod" not in kinds:
            (arguments.posonlyargs or arguments.args).pop(0)
        head = f"{value.__name__ if is_constructor else node.name}({_text(arguments)}){result}"
        head = f"{value.__name__}.{head}" if "classmethod" in kinds else head
    text = [f"- `{head}`", "", *prose(doc)]
    return [text[0], *(f"  {line}" if line else "" for line in text[1:])]


def constant_doc(name: str) -> str:
    """The string behind a constant, in the file that defines it."""
    home = cast("dict[str, str]", vars(mi)["_HOME"])[name].replace(".", "/")
    root = Path(mi.__file__).parent
    for path in sorted((root / home).glob("*.py")) if (root / home).is_dir() else [root / f"{home}.py"]:
        body = _parsed(str(path))[0].body
        for node, after in pairwise(body):
            if isinstance(node, ast.Assign | ast.AnnAssign) and name in ast.unparse(node).partition("=")[0]:
                return _string(after)
    return ""


def prose(doc: str) -> list[str]:
    """A docstring's paragraphs; what is said of parameters, `name: text`, as a list."""
    lines: list[str] = []
    for paragraph in doc.split("\n\n"):
        items = re.split(r"\n(?! )", paragraph)
        named = [_ITEM.fullmatch(item) for item in items]
        if paragraph.startswith("    "):
            lines += ["", "```python", *inspect.cleandoc(f"\n{paragraph}").split("\n"), "```"]
        elif all(named):
            found = [(match[1], " ".join(match[2].split())) for match in named if match is not None]
            lines += ["", *(f"- `{name}`: {text}" for name, text in found)]
        else:
            lines += ["", *paragraph.split("\n")]
    return lines[1:]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
