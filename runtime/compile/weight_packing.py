"""Packs a module's weights in a thread, from the time that they have places, while the module is lowered and compiled.

Python code of both takes turns, but copies, products, and LLVM run without the interpreter's lock.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from xdsl.dialects.builtin import ModuleOp

from ...dialects.graph.blobs import MiniContext
from ...lowering.pipelines import Observer, PassRun
from ...passes.memory.place_weights import PlaceWeights
from ..device import Array
from ..kept.begun_model import BegunModel
from ..module_interface import weight_segment


class WeightPacking:
    """Packs weights to memory, or to a file that was begun; a context manager that waits for its thread.

    Without `beside` it has no thread, and packs when it is asked for the weights.
    """

    def __init__(self, ctx: MiniContext, begun: BegunModel | None = None, *, beside: bool = False) -> None:
        self._ctx, self._begun = ctx, begun
        self._threads = ThreadPoolExecutor(1) if beside else None
        self._packed: Future[Array] | None = None
        self.module: ModuleOp | None = None
        """Whose weights they are."""

    def __enter__(self) -> WeightPacking:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    def after_passes(self, then: Observer | None) -> Observer:
        """An observer that starts packing when weights have their places, after telling another one."""

        def observer(run: PassRun, module: ModuleOp) -> None:
            if then is not None:
                then(run, module)
            if self._threads is not None and run.name == PlaceWeights.name:
                self._packed = self._threads.submit(self.pack)

        return observer

    def weights(self) -> Array:
        """Waits for the weights. Raises as `pack`."""
        return self.pack() if self._packed is None else self._packed.result()

    def pack(self) -> Array:
        """The weights of `module`. Raises InvalidModelError if the files that they are read from have changed."""
        assert self.module is not None
        weights = weight_segment(self.module, self._ctx, self._begun)
        self._ctx.blobs.check_unchanged()
        return weights
