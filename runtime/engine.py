"""Engine: a compiled model; calling it runs one inference."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import override

from ..dialects.arguments import checked_sequence
from ..dialects.errors import InvalidInputError
from .config import EngineConfig
from .context import ExecutionContext
from .device import Array
from .plan import InferencePlan
from .specs import Stationary, ordered, ordered_shapes
from .storage import Tensor, is_remote
from .summary import html_table, one_line

if TYPE_CHECKING:
    from ..passes.counts import PassStatistics


class Engine(Stationary):
    """A compiled model: `engine(x)` runs it. Safe from many threads; inputs are never changed, outputs are fresh.

    Caches are neither: see ExecutionContext.run.

    Tensors of the plan's GPU, or another library's arrays there, give tensors that lie there; all else gives arrays.
    A mapping of names to arrays gives a mapping of names to arrays. Arrays in the order of the model's inputs, or as
    keyword arguments, give an array, or a tuple of arrays when the model has several outputs.
    """

    def __init__(self, plan: InferencePlan, config: EngineConfig, statistics: PassStatistics) -> None:
        self._plan = plan
        self.config = config
        self.statistics = statistics
        self._idle: deque[ExecutionContext] = deque()

    @property
    def plan(self) -> InferencePlan:
        """Everything that is decided before the first inference; shared by all contexts."""
        return self._plan

    def plan_for(self, shapes: Mapping[str, Sequence[int]]) -> InferencePlan:
        """The plan for shapes of the inputs, by name; raises InvalidInputError for those that there is none for."""
        for spec, shape in zip(self.plan.inputs, ordered_shapes(self.input_names, shapes), strict=True):
            if spec.shape != shape:
                raise InvalidInputError(f"input '{spec.name}' has shape {list(shape)} instead of {list(spec.shape)}")
        return self.plan

    def warmup(self, shapes: Iterable[Mapping[str, Sequence[int]]]) -> None:
        """Does ahead what the first calls with these shapes would have to do."""
        for each in checked_sequence("shapes", shapes, "a list of mappings from inputs to shapes", InvalidInputError):
            self.plan_for(each)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """One inference.

        Raises InvalidInputError for a wrong name, type or shape, before anything runs, for an index out of range,
        and for a branch that can't be run.
        """
        if len(arrays) == 1 and not named and isinstance(arrays[0], Mapping):
            outputs = self._run(ordered(self.input_names, cast("Mapping[str, Any]", arrays[0])))
            return dict(zip(self.plan.output_names, outputs, strict=True))
        names = self.input_names
        if named or len(arrays) != len(names):
            arrays = tuple(self._collected(arrays, named))
        outputs = self._run(arrays)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _collected(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """One array for each input, from those given by position and those given by name."""
        names = self.input_names
        if len(arrays) > len(names):
            raise InvalidInputError(f"{len(arrays)} inputs are given; the model has {len(names)}: {', '.join(names)}")
        placed = dict(zip(names, arrays, strict=False))
        if twice := [name for name in named if name in placed]:
            raise InvalidInputError(f"input '{twice[0]}' is given twice")
        return ordered(names, {**placed, **named})

    def _run(self, inputs: Sequence[Any]) -> Sequence[Array | Tensor]:
        try:
            context = self._idle.pop()
        except IndexError:
            context = self.plan.create_execution_context()
        try:
            if self.plan.launches and any(map(is_remote, inputs)):
                return context.run_ordered_tensors(inputs)
            return context.run_ordered(inputs)
        finally:
            self._idle.append(context)

    @override
    def __repr__(self) -> str:
        return one_line(self.plan, type(self).__name__)

    def _repr_html_(self) -> str:
        return html_table(self.plan)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, in the model's order."""
        return self.plan.input_names

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, in the model's order."""
        return self.plan.output_names
