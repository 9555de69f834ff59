"""The rules that hold the project together: names agree, tests can fail, layers and lazy imports hold."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from mini_lit import weaknesses

import mini_infer
from mini_infer.lowering import pipelines
from mini_infer.lowering.levels import LEVELS
from mini_infer.lowering.registry import DIALECTS, PASSES, dialect_factories, load_pass, pass_summary
from mini_infer.lowering.universe import UNIVERSE

ROOT = Path(__file__).resolve().parents[3]
OURS = {name: entry for name, entry in PASSES.items() if entry.startswith("mini_infer.")}


def source_of(entry: str) -> Path:
    """The file that a registry entry names."""
    module = entry.partition(":")[0].removeprefix("mini_infer.")
    return ROOT / f"{module.replace('.', '/')}.py"


def pass_classes() -> Iterator[tuple[Path, str]]:
    """Every class that is directly a ModulePass or a PatternPass: its file and its name."""
    for folder in ("passes", "lowering"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                bases = node.bases if isinstance(node, ast.ClassDef) else []
                if any(isinstance(base, ast.Name) and base.id in ("ModulePass", "PatternPass") for base in bases):
                    assert isinstance(node, ast.ClassDef)
                    if node.name != "PatternPass":
                        yield file, node.name


@pytest.mark.parametrize("name", OURS)
def test_pass_has_one_name_everywhere(name: str) -> None:
    file = source_of(OURS[name])
    assert file.stem == name.replace("-", "_")
    assert OURS[name].partition(":")[2] == "".join(word.capitalize() for word in name.split("-"))
    assert load_pass(name).name == name
    folder = file.parent.relative_to(ROOT)
    tests = ROOT / "test" / (folder if folder.parts[0] == "passes" else folder.parts[0])
    assert (tests / f"{name}.mlir").is_file() or list(tests.glob(f"{name}-*.mlir"))


def test_every_pass_is_registered() -> None:
    written = {f"{file.relative_to(ROOT)}:{name}" for file, name in pass_classes()}
    registered = {f"{source_of(entry).relative_to(ROOT)}:{entry.partition(':')[2]}" for entry in OURS.values()}
    assert written == registered


@pytest.mark.parametrize("name", PASSES)
def test_pass_can_be_summed_up_and_loaded(name: str) -> None:
    assert load_pass(name).name == name
    summary = pass_summary(name)
    assert 10 < len(summary) < 110


@pytest.mark.parametrize("name", DIALECTS)
def test_dialect_has_the_name_it_is_registered_under(name: str) -> None:
    assert dialect_factories()[name]().name == name


@pytest.mark.parametrize("device", pipelines.PATHS)
def test_every_device_has_phases_for_its_levels(device: str) -> None:
    changes = ["profile-kernels,plan-arena{alignment=64}"]
    plain = pipelines.phases(device, optimize=False, plan_memory=False, changes=changes)
    for phases in (pipelines.phases(device), plain):
        assert tuple(dict.fromkeys(phase.level for phase in phases)) == pipelines.PATHS[device]
        assert all(pipelines.parse_passes(phase.passes) for phase in phases)


def test_every_pass_of_a_phase_stands_on_a_line_with_the_reason_for_its_place() -> None:
    source = Path(pipelines.__file__).read_text(encoding="utf-8")
    lines = [
        line
        for block in re.findall(r"_text\(\n(.*?)^\)", source, re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
    ]
    whole = (pipelines.GRAPH, pipelines.DEVICE_GRAPH, pipelines.KERNELS, pipelines.BUFFERS, pipelines.ARENA)
    below = (text for levels in pipelines.BELOW.values() for text in levels.values())
    assert len(lines) == sum(len(pipelines.parse_passes(text)) for text in (*whole, *below))
    assert [line for line in lines if not re.fullmatch(r' {4}"[a-z-]+",  # .+', line)] == []


def test_options_are_given_to_passes_by_name_and_none_leaves_out() -> None:
    given = {"plan-arena": {"strategy": "pools", "capacity": None, "alignment": 64}, "verify-arena": None}
    assert pipelines.with_options("plan-arena,verify-arena,dce", given) == "plan-arena{strategy=pools alignment=64},dce"


def test_every_level_is_on_the_path_of_a_device() -> None:
    assert {level for path in pipelines.PATHS.values() for level in path} == set(LEVELS)


@pytest.mark.parametrize("test", sorted((ROOT / "test").rglob("*.mlir")), ids=lambda path: path.name)
def test_lit_test_can_fail(test: Path) -> None:
    assert weaknesses(test.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "weakness"),
    [
        ("// no run line", "has no RUN line"),
        ("// RUN: mini-opt -p cse | filecheck %s", ""),
        ("// RUN: mini-opt %s -p cse", "throws its output away"),
        ("// RUN: mini-opt %s --verify-diagnostics", "expects no diagnostics"),
        ("// RUN: mini-opt %s --verify-diagnostics\n// expected-error {{no}}", ""),
        ("// RUN: mini-opt %s -o %t.mlir", "checks nothing"),
        ("// RUN: mini-opt -p cse | filecheck other.txt", "neither reads %s nor %t"),
    ],
)
def test_weak_lit_tests_are_found(text: str, weakness: str) -> None:
    assert any(found.startswith(weakness) for found in [*weaknesses(text), ""])
    assert bool(weaknesses(text)) == bool(weakness)


@pytest.mark.parametrize("file", sorted((ROOT / "passes" / "planning").glob("*.py")), ids=lambda path: path.stem)
def test_planning_imports_nothing_of_ours_but_how_to_refuse(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            refuses = node.level == 3 and node.module in ("dialects.arguments", "dialects.errors")
            assert refuses or (node.level < 2 and not (node.module or "").startswith("mini_infer"))


def internals_of_xdsl(trees: Mapping[str, ast.Module]) -> Iterator[str]:
    """Where files name what is private in xDSL, or write into its classes: private names that none of them defines."""
    every = [node for tree in trees.values() for node in ast.walk(tree)]
    ours = {node.name for node in every if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    ours |= {node.id for node in every if isinstance(node, ast.Name)}
    ours |= {node.attr for node in every if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    for file, tree in trees.items():
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        names = {name.name for node in imports if (node.module or "").startswith("xdsl") for name in node.names}
        yield from (f"{file}: {name}" for name in names if name.startswith("_"))
        for node in ast.walk(tree):
            if not names or not isinstance(node, ast.Attribute):
                continue
            private = node.attr.startswith("_") and not node.attr.endswith("__") and node.attr not in ours
            written = isinstance(node.value, ast.Name) and node.value.id in names and isinstance(node.ctx, ast.Store)
            if private or written or node.attr == "__dict__":
                yield f"{file}:{node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from xdsl.ir import Block, _x", ["a.py: _x"]),
        ("from xdsl.ir import Block\nBlock._names", ["a.py:2: Block._names"]),
        ("from xdsl.ir import Block\nBlock.verify = None", ["a.py:2: Block.verify"]),
        ("from xdsl.ir import Block\nblock.__dict__", ["a.py:2: block.__dict__"]),
        ("from xdsl.ir import Block\nself._mine = 1\nself._mine\nBlock.verify", []),
    ],
)
def test_internals_of_xdsl_are_found(text: str, found: list[str]) -> None:
    assert list(internals_of_xdsl({"a.py": ast.parse(text)})) == found


def test_internals_of_xdsl_are_touched_in_one_file() -> None:
    folders = ("dialects", "passes", "lowering", "runtime", "tools")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py") if file.name != "xdsl_repairs.py"]
    assert len(files) > 200
    trees = {str(file.relative_to(ROOT)): ast.parse(file.read_text(encoding="utf-8")) for file in files}
    assert not list(internals_of_xdsl(trees))


def test_public_names_can_be_imported() -> None:
    for name in mini_infer.__all__:
        assert getattr(mini_infer, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mini_infer.nothing  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] # noqa: B018


def imported_by(statement: str) -> set[str]:
    """The top-level packages loaded after `statement` in a fresh interpreter."""
    code = f"{statement}\nimport sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_the_package_imports_nothing_heavy() -> None:
    assert not imported_by("import mini_infer") & {"llvmlite", "numpy", "onnx", "xdsl"}


def test_an_engine_runs_without_what_built_it() -> None:
    names = "devices.cpu.cpu_device", "engine", "plan", "memory.storage", "memory.tensor"
    modules = ", ".join(f"mini_infer.runtime.{name}" for name in names)
    assert not imported_by(f"import {modules}") & {"llvmlite", "onnx"}


def test_mini_opt_starts_without_onnx_and_llvmlite() -> None:
    assert not imported_by("import mini_infer.tools.mini_opt.command") & {"cupy", "llvmlite", "numpy", "onnx", "xdsl"}


def test_plain_xdsl_knows_our_dialects_and_passes() -> None:
    assert {"graph", "kernel"} <= UNIVERSE.all_dialects.keys()
    assert UNIVERSE.all_passes.keys() == OURS.keys()


def test_changelog_knows_this_version() -> None:
    headings = re.findall(r"^## \[?([0-9.]+|Unreleased)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert "Unreleased" in headings or mini_infer.__version__ in headings


FOLDERS = ("dialects", "passes", "lowering", "runtime", "tools")
MOST_FILES = {"lowering/onnx_to_graph/handlers": 27, "dialects/graph/ops": 28}
"""Of a folder, where it is more than 23: families of operators and of ops, one file each."""


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_folder_is_a_heap(folder: str) -> None:
    places = [ROOT / folder, *(each for each in (ROOT / folder).rglob("*") if each.is_dir())]
    counts = {str(place.relative_to(ROOT)): len([*place.glob("*.py")]) for place in places}
    assert {name: count for name, count in counts.items() if count > MOST_FILES.get(name, 23)} == {}


def test_layers_of_all_code_folders_are_held() -> None:
    """Who adds a folder of code says on what it may stand."""
    text = (ROOT / "pyproject.toml").read_text()
    for name in ("kernel_code", "kernels_to_loops", "kernels_to_gpu", "loops_to_llvm", "gpu_to_cuda", "onnx_to_graph"):
        assert re.search(rf"layers = \[[^\]]*\b{name}\b", text), name


OF_ONE_SUBJECT = (
    re.compile(
        r"dialects/graph/(ops)|lowering/onnx_to_graph/(handlers|microsoft)|passes/graph/(canonical)"
        r"|passes/kernels/(forms|schedules/\w+)(?:/\w+)?|lowering/(kernels_to_\w+)/families/\w+"
    ),
    re.compile(r"lowering/(gpu_to_cuda|loops_to_llvm)"),
)
"""Folders whose files of one name are about the same ops or the same schedule; the back ends', about one dialect."""


