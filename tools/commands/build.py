"""`mini-infer build`: compile a model to a file for `mini_infer.load`, or to files for C programs."""

from __future__ import annotations

from typing import Annotated

import typer

from ...dialects.errors import ConfigError
from ..option_values import listed
from ..verbs import Chosen, Model, Work


def build(
    model: Model,
    *,
    output: Annotated[str, typer.Option("--output", "-o", metavar="PATH", help="MODEL.mi, or a folder for C files.")],
    emit: Annotated[
        str, typer.Option(metavar="KIND", help="What to make: c, files for C programs.", show_default="a .mi file")
    ] = "",
    name: Annotated[str, typer.Option(help="Prefix of all names in C.", show_default="the file's name")] = "",
    cpu: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="CPUs: x86-64-v2, x86-64-v3, x86-64-v4, aarch64, native; for C one that LLVM knows.",
            show_default="all of this kind; for C this one",
        ),
    ] = "",
    embed: Annotated[bool, typer.Option(help="For C: also write an assembly file with the weights.")] = False,
    force: Annotated[bool, typer.Option(help="For C: replace existing files.")] = False,
    chosen: Chosen,
) -> Work:
    """Compile a model to a file that mi.load opens, or with --emit c to files for C programs."""
    if emit not in ("", "c"):
        raise ConfigError(f"--emit {emit}: there is only c")
    if not emit:
        from .. import build_artifact

        chosen.refuse("without --emit c", "name", "embed", "force")
        options = chosen.options(model)
        return lambda console: build_artifact.show_build(model, options, output, listed(cpu), chosen.at, console)
    from .. import build_c

    chosen.refuse("with --emit c", "range", "at")
    options = chosen.options(model)
    options["threads"] = options["threads"] or 1
    return lambda console: build_c.show_c(model, options, output, console, name=name, cpu=cpu, embed=embed, force=force)
