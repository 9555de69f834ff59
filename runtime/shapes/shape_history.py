"""ShapeHistory: decides for which shapes code is made, by the shapes that calls have had so far.

The first shapes get code of their own, which is the fastest there is. Further ones get code for many shapes, in which
dimensions that never changed stay numbers; it is optimised for large sizes, as such code is fast at small sizes, too,
while the reverse isn't true. What was made is noted in a record that another process can go on from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from ...dialects.errors import InvalidInputError, MiniInferError, UnknownValueError, UnsupportedError
from ..engine import Engine
from ..plan import Shapes
from ..progress import LOG
from .tied_sizes import enlarged

if TYPE_CHECKING:
    from .dynamic_engine import DynamicEngine

MOST_RECORDS = 64
"""Compiles that are noted, and engines for one shape each that are kept: some models have code for every shape."""
MOST_CALLS = 256
"""Shapes among which relations of sizes are looked for: the last that code was made for."""

Dimensions: TypeAlias = "Sequence[Sequence[int | str] | None]"
"""For each input its dimensions, each a number or a name; None for an input whose rank is unknown."""


@dataclass
class ShapeRecord:
    """What was compiled: shapes with code of their own, and the compiles for many shapes."""

    single: list[Shapes] = field(default_factory=list[Shapes])
    ranges: list[tuple[dict[str, int], list[Shapes]]] = field(
        default_factory=list["tuple[dict[str, int], list[Shapes]]"]
    )
    """Sizes of dimensions that don't vary, and shapes for which the code of each compile is optimised."""

    @property
    def shapes(self) -> list[Shapes]:
        """All shapes in it."""
        return [*self.single, *(best for _, every in self.ranges for best in every)]

    def is_of(self, dimensions: Dimensions) -> bool:
        """Whether its shapes have the number and the ranks of these inputs."""
        return all(
            len(shapes) == len(dimensions)
            and all(names is None or len(names) == len(shape) for names, shape in zip(dimensions, shapes, strict=True))
            for shapes in self.shapes
        )


@dataclass(frozen=True)
class Makers:
    """How engines are compiled."""

    single: Callable[[Shapes], Engine]
    """For these shapes alone."""
    ranges: Callable[[Mapping[str, int]], DynamicEngine]
    """For all shapes with these sizes of named dimensions."""


