"""Builder: compiles a model from its source to a plan with code, by the same steps for all sources and devices."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from ...dialects.garbage_collection import collection_paused, count_all_as_old
from ...dialects.graph.blobs import MiniContext
from ...dialects.sizes.guards import Guards
from ...dialects.sizes.size_attributes import guards_of_module
from ...lowering.pipelines import Observer, PassRun
from ...passes.statistics import pass_statistics
from ..compute_device import compute_device
from ..config import EngineConfig
from ..engine import CompiledModel, Engine
from ..file_cache import FileCache
from ..kept.begun_model import BegunModel
from ..limits import give_back_memory, memory_for
from ..native.code_listing import CodeListing
from ..native.cpu_targets import host_target
from ..progress import LOG, Progress, StepCounter
from .module_to_plan import build_plan, compilers_for, pass_names
from .source import Best, Source


@dataclass(frozen=True)
class Builder:
    """Compiles a source, by default for the profile's optimal shapes; a call may pass others."""

    source: Source
    config: EngineConfig
    progress: Callable[[Progress], None] | None = None
    """Called before every step."""
    observer: Observer | None = None
    """Called with the module after every pass."""
    prepare: Callable[[ModuleOp, MiniContext], None] | None = None
    """Called with the module before the first pass, and may change it."""
    machine: str | None = None
    """A CPU as targets.cpu_target names it, "" being this one: then code is linked for a file, and not loaded."""
    objects: FileCache | None = None
    """The cache of compiled parts of modules."""
    begun: BegunModel | None = None
    """The file that the weights are written to; else they are in memory."""
    changes: Sequence[str] | None = None
    """Changes of the pipeline, as for plan_memory."""
    listing: CodeListing | None = None
    """Where the texts of machine code are noted; then no compiled parts are taken from a cache."""

    def __call__(self, best: Best | None = None) -> CompiledModel:
        """Compiles the model. Raises as `compile` does."""
        start, config = time.perf_counter(), self.config
        compute_device(config.place).open()
        steps = StepCounter(("import", *pass_names(config), "machine code"), self.progress)
        count_all_as_old()
        with collection_paused(), memory_for("compiling the model"), Guards().collecting() as guards:
            module, ctx = self.source.load(config, best)
            if self.prepare is not None:
                self.prepare(module, ctx)
            steps.change(("import", *pass_names(config, module), "machine code"))
            steps.next()

            def observer(done: PassRun, module: ModuleOp) -> None:
                steps(done, module)
                if self.observer is not None:
                    self.observer(done, module)

            objects = self.objects if self.listing is None else None
            with compilers_for(module, config, objects, self.listing) as compilers:
                plan = build_plan(
                    module,
                    ctx,
                    config,
                    observer,
                    machine=self.machine or "",
                    compilers=compilers,
                    begun=self.begun,
                    loaded=self.machine is None,
                    changes=self.changes,
                )
            guards.add(guards_of_module(module))
            made = CompiledModel(plan, pass_statistics(ctx), guards if config.is_dynamic else None)
            del module, ctx
            give_back_memory()
        steps.next()
        if config.is_dynamic:  # the plan has no numbers to tell
            LOG.info("compiled in %.2f s", time.perf_counter() - start)
        else:
            LOG.info("compiled in %.2f s: %r", time.perf_counter() - start, Engine(plan, config, made.statistics))
        return made


def import_all(config: EngineConfig) -> None:
    """Imports all modules that a compile uses, which are otherwise imported on first use."""
    from ...lowering.onnx_to_graph import module

    del module
    pass_names(config)
    if compute_device(config.place).kind != "cpu":
        return
    from ...dialects.modules import modules_below
    from ...lowering.kernels_to_loops import families
    from ...lowering.loops_to_llvm import emit_llvm_ir, runtime_ir

    del emit_llvm_ir, runtime_ir
    modules_below(families.__name__)
    host_target()
