"""Exports a model as C files (object, header, weights, example), for programs without Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import xxhash
from typing_extensions import Unpack

from ...dialects.arguments import check_kind, checked_path
from ...dialects.atomic_file import write_folder
from ...dialects.errors import ConfigError, UnsupportedError
from ...dialects.garbage_collection import collection_paused
from ...dialects.kernel.targets import cpu_of
from ...dialects.sizes.size_attributes import symbols_of_module
from ...lowering.loops_to_llvm.c_entry_ir import BLOCK_BYTES, HEADER_BYTES, MARK, CEntry, Pointer
from ..compile.late_options import check_cpu
from ..compile.module_to_plan import Lowered, lower
from ..compile.source import configured_source
from ..config import CompileOptions, EngineConfig
from ..limits import memory_for
from ..module_interface import WEIGHT_ALIGNMENT
from ..native.call_checks import check_c_calls, undefined_symbols
from ..native.cpu_targets import machine_of
from ..native.llvm_worker import Part
from ..native.llvmlite_calls import part_of
from ..native.machine_code import MachineCode
from ..native.one_object import one_object
from ..native.user_objects import check_kept, object_of
from .c_example import example
from .c_interface import CInterface, Parameter, check_name, model_name, parameters

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_file import ModelSource

_EMBEDDED = """\
/* The weights of {name} as a part of the program: assemble it where {name}.weights lies, or with -I of that folder. */
#if defined(__APPLE__)
  .const
  .globl _{name}_weights
  .balign {alignment}
_{name}_weights:
#else
  .section .rodata
  .globl {name}_weights
  .balign {alignment}
{name}_weights:
#endif
  .incbin "{name}.weights"
#if defined(__ELF__)
  .section .note.GNU-stack,"",%progbits
#endif
"""


@dataclass(frozen=True)
class CFiles:
    """The result of an export: its interface, its files' sizes in bytes, and the C functions that it calls."""

    interface: CInterface = field(repr=False)
    sizes: Mapping[str, int]
    calls: frozenset[str]


def emit_c(
    model: ModelSource,
    folder: str | os.PathLike[str],
    threads: int | None = None,
    *,
    name: str = "",
    cpu: str = "",
    embed: bool = False,
    replace: bool = False,
    **options: Unpack[CompileOptions],
) -> CFiles:
    """Compiles a model and writes NAME.o, NAME.h, NAME.weights and NAME_example.c into a folder.

    `options` are EngineConfig's. `name` is by default that of the model's file. `cpu` is the target CPU, as `mini-infer
    build --cpu` takes it; by default this machine's. `embed` adds NAME_weights.S, which links the weights into the
    program. A new folder appears atomically, with all of its files; existing files are an error unless `replace`.

    Kernels of users' operators are object files of their own, NAME_operator_....o, which are linked beside NAME.o.

    Raises ConfigError for invalid options and names, UnsupportedError for shapes that are known at run time only,
    MiniInferError if the files can't be written, and the errors of `compile`.
    """
    folder = checked_path("folder", folder, wanted="the path of a folder")
    for what, value in {"name": name, "cpu": cpu}.items():
        check_kind(what, value, str)
    for what, value in {"embed": embed, "replace": replace}.items():
        check_kind(what, value, bool)
    source, config = configured_source(model, EngineConfig.of(threads=threads, **options))
    if config.is_dynamic:
        raise UnsupportedError("C code is for one shape: give sizes instead of ranges")
    if config.device != "cpu":
        raise ConfigError(f"C code is for CPUs; the device is '{config.device}'")
    for option in ("enable_profiling", "enable_hooks", "check", "check_memory", "weights_memory"):
        if getattr(config, option):
            raise ConfigError(f"{option} does nothing in C code")
    if config.threads is not None and config.threads > config.thread_count:
        raise ConfigError(f"threads is {config.threads}; code is made for at most {config.thread_count} here")
    config = replace_fields(config, enable_cancellation=False)  # a program would have to make its stop word known
    file = source.name or "a model"
    name = check_name(name) if name else model_name(Path(file).stem)
    with collection_paused(), memory_for("compiling the model"):
        module, ctx = source.load(config)
        if symbols_of_module(module):
            raise UnsupportedError("C code is for one shape, and the module has symbolic sizes")
        check_cpu(cpu, module)
        lowered = lower(module, ctx, config, machine=cpu)
        target = cpu_of(module)
        assert isinstance(lowered.compilation, MachineCode)  # as the device is a CPU
        interface, pieces = _interface(name, file, target.cpu.data, lowered, embed)
        entry = _entry(interface, lowered, lowered.compilation.parts)
        parts = [*lowered.compilation.parts, part_of(entry.ir(), machine_of(target))]
        kernels = {f"{name}_{each.name}": each for each in lowered.compilation.kernels}
        check_kept(kernels.values(), "C code")
        others = {each.name for each in kernels.values()}
        code = one_object(parts, name, {f"{name}_run", f"{name}_check_weights"}, others)
        made = {each: object_of(kernel.operator, each, machine_of(target)) for each, kernel in kernels.items()}
    check_c_calls(code, target.cpu.data, kernels.keys())
    files: dict[str, list[bytes | memoryview]] = {
        f"{name}.o": [code],
        **{f"{each}.o": [data] for each, data in made.items()},
        f"{name}.h": [interface.header().encode()],
        f"{name}.weights": pieces,
        f"{name}_example.c": [example(interface).encode()],
    }
    if embed:
        files[f"{name}_weights.S"] = [_EMBEDDED.format(name=name, alignment=WEIGHT_ALIGNMENT).encode()]
    write_folder(folder, files, replace=replace)
    sizes = {file: sum(memoryview(piece).nbytes for piece in made) for file, made in files.items()}
    calls = frozenset[str]().union(*(undefined_symbols(each) for each in (code, *made.values()))) - kernels.keys()
    return CFiles(interface, sizes, calls)


