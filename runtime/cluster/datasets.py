"""Inference over a Ray dataset: each worker is an actor with the compiled model on cores of its own.

Ray dispatches batches to free workers, a few ahead, with back-pressure where results are consumed slowly. A worker that
dies is restarted and its batches are run again. The resulting dataset is lazy, and shows progress while it is computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from typing_extensions import Unpack

from ...dialects.errors import InvalidInputError
from ..config import CompileOptions
from ..device import Array
from .nodes import Model, ray_module


class Worker:
    """Runs batches of columns through a model."""

    def __init__(self, model: Model, columns: Mapping[str, str], keep: Sequence[str]) -> None:
        self._rows, self._columns, self._keep = model.open(), columns, keep

    def __call__(self, batch: dict[str, Array]) -> dict[str, Array]:
        """The outputs by name, and the columns in `keep`."""
        names = {spec.name: self._columns.get(spec.name, spec.name) for spec in self._rows.inputs}
        if missing := [name for name in (*names.values(), *self._keep) if name not in batch]:
            raise InvalidInputError(f"the dataset has no column {', '.join(missing)}; it has {', '.join(batch)}")
        found = self._rows({name: batch[column] for name, column in names.items()})
        return {name: batch[name] for name in self._keep} | found


def infer(
    dataset: Any,
    model: str | PathLike[str] | bytes,
    *,
    workers: int | tuple[int, int] | None = None,
    threads: int = 1,
    batch_size: int = 32,
    rows: int = 8,
    dim: str | None = None,
    columns: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    waiting: int = 2,
    pin: bool = True,
    cache: str | bool | None = None,
    **options: Unpack[CompileOptions],
) -> Any:
    """Runs a model on each row of a ray.data.Dataset; the outputs are another Dataset, in no particular order.

    model: a path that exists on every node, or the model's bytes, which are sent to each node once. A .mi file
        (`mini_infer.build`) is compiled already, and takes no options.
    workers: actors, each on `threads` cores of its own (unless not `pin`): their number, or (minimum, maximum); None
        means from 1 to as many as the cluster has cores for.
    batch_size: rows per batch given to a worker, of which an inference takes as many as the model does; or up to
        `rows`, where `dim` names the dynamic dimension that counts them.
    columns: input name -> column, where they differ; `keep` are columns that are copied to the result.
    waiting: maximum number of batches that are queued for each worker.
    options: EngineConfig's; `cache` as of `mini_infer.compile`, on each node.

    Raises ConfigError if Ray is not installed, and the errors of `mini_infer.compile` for a model that is missing,
    invalid or unsupported, or has no rows; errors in the dataset are raised when it is computed.
    """
    data = ray_module("ray.data")
    if workers is None:
        workers = 1, max(1, int(ray_module("ray").cluster_resources().get("CPU", 1)) // threads)
    least, most = (workers, workers) if isinstance(workers, int) else workers
    source = model if isinstance(model, bytes) else fspath(model)
    opened = Model(source, threads, dim, rows, pin, cache, options)
    opened.check()
    return dataset.map_batches(
        Worker,
        batch_size=batch_size,
        batch_format="numpy",
        compute=data.ActorPoolStrategy(min_size=least, max_size=most, max_tasks_in_flight_per_actor=waiting),
        num_cpus=threads,
        fn_constructor_kwargs={"model": opened.shared(), "columns": dict(columns or {}), "keep": tuple(keep)},
    )