class ShapeHistory:
    """The engines of one model, by the shapes of its inputs. Not thread-safe."""

    def __init__(self, dimensions: Dimensions, makers: Makers, record: ShapeRecord) -> None:
        """`record` is read, and added to."""
        self._dimensions, self._makers, self._record = dimensions, makers, record
        self._single: dict[Shapes, Engine] = {}
        self._ranges: dict[int, DynamicEngine] = {}  # by their places in the record
        self._calls: list[dict[str, int]] = []  # the sizes of named dimensions that code was made for
        for shapes in record.shapes:
            self._note(shapes)

    def known(self, shapes: Shapes) -> Engine | None:
        """The engine for shapes of the inputs, in order, that has code for them already; None if there is none."""
        if shapes in self._single:
            return self._single[shapes]
        for place, engine in self._ranges.items():
            if self._agrees(self._record.ranges[place][0], shapes) and _suits(engine, shapes):
                return engine
        return None

    def engine(self, shapes: Shapes) -> Engine:
        """The engine for shapes of the inputs, in order; compiles it if there is none. Raises as `compile`."""
        if (engine := self.known(shapes)) is not None:
            return engine
        if shapes in self._record.single:
            return self._made_for(shapes)
        for place, (fixed, _) in enumerate(self._record.ranges):
            if self._agrees(fixed, shapes) and _suits(engine := self._recorded(place, shapes), shapes):
                return engine
        is_first = not (self._record.single or self._record.ranges)
        # Where a dimension has two sizes, this says so.
        made = self._made_for if is_first or self._is_ambiguous(shapes) else self._made_for_many
        engine = made(shapes)
        self._note(shapes)
        return engine

    def _made_for(self, shapes: Shapes) -> Engine:
        """An engine for these shapes alone."""
        self._single[shapes] = engine = self._makers.single(shapes)
        if len(self._single) > MOST_RECORDS:
            del self._single[next(iter(self._single))]  # the oldest
        if shapes not in self._record.single and len(self._record.single) < MOST_RECORDS:
            self._record.single.append(shapes)
        return engine

    def _made_for_many(self, shapes: Shapes) -> Engine:
        """An engine for these shapes and others like them; for these alone if no dimension can vary, or that fails."""
        from ...lowering.onnx_to_graph.dimension_names import is_calculated

        sizes = self._sizes(shapes)
        plain = [name for name in sizes if not is_calculated(name, sizes.keys() - {name})]
        calls = [{name: call[name] for name in plain} for call in (*self._calls, sizes) if call.keys() == sizes.keys()]
        fixed = {name: sizes[name] for name in plain if sizes[name] < 2 or len({call[name] for call in calls}) == 1}
        optimal = self._optimal(shapes, calls, fixed)
        if not optimal and None not in self._dimensions:
            return self._made_for(shapes)
        place = next((at for at, (known, _) in enumerate(self._record.ranges) if known == fixed), None)
        try:
            if place is None:
                return self._new(shapes, fixed, optimal)
            engine = self._recorded(place, shapes)
            self._compile(engine, shapes, self._record.ranges[place][1])
            return engine
        except UnknownValueError:
            raise
        except MiniInferError as error:
            LOG.info("shapes %s: compiled alone, for with many shapes: %s", shapes, error)
            return self._made_for(shapes)

    def _new(self, shapes: Shapes, fixed: Mapping[str, int], optimal: Sequence[Shapes]) -> DynamicEngine:
        """An engine for all shapes with these fixed sizes, optimised for the first of `optimal` that is possible."""
        engine, made = self._makers.ranges(fixed), list[Shapes]()
        try:
            for best in optimal:
                if not _suits(engine, shapes):
                    self._try(engine, best, made)
            self._compile(engine, shapes, made)
        finally:
            if made:
                self._ranges[len(self._record.ranges)] = engine
                self._record.ranges.append((dict(fixed), made))
        return engine

    def _recorded(self, place: int, shapes: Shapes) -> DynamicEngine:
        """An engine for many shapes, with that code of the record that these shapes need."""
        fixed, made = self._record.ranges[place]
        engine = self._ranges.get(place)
        if engine is None:
            engine = self._ranges[place] = self._makers.ranges(fixed)
        for best in [shapes, *made] if shapes in made else made:
            if _suits(engine, shapes):
                break
            if len(best) == len(shapes):  # of a record it may be anything
                self._try(engine, best, [])
        return engine

    @staticmethod
    def _compile(engine: DynamicEngine, shapes: Shapes, made: list[Shapes]) -> None:
        """Compiles for these shapes, unless there is code for them, and notes it."""
        if not engine.suits(shapes):
            engine.plan_for(dict(zip(engine.input_names, shapes, strict=True)))
            if len(made) < MOST_RECORDS:
                made.append(shapes)

    def _try(self, engine: DynamicEngine, best: Shapes, made: list[Shapes]) -> None:
        """Compiles optimised for shapes that nobody has asked for: there need not be code for these."""
        try:
            self._compile(engine, best, made)
        except UnsupportedError:
            raise
        except MiniInferError as error:
            LOG.info("no code optimised for shapes %s: %s", best, error)

    def _optimal(self, shapes: Shapes, calls: Sequence[Mapping[str, int]], fixed: Mapping[str, int]) -> list[Shapes]:
        """The shapes with large sizes of the dimensions that vary, to be tried in order; none if no size is free.

        Among the sizes hold the relations of all calls; then those of calls with the same fixed sizes, as dimensions of
        a sum may be equal or 1, say.
        """
        from ...lowering.onnx_to_graph.dimension_names import value_of_name

        alike = [
            call
            for call in calls
            if all(call[name] == fixed[name] if name in fixed else call[name] > 1 for name in call)
        ]
        found: list[Shapes] = []
        for known in (calls, alike):
            large, is_any_free = enlarged(known, fixed)

            def size_of(name: int | str, size: int, large: Mapping[str, int] = large) -> int:
                if isinstance(name, int):
                    return size
                return large[name] if name in large else value_of_name(name, large) or size

            best = tuple(
                shape if names is None else tuple(map(size_of, names, shape))
                for names, shape in zip(self._dimensions, shapes, strict=True)
            )
            if not is_any_free:
                break
            if best not in found:
                found.append(best)
        return found

    def _sizes(self, shapes: Shapes) -> dict[str, int]:
        """The sizes of named dimensions."""
        return dict(self._named(shapes))

    def _named(self, shapes: Shapes) -> Iterator[tuple[str, int]]:
        for names, shape in zip(self._dimensions, shapes, strict=True):
            yield from ((name, size) for name, size in zip(names or (), shape, strict=False) if isinstance(name, str))

    def _note(self, shapes: Shapes) -> None:
        if len(shapes) == len(self._dimensions) and (sizes := self._sizes(shapes)) not in self._calls:
            self._calls.append(sizes)
            del self._calls[:-MOST_CALLS]

    def _agrees(self, fixed: Mapping[str, int], shapes: Shapes) -> bool:
        sizes = self._sizes(shapes)
        return all(sizes.get(name) == size for name, size in fixed.items())

    def _is_ambiguous(self, shapes: Shapes) -> bool:
        """Whether a dimension has two sizes."""
        return len(set(self._named(shapes))) > len(self._sizes(shapes))


def _suits(engine: DynamicEngine, shapes: Shapes) -> bool:
    """Whether an engine for many shapes has code for these, and doesn't refuse them."""
    try:
        return engine.suits(shapes)
    except InvalidInputError:
        return False
