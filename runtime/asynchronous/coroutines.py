"""Waiting for a run in a coroutine."""

from __future__ import annotations

import asyncio
from typing import Any

from .run_handle import RunHandle


async def finished(handle: RunHandle) -> Any:
    """The result of a run, for a coroutine: cancelling its task stops the run, and waits until that is over."""
    loop = asyncio.get_running_loop()
    future = asyncio.wrap_future(handle, loop=loop)
    left = handle.seconds_left
    timer = None if left is None else loop.call_later(left + 1e-3, handle.expire)
    cancelled: asyncio.CancelledError | None = None
    try:
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError as error:
                cancelled = error
                handle.cancel()
    finally:
        if timer is not None:
            timer.cancel()
    if cancelled is not None:
        if not future.cancelled():
            future.exception()  # so that asyncio doesn't report it as never retrieved
        raise cancelled
    return future.result()
