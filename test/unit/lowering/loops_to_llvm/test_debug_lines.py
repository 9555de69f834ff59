"""Debug locations of LLVM IR: each instruction tells its line, assembly refers to it, and the code is the same."""

from __future__ import annotations

import re

import pytest
from models.small import SMALL_MODELS
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

import mini_infer as mi
from mini_infer.lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
from mini_infer.lowering.pipelines import run_phases
from mini_infer.runtime.compile.engine_phases import engine_phases
from mini_infer.runtime.compile.module_to_plan import plan_memory
from mini_infer.runtime.compile.source import source_of
from mini_infer.runtime.native.code_listing import CodeListing
from mini_infer.runtime.native.cpu_targets import host_target
from mini_infer.runtime.native.llvm_worker import compiled
from mini_infer.runtime.native.llvmlite_calls import emit_assembly, part_of


@pytest.fixture(scope="module")
def module() -> ModuleOp:
    """A model at the llvm level, each op with a location of its own at the loops level."""
    config = mi.EngineConfig(threads=1)
    module, ctx = source_of(SMALL_MODELS["mlp"]()).load(config)
    plan_memory(module, ctx, config)
    for phase in engine_phases(config):
        if phase.level == "loops":
            run_phases(ctx, module, [phase], verify=False)
            for number, op in enumerate(module.walk(), 1):
                op.location = FileLineColLoc(StringAttr("loops"), IntAttr(number), IntAttr(0))
        elif phase.level == "llvm":
            run_phases(ctx, module, [phase], verify=False)
    return module


def line(op: Operation) -> int:
    return op.location.line.data if isinstance(op.location, FileLineColLoc) else 0


def test_each_instruction_has_its_own_line(module: ModuleOp) -> None:
    sources: list[Operation | None] = []
    text = emit_llvm_ir(module, sources=sources)
    lines = text.split("\n")
    places = dict(re.findall(r"(?m)^(!\d+) = !DILocation\(line: (\d+), scope: !\d+\)$", text))
    found = 0
    for number, source in enumerate(sources, 1):
        debug = re.search(r", !dbg (!\d+)$", lines[number - 1])
        assert (source is not None) == (debug is not None), lines[number - 1]
        if debug is not None:
            assert int(places[debug[1]]) == number
            found += 1
    assert found > 100
    assert sum(line(source) > 0 for source in sources if source is not None) > 0.9 * found


def test_assembly_is_the_same_and_refers_to_the_lines(module: ModuleOp) -> None:
    sources: list[Operation | None] = []
    machine = host_target().machine
    plain, debug = emit_llvm_ir(module), emit_llvm_ir(module, sources=sources)
    made = compiled(part_of(debug, machine, listed=True))
    assert not made.error and made.code
    listing = CodeListing(line)
    listing.add_llvm_ir(debug, sources)
    listing.add_assembly(0, made.assembly)
    number = re.compile(r"!\d+")  # of metadata, of which there is more with debug locations
    assert [number.sub("!", each) for each in listing.llvm_ir] == [
        number.sub("!", each) for each in plain.split("\n")[: len(sources)]
    ]
    assert code(emit_assembly(plain, machine)) == code("\n".join(listing.assembly))
    tied = [
        (text, listing.llvm_ir[at - 1])
        for text, at in zip(listing.assembly, listing.assembly_sources, strict=True)
        if at
    ]
    multiplied = [source for text, source in tied if "vfmadd" in text or "fmla" in text]
    own = [source for source in multiplied if re.search("fma|fmul|fadd", source)]
    assert len(own) > 0.5 * len(multiplied) > 0, "some have the line of a load or a lane that is folded into them"
    assert all(0 <= at <= len(sources) for at in listing.assembly_sources)


def code(assembly: str) -> list[str]:
    """The instructions of an assembly text, without comments and names of labels."""
    lines = (re.sub(r"\.L\w+", "L", each.partition("#")[0]).split() for each in assembly.split("\n"))
    return [" ".join(each) for each in lines if each and not each[0].startswith(".") and not each[0].endswith(":")]