def _interface(
    name: str, source: str, cpu: str, lowered: Lowered, embedded: bool
) -> tuple[CInterface, list[bytes | memoryview]]:
    """The interface, and the weights as byte pieces after a header."""
    weights = memoryview(cast("Any", lowered.weights()))
    padding = bytes(-weights.nbytes % BLOCK_BYTES if weights.nbytes else BLOCK_BYTES)
    digest = xxhash.xxh64(weights)
    digest.update(padding)
    nbytes = HEADER_BYTES + weights.nbytes + len(padding)
    words = np.zeros(HEADER_BYTES // 8, "<u8")
    words[:3] = MARK, nbytes, digest.intdigest()
    assert isinstance(lowered.compilation, MachineCode)
    interface = CInterface(
        name=name,
        source=source,
        cpu=cpu,
        parameters=parameters(lowered.signature),
        arena_bytes=lowered.memory.arena_bytes,
        alignment=lowered.memory.alignment,
        weights_bytes=nbytes,
        weights_alignment=WEIGHT_ALIGNMENT,
        digest=digest.intdigest(),
        threads=lowered.compilation.threads,
        embedded=embedded,
        kernels=tuple(f"{name}_{each.name}.o" for each in lowered.compilation.kernels),
    )
    return interface, [words.tobytes(), weights, padding]


def _entry(interface: CInterface, lowered: Lowered, parts: Sequence[Part]) -> CEntry:
    def pointer(number: int, parameter: Parameter) -> Pointer:
        spec = parameter.spec
        return Pointer(f"a{number}", spec.dtype.itemsize if spec.nbytes else 0)

    return CEntry(
        name=interface.name,
        buffers=[pointer(*each) for each in enumerate(interface.parameters)],
        arena=Pointer("arena", interface.alignment if interface.arena_bytes else 0),
        weights=Pointer("weights", interface.weights_alignment),
        checks=len(lowered.signature.checks),
        failures=[place for place, check in enumerate(lowered.signature.checks) if check.size is None],
        threads=interface.threads,
        weights_bytes=interface.weights_bytes,
        digest=interface.digest,
        asks_for_amx=any("llvm.x86.tile" in part.text for part in parts) and "darwin" not in parts[0].triple,
    )
