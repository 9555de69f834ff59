"""ModuleEngine: an engine called as the PyTorch module that it was compiled from."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import override

from ...dialects.errors import InvalidInputError
from ..device import Array
from ..engine import Engine
from ..memory.tensor import Tensor
from ..plan import ExecutionContext, InferencePlan
from ..specs import SymbolicSpec, TensorSpec, ordered
from .module_signature import ModuleSignature
from .tensors import array_of, tensor_of

if TYPE_CHECKING:
    from ..asynchronous.background import Background
    from ..asynchronous.batch_axis import BatchAxis
    from ..asynchronous.cancellation import RunControl


class ModuleEngine(Engine):
    """An engine of a PyTorch module: it takes the module's arguments, and returns what the module returns.

    Tensors give tensors, over the same memory and without a gradient; arrays give arrays. Arguments that are no tensors
    must be those of the export. A mapping of the inputs' names to values gives a mapping, as for any other engine.
    """

    def __init__(self, engine: Engine, signature: ModuleSignature) -> None:
        self._engine = engine
        self._signature = signature
        self.config = engine.config

    def __getattr__(self, name: str) -> Any:
        """What is the compiled engine's alone: its contexts, and what only some engines have."""
        if name in ("_engine", "_signature") or name.startswith("__"):  # not there yet
            raise AttributeError(name)
        return getattr(self._engine, name)

    @property
    @override
    def plan(self) -> InferencePlan:
        return self._engine.plan

    @property
    @override
    def inputs(self) -> tuple[TensorSpec, ...] | tuple[SymbolicSpec, ...]:
        return self._engine.inputs

    @property
    @override
    def outputs(self) -> tuple[TensorSpec, ...] | tuple[SymbolicSpec, ...]:
        return self._engine.outputs

    @property
    @override
    def input_names(self) -> tuple[str, ...]:
        return self._engine.input_names

    @property
    @override
    def output_names(self) -> tuple[str, ...]:
        return self._engine.output_names

    @override
    def close(self) -> None:
        self._engine.close()

    @override
    def plan_for(self, shapes: Mapping[str, Sequence[int]]) -> InferencePlan:
        return self._engine.plan_for(shapes)

    @override
    def warmup(self, shapes: Iterable[Mapping[str, Sequence[int]]]) -> None:
        self._engine.warmup(shapes)

    @override
    def __repr__(self) -> str:
        return repr(self._engine)

    @override
    def _repr_html_(self) -> str | None:
        return self._engine._repr_html_()

    @override
    def _check_open(self) -> None:
        self._engine._check_open()

    @override
    def _chosen(self, inputs: Sequence[Any]) -> tuple[InferencePlan, deque[ExecutionContext]]:
        return self._engine._chosen(inputs)

    @override
    def _have_background(self) -> Background:
        return self._engine._have_background()

    @override
    def _batch_axis(self) -> BatchAxis:
        return self._engine._batch_axis()

    @override
    def run_ready(self, inputs: Mapping[str, Any]) -> list[Array] | None:
        """None: a call looks at the sizes first."""
        return None

    @override
    def _run(
        self, inputs: Sequence[Any], control: RunControl | None = None
    ) -> tuple[InferencePlan, Sequence[Array | Tensor]]:
        self._signature.check_sizes(inputs)
        return self._engine._run([*map(_taken, self.input_names, inputs)], control)

    @override
    def _given(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> tuple[Sequence[Any], Any]:
        """Arrays over the memory of tensors, and (whether they were given by name, whether any was a tensor)."""
        self._check_open()
        given: Any = arrays[0] if len(arrays) == 1 and not named else None
        by_name = isinstance(given, Mapping) and not self._signature.takes(cast("Mapping[str, Any]", given))
        values = ordered(self.input_names, cast("Any", given)) if by_name else self._signature.inputs(arrays, named)
        return [*map(_taken, self.input_names, values)], (by_name, any(map(_is_tensor, values)))

    @override
    def _shaped(self, names: Sequence[str], outputs: Sequence[Any], form: Any) -> Any:
        by_name, as_tensors = form
        made = [*map(tensor_of, outputs)] if as_tensors else outputs
        return dict(zip(names, made, strict=True)) if by_name else self._signature.result(made)

    @override
    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """One inference, with the module's arguments. Raises InvalidInputError for any others, and as Engine does."""
        return self._controlled(None, *self._given(arrays, named))


def _is_tensor(value: object) -> bool:
    return hasattr(value, "requires_grad") and hasattr(value, "detach")


def _taken(name: str, value: Any) -> Any:
    """A tensor on the CPU as an array over its memory; any other value unchanged."""
    if not _is_tensor(value) or value.device.type == "cuda":
        return value
    try:
        return array_of(value)
    except (RuntimeError, TypeError) as error:  # sparse, quantised, or without values
        raise InvalidInputError(f"input '{name}': {str(error).splitlines()[0]}") from None
