"""How mini-infer ends: whatever a user gets wrong is one line on standard error and a status other than 0."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from rich.console import Console
from typer.core import TyperGroup
from typer.exceptions import Abort, TyperException
from typing_extensions import override

from ..dialects.errors import MiniInferError

WRONG, MISUSED = 1, 2  # exit statuses: the model, the input or an option's value; the command line itself


class OneLineErrors(TyperGroup):
    """The commands; their errors and warnings are lines on standard error."""

    @override
    def main(self, *args: Any, **options: Any) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            sys.exit(self._status(*args, **options))

    def _status(self, *args: Any, **options: Any) -> int:
        try:
            return super().main(*args, **{**options, "standalone_mode": False}) or 0
        except MiniInferError as error:
            return _complain(str(error), WRONG)
        except OSError as error:
            return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error), WRONG)
        except TyperException as error:
            return _complain(error.format_message(), MISUSED)
        except Abort:
            return _complain("aborted", WRONG)


def _complain(message: str, status: int) -> int:
    _line("error", message, "red")
    return status


def _show_warning(message: Warning | str, *_: object) -> None:
    _line("warning", str(message), "yellow")


def _line(kind: str, message: str, style: str) -> None:
    console = Console(stderr=True, soft_wrap=True, markup=False, highlight=False)
    console.print(f"mini-infer: {kind}: {message}", style=style)
