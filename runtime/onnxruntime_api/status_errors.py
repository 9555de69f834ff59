"""The exceptions of ONNX Runtime's interface. Each is a MiniInferError, too, of the nearest kind.

A text starts as ONNX Runtime's do, with the number and name of a status, as programs look for them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import ClassVar

from ...dialects.errors import (
    CompileError,
    InvalidInputError,
    InvalidModelError,
    MiniInferError,
    UnsupportedError,
)


class StatusError(MiniInferError):
    """The base of the exceptions with a status. `message` is without the status."""

    status: ClassVar[str] = ""

    def __init__(self, message: str = "") -> None:
        super().__init__(f"[ONNXRuntimeError] : {self.status} : {message}" if self.status else message)
        self.message = message


class Fail(StatusError):
    """A model or a call that fails for a reason without an exception of its own."""

    status = "1 : FAIL"


class InvalidArgument(StatusError, InvalidInputError):
    """An argument of a call is wrong: a name, a type, a rank or a size."""

    status = "2 : INVALID_ARGUMENT"


class NoSuchFile(StatusError, InvalidModelError, FileNotFoundError):
    """A model's file doesn't exist."""

    status = "3 : NO_SUCHFILE"


class NoModel(StatusError, InvalidModelError):
    """There is no model."""

    status = "4 : NO_MODEL"


class EngineError(StatusError):
    """An execution provider's engine reports an error."""

    status = "5 : ENGINE_ERROR"


class RuntimeException(StatusError):
    """Running or compiling a model fails."""

    status = "6 : RUNTIME_EXCEPTION"


class InvalidProtobuf(StatusError, InvalidModelError):
    """A model's bytes are no ONNX model."""

    status = "7 : INVALID_PROTOBUF"


class ModelLoaded(StatusError):
    """A session has a model already."""

    status = "8 : MODEL_LOADED"


class NotImplemented(StatusError, UnsupportedError):
    """A model uses an operator, or a form of one, that is not supported."""

    status = "9 : NOT_IMPLEMENTED"


class InvalidGraph(StatusError, InvalidModelError):
    """A model's graph is malformed."""

    status = "10 : INVALID_GRAPH"


class EPFail(StatusError, CompileError):
    """An execution provider can't make code of a model."""

    status = "11 : EP_FAIL"


_ARGUMENTS_OF_RUNS = tuple(f" ({operator}): " for operator in ("Conv", "Expand", "Range", "Tile"))
"""Parts of messages about nodes whose contradictions ONNX Runtime calls invalid arguments, when they run."""
_KINDS_OF_FAULTS: dict[str, type[StatusError]] = {
    "not an ONNX model": InvalidProtobuf,
    "can't be read": InvalidProtobuf,
    ", which is undefined": InvalidArgument,
    " is defined by no node": Fail,
    " is defined twice": Fail,
    "the graph has a cycle": Fail,
}
"""Parts of messages about broken models, and what ONNX Runtime raises for these faults."""


@contextmanager
def as_status_errors(*, at_run: bool = False) -> Generator[None]:
    """Raises errors of mini_infer as those of this interface; `at_run`: not of a session's construction."""
    try:
        yield
    except StatusError:
        raise
    except InvalidInputError as error:
        raise InvalidArgument(str(error)) from error
    except InvalidModelError as error:
        text = str(error)
        if error.contradiction:
            is_argument = at_run and any(each in text for each in _ARGUMENTS_OF_RUNS)
            raise (InvalidArgument if is_argument else Fail)(text) from error
        kinds = (kind for part, kind in _KINDS_OF_FAULTS.items() if part in text)
        raise next(kinds, InvalidGraph)(text) from error
    except MiniInferError as error:
        kind = RuntimeException
        if isinstance(error, UnsupportedError):
            kind = NotImplemented
        elif isinstance(error, CompileError):
            kind = EPFail
        raise kind(str(error)) from error
