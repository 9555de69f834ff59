"""The option `--version` of our commands."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer


def _show(context: typer.Context, wanted: bool) -> None:
    if wanted:
        typer.echo(f"{context.find_root().info_name} {import_module('mini_infer').__version__}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_show, is_eager=True, help="Show the version and exit.")]
