"""`mini-infer operators`: the operators that models can use, and where each comes from."""

from __future__ import annotations

from typing import Annotated

import typer

from ..verbs import Work


def operators(
    domain: Annotated[
        str | None,
        typer.Argument(metavar="[DOMAIN]", help="Only those of a domain; ai.onnx is ONNX's own.", show_default="all"),
    ] = None,
    users: Annotated[
        bool, typer.Option("--users", help="Only those that installed packages register, not mini_infer's own.")
    ] = False,
) -> Work:
    """List the operators that models can use: domain, name, since which version, kind, and where each is defined."""
    from .. import operator_listing

    return lambda console: operator_listing.list_operators(domain, users, console)
