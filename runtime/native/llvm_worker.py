"""Compilation of one part of a module by LLVM, and the worker process that does it.

Run as a program, this file reads parts from standard input and writes results to standard output, until the input ends.
It starts in a tenth of a second because it imports llvmlite and nothing of ours.
"""

from __future__ import annotations

import marshal
import os
import signal
import sys
import time
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import IO, Any, NamedTuple

LENGTH = 8  # bytes of a message's length prefix

# Passes for loops in final form. Level 2 took twice as long for them and made them no faster: on
# Zen 3 the kernels of MobileNet-v3 take 5.78 ms with it and 5.77 without, those of ResNet-50 89.4 and 88.5 ms.
FEW_PASSES = (
    "always_inliner",
    "ipsccp",  # constant propagation into arguments
    "dead_arg_elimination",
    "instruction_combine",
    "simplify_cfg",
    "new_gvn",
    "loop_simplify",  # the loop form that unrolling needs
    "lcssa",
    "loop_unroll",  # short inner sums: 1x1 convolutions of 16 channels ran 1.1 times as long without
    "simplify_cfg",
    "dead_code_elimination",
    "global_dead_code_eliminate",
)


class Part(NamedTuple):
    """LLVM IR text to compile with the modules of `link` linked in, its target and options.

    `as_written`: the loops are in final form. `listed`: the assembly text, from which the object code is made, is
    wanted, too.
    """

    text: str
    link: tuple[str, ...]
    triple: str
    cpu: str
    features: str
    opt_level: int
    as_written: bool = False
    listed: bool = False


class Compiled(NamedTuple):
    """Object code or LLVM's error message; LLVM's time in seconds; whether a worker process compiled it.

    `assembly` is the text of a part that is to be listed.
    """

    code: bytes
    error: str
    parse: float
    optimize: float
    generate: float
    beside: bool = False
    assembly: str = ""


@cache
def binding() -> Any:
    """llvmlite, initialised for this machine's architecture."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def _know_all_architectures() -> None:
    """Initialises all architectures, which makes 10 MB more of LLVM resident."""
    binding().initialize_all_targets()
    binding().initialize_all_asmprinters()


@cache
def target_machine(triple: str, cpu: str, features: str, opt_level: int) -> Any:
    """LLVM's target machine, which is slow to create.

    Raises RuntimeError for an architecture that LLVM doesn't support.
    """
    here = binding().get_default_triple()
    if triple and triple.partition("-")[0] != here.partition("-")[0]:
        _know_all_architectures()
    target = binding().Target.from_triple(triple or here)
    return target.create_target_machine(opt=opt_level, cpu=cpu, features=features, reloc="pic", codemodel="small")


def parsed(text: str, link: Sequence[str], target: Any) -> Any:
    """LLVM's module for a text. Raises RuntimeError if it is malformed."""
    modules: list[Any] = []
    for each in (text, *link):
        module = binding().parse_assembly(each)
        module.verify()
        module.triple = target.triple
        module.data_layout = str(target.target_data)
        modules.append(module)
    for module in modules[1:]:
        modules[0].link_in(module)
    return modules[0]


def optimize(module: Any, target: Any, opt_level: int, *, as_written: bool = False) -> None:
    """Runs LLVM's optimisations of a level, or only those few that loops in final form need."""
    llvm = binding()
    options = llvm.create_pipeline_tuning_options(speed_level=opt_level)
    options.loop_vectorization = opt_level >= 2
    options.slp_vectorization = opt_level >= 2
    builder = llvm.create_pass_builder(target, options)
    if as_written and opt_level:
        passes = llvm.create_new_module_pass_manager()
        for name in FEW_PASSES:
            getattr(passes, f"add_{name}_pass")()
    else:
        passes = builder.getModulePassManager()
    passes.run(module, builder)
    # llvmlite 0.50 never frees a pass manager (150 KB): ModulePassManager inherits ObjectRef's empty _dispose first.
    llvm.newpassmanagers.NewPassManager._dispose(passes)
    passes.detach()


def compiled(part: Part) -> Compiled:
    """Position-independent object code."""
    times = [time.perf_counter()]
    target = target_machine(part.triple, part.cpu, part.features, part.opt_level)
    try:
        module = parsed(part.text, part.link, target)
    except RuntimeError as error:
        return Compiled(b"", str(error), 0, 0, 0)
    times.append(time.perf_counter())
    optimize(module, target, part.opt_level, as_written=part.as_written)
    times.append(time.perf_counter())
    assembly = _assembly(module, target) if part.listed else ""
    code = bytes(target.emit_object(_assembled(assembly, target) if part.listed else module))
    times.append(time.perf_counter())
    parse, optimized, generate = (end - start for start, end in pairwise(times))
    return Compiled(code, "", parse, optimized, generate, assembly=assembly)


def _assembly(module: Any, target: Any) -> str:
    target.set_asm_verbosity(True)
    return str(target.emit_assembly(module))


def _assembled(text: str, target: Any) -> Any:
    """An LLVM module that consists of assembly text; its object code is that text's, without line directives."""
    binding().initialize_native_asmparser()
    lines = (line for line in text.split("\n") if not line.lstrip().startswith((".loc\t", ".file\t")))
    escaped = (line.replace("\\", "\\5C").replace('"', "\\22") for line in lines)
    return parsed("\n".join(f'module asm "{line}"' for line in escaped), (), target)


def send(stream: IO[bytes], message: tuple[Any, ...]) -> None:
    """Writes a tuple of plain values."""
    data = marshal.dumps(message)
    stream.write(len(data).to_bytes(LENGTH, "little"))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[Any, ...] | None:
    """The next tuple, None at the end of the stream."""
    length = stream.read(LENGTH)
    if len(length) < LENGTH:
        return None
    size = int.from_bytes(length, "little")
    data = stream.read(size)
    return marshal.loads(data) if len(data) == size else None


def main() -> None:
    """The worker's loop; its only argument is llvmlite's folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the worker ignores Ctrl-C: its parent ends it
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.path.insert(0, sys.argv[1])
    binding()
    try:
        while (message := receive(sys.stdin.buffer)) is not None:
            send(answers, tuple(compiled(Part(*message))))
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
