"""LearningEngine: an engine for a model of which nothing but calls tells shapes, and values that determine shapes.

It compiles at calls, for what they bring, and notes in the cache's folder what it made: another process that opens the
same model finds all of it compiled, whatever the order of its calls.
"""

from __future__ import annotations

import json
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ...dialects.arguments import is_integer
from ...dialects.errors import UnknownValueError
from ...dialects.json_text import read_json
from ..config import CompileOptions, EngineConfig
from ..device import Array
from ..engine import Engine
from ..file_cache import key_of
from ..forks import ForkSafeLock
from ..kept.cache_folders import Cache, cache_folder
from ..kept.keys import options_text, version
from ..plan import Shapes
from ..progress import LOG
from ..shapes.shape_history import Makers, ShapeHistory, ShapeRecord
from .cached_build import CachedBuild
from .entry import compile
from .opened_model import OpenedModel

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_description import ModelDescription, ValueDescription
    from ...lowering.onnx_to_graph.model_file import ModelSource
    from ..shapes.dynamic_engine import DynamicEngine

MOST_VALUES = 16
"""Combinations of values that determine shapes, of which engines are kept; those used longest ago go."""


class LearningEngine:
    """The engines of one model, chosen or compiled by the inputs of a call. Thread-safe."""

    def __init__(self, model: ModelSource, options: CompileOptions, threads: int | None = None, cache: Cache = None):
        """Reads what the model declares; compiles nothing.

        Raises InvalidModelError, UnsupportedError for operators that there are not, and ConfigError.
        """
        self._model, self._options, self._threads = OpenedModel(model), dict[str, Any](options), threads
        config = EngineConfig.of(threads=threads, **options)
        self._dims = options.get("dims", {})
        folder = cache_folder(cache)
        self._cache: Cache = False if folder is None else cache
        self._facts = None if folder is None else folder.facts
        self._digest = b""
        if folder is not None:
            identity = CachedBuild(self._model.source, config, folder, _build_nothing).identity(read=True)
            if identity is None:  # it can't be read, or has external data elsewhere: a compile says so
                self._facts = None
            else:
                self._digest = identity.digest
        self._key = key_of(b"learned", self._digest, options_text(config).encode())
        self.description: ModelDescription = self._described()
        self._asked: list[str] = []
        self._records: dict[str, ShapeRecord] = {}
        self._histories: OrderedDict[str, ShapeHistory] = OrderedDict()
        self._lock = ForkSafeLock()
        self._read_record()

    def declared_shapes(self) -> dict[str, tuple[int, ...]] | None:
        """The shapes of all inputs by name, if the model and the options declare them; None if they leave any open."""
        shapes: dict[str, tuple[int, ...]] = {}
        for each in self.description["inputs"]:
            dimensions = _dimensions(each, self._dims)
            if dimensions is None:
                return None
            sizes = tuple(size for size in dimensions if isinstance(size, int))
            if len(sizes) != len(dimensions):
                return None
            shapes[each["name"]] = sizes
        return shapes

    @property
    def needs_values(self) -> bool:
        """Whether engines are for certain values of inputs, too, so that equal shapes may need another engine."""
        return bool(self._asked)

    def engine_for(self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, Array]) -> Engine:
        """The engine for these shapes of the inputs; it compiles where there is none.

        `values` are those of the inputs, by name; an engine has those built in that it must know. Inputs with a
        default are among them only if they are to be something else. Raises as `compile` does, an UnknownValueError
        where `values` don't tell what must be known.
        """
        with self._lock:
            while True:
                try:
                    return self._found(shapes, values)
                except UnknownValueError as error:
                    new = [name for name in error.inputs if name in values and name not in self._asked]
                    if not new:
                        raise
                    LOG.info("compiled by the values of %s: %s", ", ".join(new), error)
                    self._asked += new
                    self._records.clear()
                    self._histories.clear()

    def _found(self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, Array]) -> Engine:
        defaults = {each["name"] for each in self.description["defaults"]}
        known = {name: value for name, value in values.items() if name in self._asked or name in defaults}
        key = "" if not known else key_of(*map(_value_text, known, known.values()))
        history = self._histories.get(key)
        if history is None:
            kept = {name: value.copy() for name, value in known.items()}  # the caller may write to its arrays
            history = self._histories[key] = self._history(key, kept)
            if len(self._histories) > MOST_VALUES:
                self._histories.popitem(last=False)
        self._histories.move_to_end(key)
        wanted = tuple(shape for name, shape in shapes.items() if name not in known)
        if (engine := history.known(wanted)) is not None:
            return engine
        before = self._compiles_noted()
        with warnings.catch_warnings():
            # A branch that is not for these shapes is compiled when those come that it is for.
            warnings.filterwarnings("ignore", message=".*can't be run", category=UserWarning)
            engine = history.engine(wanted)
        if self._compiles_noted() != before:
            self._write_record()
        return engine

    def _compiles_noted(self) -> int:
        every = self._records.values()
        return sum(len(each.single) + sum(len(best) for _, best in each.ranges) for each in every)

    def _history(self, key: str, known: Mapping[str, Array]) -> ShapeHistory:
        inputs = [each for each in self.description["inputs"] if each["name"] not in known]
        names = [each["name"] for each in inputs]
        makers = Makers(partial(self._single, names, known), partial(self._ranges, known))
        dimensions = [_dimensions(each, self._dims) for each in inputs]
        record = self._records.get(key)
        if record is None or not record.is_of(dimensions):  # another version may see other inputs
            record = self._records[key] = ShapeRecord()
        return ShapeHistory(dimensions, makers, record)

    def _single(self, names: Sequence[str], known: Mapping[str, Array], shapes: Shapes) -> Engine:
        return self._compiled({"specialize": known, "shapes": dict(zip(names, shapes, strict=True))})

    def _ranges(self, known: Mapping[str, Array], fixed: Mapping[str, int]) -> DynamicEngine:
        ranged = {"specialize": known, "dims": {**self._dims, **fixed}, "enable_dynamic_shapes": True}
        return cast("DynamicEngine", self._compiled(ranged))

    def _compiled(self, options: Mapping[str, Any]) -> Engine:
        return compile(self._model.now(), self._threads, cache=self._cache, **{**self._options, **options})

    def _described(self) -> ModelDescription:
        key = key_of(b"description", self._digest, version().encode())
        told = None if self._facts is None else self._facts.get(key)
        if told is not None:
            return cast("ModelDescription", read_json(told))
        from ...lowering.onnx_to_graph.model_description import describe

        description = describe(self._model.now())
        if self._facts is not None:
            self._facts.put(key, json.dumps(description).encode())
        return description

    def _read_record(self) -> None:
        told = None if self._facts is None else self._facts.get(self._key)
        if told is None:
            return
        try:
            asked, records = read_json(told)
            names = {each["name"] for each in (*self.description["inputs"], *self.description["defaults"])}
            if not all(name in names for name in asked):
                raise ValueError("it names other inputs")
            self._records = {str(key): _record_of(each) for key, each in records.items()}
            self._asked = list(asked)
        except (ValueError, TypeError, AttributeError) as error:
            LOG.info("the record of earlier shapes is not used: %s", error)

    def _record_text(self) -> str:
        records = {key: (each.single, each.ranges) for key, each in list(self._records.items())[-MOST_VALUES:]}
        return json.dumps([self._asked, records])

    def _write_record(self) -> None:
        if self._facts is not None:
            self._facts.put(self._key, self._record_text().encode())


