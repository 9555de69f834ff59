"""The texts, machine code and memory plans of models and lit tests: kept, and compared with those of another commit.

    PYTHONPATH=.:test python -m same_texts keep FOLDER MODELS...       models: files, or folders that hold some
    PYTHONPATH=.:test python -m same_texts compare FOLDER MODELS...    exit status 1 where anything differs

A change that only moves code must leave all of it as it is. Kept are, of each model, the module at every level for a
CPU and for a GPU, LLVM's text, digests of the objects, CUDA's text and both memory plans; of each lit test what the
programs of its RUN lines print before filecheck reads it. Models with open dimensions are compiled for ranges.
"""

from __future__ import annotations

import gzip
import hashlib
import multiprocessing
import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from mini_lit import PROGRAMS, call, import_tools, parse_run_line, run_lines
from models.builder import open_dimensions
from models.dynamic import DYNAMIC_MODELS, dynamic_model
from models.small import SMALL_MODELS
from no_cache import compile_always
from onnx import ModelProto
from rich.console import Console
from rich.progress import track
from xdsl.dialects.builtin import ModuleOp

from mini_infer.dialects.errors import MiniInferError
from mini_infer.dialects.garbage_collection import collection_paused
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.dialects.sizes.size_attributes import guards_of_module
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.lowering.levels import Level
from mini_infer.lowering.module_text import print_module
from mini_infer.lowering.onnx_to_graph.model_file import load_model
from mini_infer.lowering.pipelines import Phase, phases, run_phases
from mini_infer.passes.memory.report.memory_report import MemoryPlan, memory_plan
from mini_infer.runtime.compile.engine_phases import engine_phases
from mini_infer.runtime.compile.source import source_of
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native.cpu_targets import target_attribute
from mini_infer.runtime.native.machine_code import start_compiling
from mini_infer.runtime.profile import OptimizationProfile

CPU, THREADS, GPU = "x86-64-v4", 2, "sm_80"  # that code is made for, whichever machine makes it
RANGE = 1, 4, 64  # of open dimensions
SHOWN = 12  # lines of a difference
ROOT = Path(__file__).parents[1]
CONSOLE = Console(soft_wrap=True)
Texts = Mapping[str, str]


@dataclass(frozen=True)
class Source:
    """A model or a lit test, under a name that a folder can have."""

    name: str
    made: Path | Callable[[], ModelProto]

    def texts(self) -> Texts:
        """What is made of it, by what it is; an error is a text too."""
        warnings.simplefilter("ignore")
        if isinstance(self.made, Path) and self.made.suffix == ".mlir":
            return dict(_of_test(self.made))
        model = self.made if isinstance(self.made, Path) else self.made()
        proto = load_model(model).proto if isinstance(model, Path) else model
        dims = open_dimensions(proto)
        return {**dict(_on_cpu(model, dims)), **({} if dims else dict(_on_gpu(model)))}


def sources(models: Sequence[Path]) -> list[Source]:
    """All lit tests, the small models of tests, and those that files and folders hold."""
    here = Path(__file__).parent
    found = [Source(f"lit/{path.relative_to(here).with_suffix('')}", path) for path in sorted(here.rglob("*.mlir"))]
    found += [Source(f"small/{name}", make) for name, make in SMALL_MODELS.items()]
    found += [Source(f"dynamic/{build.__name__}", partial(dynamic_model, build)) for build in DYNAMIC_MODELS]
    for given in models:
        paths = sorted(given.rglob("*.onnx")) if given.is_dir() else [given]
        found += [Source(f"model/{path.parent.name}-{path.stem}", path.resolve()) for path in paths]
    return found


def _on_cpu(model: Path | ModelProto, dims: Sequence[str]) -> Iterator[tuple[str, str]]:
    profile = OptimizationProfile(dims=dict.fromkeys(dims, RANGE)) if dims else None
    config = EngineConfig.of(threads=THREADS, profile=profile)
    try:
        with collection_paused():
            module, ctx = source_of(model).load(config)
            module.attributes["kernel.target"] = target_attribute(config, CPU)
            *above, last = by_level(engine_phases(config))
            for level, passes in above:
                run_phases(ctx, module, passes)
                yield f"cpu.{level}", _printed(ctx, module)
                if level == "arena":
                    yield "cpu.plan", _plan_text(memory_plan(module))
            compilation = start_compiling(ctx, module, last[1], None, None)
            yield "cpu.llvm", "\n".join(part.text for part in compilation.parts)
            yield "cpu.objects", "\n".join(hashlib.sha256(each).hexdigest() for each in compilation.objects())
            yield "cpu.guards", "\n".join(sorted(map(str, guards_of_module(module).noted.values())))
    except MiniInferError as error:
        yield "cpu.error", f"{type(error).__name__}: {error}"


