"""`mini-infer cache`: the compiled models that are kept on disk."""

from __future__ import annotations

from typing import Annotated

import typer

from ..verbs import Work


def cache(
    action: Annotated[str, typer.Argument(metavar="list|where|clear|limit", help="What to do.")] = "list",
    size: Annotated[
        str | None, typer.Argument(metavar="SIZE", help="With limit: the largest size of all models, such as 20G.")
    ] = None,
    folder: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where models are kept.", show_default="the user's")
    ] = None,
) -> Work:
    """List the compiled models in the cache on disk, show its folder, clear it, or limit its size."""
    from .. import cache_listing

    return lambda console: cache_listing.manage(action, size, folder, console)