def _build_nothing(best: object, begun: object) -> Any:
    raise AssertionError(best)  # only the identity is asked for


def _value_text(name: str, value: Array) -> bytes:
    return f"{name} {value.dtype} {value.shape} ".encode() + value.tobytes()


def _dimensions(value: ValueDescription, dims: Mapping[str, int]) -> list[int | str] | None:
    """An input's dimensions as options of `compile` name them."""
    if value["shape"] is None:
        return None
    named = (f"{value['name']}.{axis}" if each is None else each for axis, each in enumerate(value["shape"]))
    return [dims.get(each, each) if isinstance(each, str) else each for each in named]


def _record_of(told: Any) -> ShapeRecord:
    """A record from JSON. Raises ValueError or TypeError if it is none."""
    single, ranges = told
    return ShapeRecord(
        [_shapes_of(each) for each in single],
        [
            ({str(name): _size_of(size) for name, size in fixed.items()}, [*map(_shapes_of, best)])
            for fixed, best in ranges
        ],
    )


def _shapes_of(told: Any) -> Shapes:
    return tuple(tuple(_size_of(size) for size in shape) for shape in told)


def _size_of(told: Any) -> int:
    if not is_integer(told) or told < 0:
        raise ValueError(f"{told!r} is no size")
    return int(told)