def files_of_one_name(files: Iterable[str]) -> Iterator[list[str]]:
    """Files that only their folders tell apart: the groups of one name, beyond a verb's and those of one subject."""
    named: dict[str, list[Path]] = {}
    for file in map(Path, files):
        if file.name != "__init__.py" and file.parent != Path("tools/commands"):
            named.setdefault(file.name, []).append(file.parent)
    for name, folders in named.items():
        if len(folders) == 1:
            continue
        for subject in OF_ONE_SUBJECT:
            found = [match for folder in folders if (match := subject.fullmatch(str(folder)))]
            if len({match[match.lastindex or 0] for match in found}) == len(folders):
                break
        else:
            yield [f"{folder}/{name}" for folder in folders]


@pytest.mark.parametrize(
    ("files", "allowed"),
    [
        ("runtime/__init__.py tools/__init__.py", True),
        ("runtime/plan.py tools/commands/plan.py", True),
        ("passes/kernels/schedules/cpu/rows.py lowering/kernels_to_loops/families/rows/rows.py", True),
        ("dialects/graph/ops/resize.py lowering/onnx_to_graph/handlers/resize.py", True),
        ("passes/kernels/schedules/cpu/products/panels.py lowering/kernels_to_loops/families/products/panels.py", True),
        ("lowering/gpu_to_cuda/types.py lowering/loops_to_llvm/types.py", True),
        ("runtime/inputs.py lowering/onnx_to_graph/inputs.py", False),
        ("lowering/kernels_to_gpu/families/rows/a.py lowering/kernels_to_gpu/families/movement/a.py", False),
        ("lowering/gpu_to_cuda/types.py dialects/graph/ops/types.py", False),
    ],
)
def test_files_of_one_name_are_found(files: str, allowed: bool) -> None:
    assert list(files_of_one_name(files.split())) == ([] if allowed else [files.split()])


def test_a_file_is_known_by_its_name() -> None:
    files = [str(file.relative_to(ROOT)) for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    assert list(files_of_one_name(files)) == []
