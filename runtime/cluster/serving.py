"""A model as a Ray Serve deployment that batches concurrent requests.

A request is one row: arrays by input name, without their first axis. Over HTTP it is JSON, {"x": [...]}, or a .npz
file; the response has the same form.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any, cast

import numpy as np
from typing_extensions import Unpack

from ...dialects.errors import InvalidInputError
from ..config import CompileOptions
from ..device import Array
from ..specs import check_placed, ordered
from .nodes import Model, ray_module

MOST_BYTES = 1 << 28  # bytes of a .npz file, unpacked


class Server:
    """One replica: the compiled model on cores of its own."""

    def __init__(self, model: Model, wait: float) -> None:
        self._rows = model.open()
        self._queue = self._rows.queue(wait)

    async def infer(self, row: Mapping[str, Any]) -> dict[str, Array]:
        """The outputs for one row. Raises InvalidInputError, which affects no other request of its batch."""
        specs = self._rows.inputs
        arrays = ordered(tuple(spec.name for spec in specs), row)
        given: dict[str, Array] = {}
        for spec, value in zip(specs, arrays, strict=True):
            array = np.asarray(value)
            one = type(spec)(spec.name, spec.shape[1:], spec.dtype)
            check_placed(one, array.dtype, array.shape, "input ")
            given[spec.name] = array[None]
        found = await self._queue.run_async(given)
        return {name: array[0] for name, array in found.items()}

    async def __call__(self, request: Any) -> Any:
        """Handles an HTTP request; an invalid one is answered with status 400."""
        responses = ray_module("starlette.responses")
        body, as_json = await request.body(), request.headers.get("content-type", "").startswith("application/json")
        try:
            found = await self.infer(self._from_json(await request.json()) if as_json else _from_npz(body))
        except (InvalidInputError, ValueError, OverflowError) as error:
            return responses.JSONResponse({"error": str(error)}, status_code=400)
        if as_json:
            return responses.JSONResponse({name: array.tolist() for name, array in found.items()})
        file = io.BytesIO()
        np.savez(file, **found)  # pyright: ignore[reportArgumentType]  # a name may be any
        return responses.Response(file.getvalue(), media_type="application/octet-stream")

    def _from_json(self, row: object) -> dict[str, Array]:
        """JSON numbers as arrays of the inputs' types."""
        if not isinstance(row, dict):
            raise InvalidInputError("the request is no object with inputs by name")
        types = {spec.name: spec.dtype for spec in self._rows.inputs}
        return {name: np.array(value, types.get(name)) for name, value in cast("dict[str, Any]", row).items()}


def _from_npz(body: bytes) -> dict[str, Array]:
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # all errors that zipfile and numpy raise
        raise InvalidInputError(f"the request is no .npz file: {error}") from None


def deployment(
    model: str | PathLike[str] | bytes,
    *,
    replicas: int = 1,
    threads: int = 1,
    rows: int = 8,
    dim: str | None = None,
    wait: float = 0.002,
    ongoing: int = 256,
    pin: bool = True,
    cache: str | bool | None = None,
    **options: Unpack[CompileOptions],
) -> Any:
    """A model as an application for `ray.serve.run`, whose handle has `infer.remote({"x": array})`.

    Concurrent requests are batched: as many as the model has rows; or up to `rows`, where `dim` names the dynamic
    dimension that counts them. The first of a batch waits at most `wait` seconds for others. Each of the `replicas`
    runs on `threads` cores of its own, and accepts at most `ongoing` requests; Serve holds back and retries others, so
    clients should have fewer in flight. `model`, `cache` and `options` are as for `infer`.

    Raises ConfigError if Ray is not installed, and for the model as `infer` does.
    """
    serve = ray_module("ray.serve")
    source = model if isinstance(model, bytes) else fspath(model)
    opened = Model(source, threads, dim, rows, pin, cache, options)
    opened.check()
    made = serve.deployment(Server).options(
        name="mini_infer",
        num_replicas=replicas,
        max_ongoing_requests=ongoing,
        ray_actor_options={"num_cpus": threads},
    )
    return made.bind(opened.shared(), wait)
