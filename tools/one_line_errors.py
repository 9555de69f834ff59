"""Error handling of our commands: a user's error is one line on standard error and a non-zero exit status."""

from __future__ import annotations

import gc
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from shlex import quote
from typing import Any, NoReturn

from rich.console import Console
from typer import Context, Typer, echo
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import Abort, TyperException
from typing_extensions import override

from ..dialects.errors import MiniInferError, OpenDimensionsError
from ..runtime.config import EngineConfig
from ..runtime.option_declarations import options_of
from .command_names import shell_name

SPELLINGS = {
    **{name: f"--{name.replace('_', '-')}" for name in ("cpu", "name", "seed", "time_limit")},
    "cpus": "--cpu",
    **{name: option.spelling for name, option in options_of(EngineConfig).items() if option.flag is not None},
}
"""Options of the API as command lines spell them."""
WITHOUT_RANGES = (
    *("tune", "bisect", "draw", "explain", "explore"),
    *("--compare", "--emit", "--reference"),
)
"""Words of commands that make code for one shape only."""
SHOWN = 160  # characters of a line in which something is wrong
WRONG, MISUSED, INTERRUPTED = 1, 2, 130  # exit statuses: model, input or an option's value; command line; Ctrl-C


class OneLineErrors(TyperGroup):
    """mini-infer, a program with several commands."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            show_usage(ctx)
        return super().parse_args(ctx, args)

    @override
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Lists the commands without truncating their descriptions."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help or "") for name, command in self.commands.items()])

    @override
    def main(self, *args: Any, **options: Any) -> Any:
        work, given = super().main, args[0] if args else options.get("args")
        sys.exit(status_of("mini-infer", lambda: work(*args, **{**options, "standalone_mode": False}), given))


class OneLineErrorsCommand(TyperCommand):
    """mini-opt, a program with a single command."""

    @override
    def main(self, *args: Any, **options: Any) -> Any:
        work, given = super().main, args[0] if args else options.get("args")
        sys.exit(status_of("mini-opt", lambda: work(*args, **{**options, "standalone_mode": False}), given))


def show_usage(ctx: Context) -> NoReturn:
    """Ends a program that was called without arguments."""
    echo(ctx.get_help(), err=True)
    ctx.exit(MISUSED)


def run_alone(command: Callable[..., None]) -> None:
    """Runs a function as a program, as the tools in tools/bench are."""
    app = Typer(add_completion=False)
    app.command()(command)
    sys.exit(status_of(command.__name__.replace("_", "-"), lambda: app(standalone_mode=False)))


def status_of(program: str, work: Callable[[], int | None], arguments: Sequence[str] | None = None) -> int:
    """The exit status of some work, after reporting its error.

    `arguments` are by default those of the process.
    """
    _open_what_is_closed()
    gc.set_threshold(20_000, 20, 50)  # nearly all that is imported and built stays: a tenth of a command's time
    with warnings.catch_warnings():
        warnings.showwarning = _teller(program)
        try:
            status = work() or 0
            if status == INTERRUPTED:
                tell(program, "error", "interrupted")
            sys.stdout.flush()
            return status
        except BrokenPipeError:
            _forget_output()
            return WRONG
        except OpenDimensionsError as error:
            words = [*map(quote, sys.argv[1:] if arguments is None else arguments)]
            tell(program, "error", _visible(_with_commands(error, f"{shell_name(program)} {' '.join(words)}")))
        except MiniInferError as error:
            tell(program, "error", _message_of(error))
        except OSError as error:
            _forget_output()
            place = error.filename or "standard input or output"
            tell(program, "error", f"{place}: {error.strerror or error}")
        except TyperException as error:
            tell(program, "error", error.format_message().replace(": Value error, ", ": "))  # pydantic's words
            return MISUSED
        except (Abort, KeyboardInterrupt):
            tell(program, "error", "interrupted")
            return INTERRUPTED
        return WRONG


def _message_of(error: MiniInferError) -> str:
    """The error in one line, possibly followed by a line of text with carets under the error.

    API options are renamed to the command's; a pass whose name starts like an option stays as it is.
    """
    lines = [_visible(line) for line in str(error).split("\n")]
    if not type(error.__cause__).__module__.startswith("xdsl"):
        return re.sub(r"^\w+\b(?!-)", lambda word: SPELLINGS.get(word[0], word[0]), "\\n".join(lines))
    for index, carets in enumerate(lines):
        if re.fullmatch(r" *\^+", carets) and len(lines[index - 1]) > SHOWN:
            left = max(0, carets.index("^") - SHOWN // 2)
            lines[index - 1] = lines[index - 1][left : left + SHOWN]
            lines[index : index + 2] = [line[left:] for line in lines[index : index + 2]]
            lines[index] = lines[index][:SHOWN]
    return "\n".join(lines)


def _with_commands(error: OpenDimensionsError, command: str) -> str:
    """The unbound dimensions, and the command with sizes for them, and with ranges if it supports these."""
    sizes = [f"--dim {quote(f'{name}={size}')}" for name, size in error.dims.items()]
    for name, shape in error.shapes.items():
        sizes.append(f"--shape {quote(f'{name}=')}{'...' if shape is None else ','.join(map(str, shape))}")
    how = "in the form" if None in error.shapes.values() else "such as"
    told = f"{error.subject}; give them sizes, {how}: {command} {' '.join(sizes)}"
    if error.ranges and not any(re.search(rf" {word}\b", command) for word in WITHOUT_RANGES):
        ranges = [f"--range {quote(f'{name}={low},{best},{high}')}" for name, (low, best, high) in error.ranges.items()]
        told += f"; or ranges: {command} {' '.join(ranges)}"
    return told


def _visible(line: str) -> str:
    """A line with control characters escaped, as names in models may contain any."""
    return "".join(char if char.isprintable() or char == "\t" else repr(char)[1:-1] for char in line)


def _teller(program: str) -> Callable[..., None]:
    """A function that shows a warning, with the signature of Python's."""

    def show(message: Warning | str, *_: object) -> None:
        tell(program, "warning", str(message))

    return show


def tell(program: str, kind: str, message: str) -> None:
    """Prints a line to standard error; `kind` is "error", "warning" or "note"."""
    console = Console(stderr=True, soft_wrap=True, markup=False, highlight=False)
    console.print(f"{program}: {kind}: {message}", style={"error": "red", "warning": "yellow"}.get(kind))


def _open_what_is_closed() -> None:
    """Replaces a closed standard stream, None in Python, by one whose use raises OSError.

    The null device is opened for the opposite direction; standard error is discarded.
    """
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY), "r")
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _forget_output() -> None:
    """Discards buffered output that would fail a second time when Python exits."""
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):  # it is no file, or is closed
        pass
    finally:
        os.close(null)
