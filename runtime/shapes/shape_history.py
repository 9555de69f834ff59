"""ShapeHistory: decides for which shapes code is made, by the shapes that calls have had so far.

The first shapes get code of their own, which is the fastest there is. Further ones get code for many shapes, in which
dimensions that never changed stay numbers; it is optimised for large sizes, as such code is fast at small sizes, too,
while the reverse isn't true. What was made is noted in a record that another process can go on from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from ...dialects.errors import OutOfMemoryError, PlanError, UnknownValueError, UnsupportedError
from ..engine import Engine
from ..plan import Shapes
from ..progress import LOG

if TYPE_CHECKING:
    from .dynamic_engine import DynamicEngine

LEAST_OPTIMAL = 64
"""Least size for which a varying dimension is optimised. Two transformers of widths 128 and 384,
made for 3 or 8 tokens, took 3 to 7 times as long at other lengths as code made for those; made for 64 or 512, at most
1.1 times for more than 8 tokens."""
MOST_RECORDS = 64
"""Compiles that are noted, and engines for one shape each that are kept: some models have code for every shape."""

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
        self._seen: dict[str, set[int]] = {}
        for shapes in record.shapes:
            self._note(shapes)

    def known(self, shapes: Shapes) -> Engine | None:
        """The engine for shapes of the inputs, in order, that has code for them already; None if there is none."""
        if shapes in self._single:
            return self._single[shapes]
        for place, engine in self._ranges.items():
            if self._agrees(self._record.ranges[place][0], shapes) and engine.suits(shapes):
                return engine
        return None

    def engine(self, shapes: Shapes) -> Engine:
        """The engine for shapes of the inputs, in order; compiles it if there is none. Raises as `compile`."""
        if (engine := self.known(shapes)) is not None:
            return engine
        if shapes in self._record.single:
            return self._made_for(shapes)
        for place, (fixed, _) in enumerate(self._record.ranges):
            if self._agrees(fixed, shapes) and (engine := self._recorded(place, shapes)).suits(shapes):
                return engine
        self._note(shapes)
        is_first = not (self._record.single or self._record.ranges)
        return self._made_for(shapes) if is_first else self._made_for_many(shapes)

    def _made_for(self, shapes: Shapes) -> Engine:
        """An engine for these shapes alone."""
        self._single[shapes] = engine = self._makers.single(shapes)
        if len(self._single) > MOST_RECORDS:
            del self._single[next(iter(self._single))]  # the oldest
        if shapes not in self._record.single and len(self._record.single) < MOST_RECORDS:
            self._record.single.append(shapes)
        return engine

    def _made_for_many(self, shapes: Shapes) -> Engine:
        """An engine for these shapes and others like them; for these alone if no dimension can vary."""
        sizes = self._sizes(shapes)
        fixed = {name: size for name, size in sizes.items() if len(self._seen[name]) == 1 or size < 2}
        if len(fixed) == len(sizes) and None not in self._dimensions:
            return self._made_for(shapes)
        place = next((at for at, (known, _) in enumerate(self._record.ranges) if known == fixed), None)
        try:
            if place is None:
                place, engine = len(self._record.ranges), self._makers.ranges(fixed)
                made: list[Shapes] = []
                try:
                    self._compile(engine, self._optimal(shapes, fixed), made)
                except (OutOfMemoryError, PlanError) as error:
                    LOG.info("shapes %s: optimised for these: %s", shapes, error)
                self._compile(engine, shapes, made)
                self._ranges[place] = engine
                self._record.ranges.append((fixed, made))
                return engine
            engine = self._recorded(place, shapes)
            self._compile(engine, shapes, self._record.ranges[place][1])
            return engine
        except UnknownValueError:
            raise
        except UnsupportedError as error:
            LOG.info("shapes %s: compiled alone, for with many shapes: %s", shapes, error)
            return self._made_for(shapes)

    def _recorded(self, place: int, shapes: Shapes) -> DynamicEngine:
        """An engine for many shapes, with that code of the record that these shapes need."""
        fixed, made = self._record.ranges[place]
        engine = self._ranges.get(place)
        if engine is None:
            engine = self._ranges[place] = self._makers.ranges(fixed)
        for best in [shapes, *made] if shapes in made else made:
            if engine.suits(shapes):
                break
            engine.plan_for(dict(zip(engine.input_names, best, strict=True)))
        return engine

    @staticmethod
    def _compile(engine: DynamicEngine, shapes: Shapes, made: list[Shapes]) -> None:
        """Compiles for these shapes, unless there is code for them, and notes it."""
        if not engine.suits(shapes):
            engine.plan_for(dict(zip(engine.input_names, shapes, strict=True)))
            if len(made) < MOST_RECORDS:
                made.append(shapes)

    def _optimal(self, shapes: Shapes, fixed: Mapping[str, int]) -> Shapes:
        """The shapes with large sizes of the dimensions that vary, multiples of sizes that have occurred."""
        largest = {name: max(sizes) for name, sizes in self._seen.items()}

        def size_of(name: int | str, size: int) -> int:
            if isinstance(name, int) or name in fixed or name not in largest:
                return size
            size = max(largest[name], 2)
            while size < LEAST_OPTIMAL:
                size *= 2
            return size

        return tuple(
            shape if names is None else tuple(map(size_of, names, shape))
            for names, shape in zip(self._dimensions, shapes, strict=True)
        )

    def _sizes(self, shapes: Shapes) -> dict[str, int]:
        """The sizes of named dimensions."""
        pairs = zip(self._dimensions, shapes, strict=True)
        return {
            name: size
            for names, shape in pairs
            for name, size in zip(names or (), shape, strict=False)
            if isinstance(name, str)
        }

    def _note(self, shapes: Shapes) -> None:
        for name, size in self._sizes(shapes).items():
            self._seen.setdefault(name, set()).add(size)

    def _agrees(self, fixed: Mapping[str, int], shapes: Shapes) -> bool:
        sizes = self._sizes(shapes)
        return all(sizes.get(name) == size for name, size in fixed.items())