def _on_gpu(model: Path | ModelProto) -> Iterator[tuple[str, str]]:
    try:
        with collection_paused():
            module, ctx = source_of(model).load(EngineConfig())
            module.attributes["kernel.target"] = GpuAttr.named(GPU, "fp32")
            for level, passes in by_level(phases(device="cuda")):
                run_phases(ctx, module, passes)
                yield f"gpu.{level}", _printed(ctx, module)
                if level == "arena":
                    yield "gpu.plan", _plan_text(memory_plan(module))
            yield "gpu.cuda", cuda_text(module)
    except MiniInferError as error:
        yield "gpu.error", f"{type(error).__name__}: {error}"


def by_level(every: Sequence[Phase]) -> list[tuple[Level, list[Phase]]]:
    """Phases in order, those that end at one level together."""
    levels: dict[Level, None] = dict.fromkeys(phase.level for phase in every)
    return [(level, [phase for phase in every if phase.level == level]) for level in levels]


def _printed(ctx: MiniContext, module: ModuleOp) -> str:
    return print_module(ctx, module, elide=True)


def _plan_text(plan: MemoryPlan) -> str:
    return "\n".join([str(plan), *(str(vars(each)) for each in (*plan.tensors, *plan.buffers)), *plan.steps])


def _of_test(path: Path) -> Iterator[tuple[str, str]]:
    """The output of every program but filecheck; RUN lines that need a shell are left out."""
    import_tools()
    os.chdir(path.parent)
    with TemporaryDirectory() as folder:
        values = {"%s": str(path), "%t": f"{folder}/t", "%S": str(path.parent)}
        for number, line in enumerate(run_lines(path.read_text())):
            pipeline = parse_run_line(re.sub("%[stS]", lambda match: values[match[0]], line)) or []
            given, texts = b"", list[str]()
            for command in pipeline:
                if command.words[0] == "filecheck":
                    break
                if command.stdin is not None:
                    given = Path(command.stdin).read_bytes()
                result = call(PROGRAMS[command.words[0]], command.words[1:], given, command.merged)
                given = result.output
                texts.append(f"{result.status}\n{result.errors}\n{given.decode()}")
                if command.stdout is not None:
                    Path(command.stdout).write_bytes(given)
            whole = "\n".join(texts).replace(folder, "").replace(str(ROOT), "")
            yield f"run{number}", re.sub(r"[ \d.]+ (?=ms)|(\.\./)+", "", whole)


def all_made(models: Sequence[Path]) -> Iterator[tuple[Source, Texts]]:
    """The texts of all sources, each made in a process that is forked for it."""
    every = sources(models)
    import_tools()
    with multiprocessing.get_context("fork").Pool(os.cpu_count(), maxtasksperchild=1) as pool:
        yield from zip(every, track(pool.imap(Source.texts, every), total=len(every), console=CONSOLE), strict=True)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
Models = Annotated[list[Path] | None, typer.Argument()]


@app.command()
def keep(folder: Path, models: Models = None) -> None:
    """Writes all texts into a folder, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    for source, texts in all_made(models or []):
        for kind, text in texts.items():
            place = folder / source.name / f"{kind}.gz"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(gzip.compress(text.encode(), 1))


@app.command()
def compare(folder: Path, models: Models = None) -> None:
    """Makes all texts again and shows how they differ from the folder's."""
    same = different = 0
    for source, texts in all_made(models or []):
        kept = {path.stem: path for path in (folder / source.name).glob("*.gz")}
        for kind in sorted({*kept, *texts}):
            before = gzip.decompress(kept[kind].read_bytes()).decode() if kind in kept else ""
            after = texts.get(kind, "")
            if before == after:
                same += 1
                continue
            different += 1
            CONSOLE.print(f"{source.name} {kind}", markup=False)
            lines = unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
            for line in islice(lines, 2, 2 + SHOWN):
                CONSOLE.print(f"  {line[:300]}", markup=False, highlight=False)
    CONSOLE.print(f"{same} texts are the same, {different} differ")
    sys.exit(bool(different))


if __name__ == "__main__":
    compile_always()
    app()
